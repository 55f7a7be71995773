"""What every store promises about sessions."""

import re

import pytest
from archive_driver import Driver, summary, talk, user

from plimsoll.archive import CompactionEvent, SearchQuery, UsageRecord, title_of
from plimsoll.errors import UnknownSession


def test_an_id_is_readable_sorts_by_age_and_never_changes(archive: Driver):
    first = archive.create_session(title="one", model="m", engine="compressor")
    archive.clock.now += 61
    second = archive.create_session()
    assert re.fullmatch(r"20270115-080000-[a-z]+-[a-z]+", first.id)
    assert first.id < second.id
    changed = archive.update_session(first.id, title="renamed", model="n", engine="lcm")
    assert (changed.id, changed.title, changed.model, changed.engine) == (first.id, "renamed", "n", "lcm")
    assert archive.update_session(first.id, model="o").title == "renamed"


def test_half_a_surrogate_pair_or_a_nul_in_a_title_or_a_model_is_stored_as_a_space(archive: Driver):
    odd = "cut \ud83d\0"
    session = archive.create_session(title=odd, model=odd, engine="compressor")
    assert (session.title, session.model) == ("cut   ", "cut   ")
    archive.append(session.id, [user(odd)], turn="t")
    assert archive.messages(session.id)[0].message == user(odd)
    assert archive.update_session(session.id, title=odd).title == "cut   "
    assert archive.fork(session.id, title=odd).title == "cut   "
    archive.record_usage(session.id, UsageRecord(odd, 1, 0, 0, 1))
    archive.record_compaction(session.id, CompactionEvent("manual", "compressor", "refused", odd, model=odd))
    assert archive.compactions(session.id)[0].reason == "cut   "


def test_many_sessions_that_begin_in_one_second_have_different_ids(archive: Driver):
    ids = {archive.create_session().id for _ in range(150)}
    assert len(ids) == 150


def test_sessions_are_listed_by_their_last_change(archive: Driver):
    ids = []
    for _ in range(3):
        archive.clock.now += 10
        ids.append(archive.begin())
    archive.clock.now += 10
    archive.append(ids[0], [user("news")], turn="t")
    assert [one.id for one in archive.sessions()] == [ids[0], ids[2], ids[1]]
    assert [one.id for one in archive.sessions(limit=1, offset=1)] == [ids[2]]
    assert [one.id for one in archive.sessions(prefix=ids[1])] == [ids[1]]


def test_a_unique_beginning_is_enough_and_a_wrong_id_is_told_the_nearest(archive: Driver):
    first = archive.begin()
    archive.clock.now += 86_400
    second = archive.begin()
    assert archive.session(second[:8]).id == second
    with pytest.raises(UnknownSession, match="Several sessions begin with '2027'"):
        archive.session("2027")
    with pytest.raises(UnknownSession, match=f"Nearest: {first}"):
        archive.session(first[9:])
    with pytest.raises(UnknownSession, match="There is no session 'zzz'"):
        archive.messages("zzz")
    with pytest.raises(UnknownSession):
        archive.session("")


def test_an_empty_archive_says_so(archive: Driver):
    with pytest.raises(UnknownSession, match="is still empty"):
        archive.session("x")


def test_a_deleted_session_is_gone_from_everywhere(archive: Driver):
    kept = archive.begin(user("a heron"))
    id = archive.begin(*talk(5), user("a kingfisher"))
    archive.compact(id, [summary("S"), user("a kingfisher")])
    archive.pin(id, 6)
    handle = archive.messages(id)[5].handle
    assert archive.delete(id) == 0
    assert [one.id for one in archive.sessions()] == [kept]
    assert archive.search(SearchQuery("kingfisher")).hits == ()
    assert archive.search(SearchQuery("ngfish", "substring")).hits == ()
    assert archive.find_by_handle(handle) == []
    with pytest.raises(UnknownSession):
        archive.session(id)
    assert archive.said(kept) == [user("a heron")]


def test_deleting_a_parent_takes_nothing_from_its_forks(archive: Driver):
    said = talk(8)
    id = archive.begin(*said)
    archive.compact(id, [said[0], summary("A"), *said[5:]])
    fork = archive.fork(id, at=6).id
    seen = archive.seen(fork)
    archive.append(id, [user("secret of the parent")], turn="t")
    archive.compact(id, [said[0], summary("B")])
    assert archive.delete(id) == 6
    archive.reopen()
    assert archive.said(fork) == said[:6]
    assert archive.seen(fork) == seen
    archive.undo(fork)
    assert archive.seen(fork) == said[:6]
    assert archive.session(fork).parent is None
    assert [one.id for one in archive.sessions()] == [fork]
    assert archive.search(SearchQuery("secret")).hits == ()
    (found,) = archive.search(SearchQuery('"say 2"')).hits
    assert (found.session, found.sequence) == (fork, 2)
    assert archive.find_by_handle(archive.messages(fork)[1].handle)[0].session == fork


def test_a_shared_turn_saved_again_after_the_parent_was_deleted_is_still_stored_once(archive: Driver):
    id = archive.begin(*talk(3))
    fork = archive.fork(id).id
    archive.delete(id)
    assert archive.append(fork, talk(3), turn="begin").stored == 0


def test_what_a_deleted_parent_kept_for_its_forks_is_deleted_with_the_last_of_them(archive: Driver):
    id = archive.begin(*talk(4))
    first, second = archive.fork(id).id, archive.fork(id, at=2).id
    grandchild = archive.fork(second, at=1).id
    archive.delete(id)
    archive.delete(second)
    archive.delete(first)
    assert archive.said(grandchild) == talk(1)
    assert [(hit.session, hit.sequence) for hit in archive.search(SearchQuery("say")).hits] == [
        (grandchild, 1)
    ]
    archive.delete(grandchild)
    assert archive.sessions() == []
    assert archive.search(SearchQuery("say")).hits == ()


@pytest.mark.parametrize(
    ("messages", "title"),
    [
        ([], ""),
        ([{"role": "system", "content": "be kind"}, user("\n  Fix the   tests\nplease")], "Fix the tests"),
        ([user("word " * 30)], "word word word word word word word word word word word…"),
        ([user(""), {"role": "user", "content": [{"type": "text", "text": "in parts"}]}], "in parts"),
    ],
)
def test_a_title_is_the_first_line_of_the_first_request(messages, title):
    assert title_of(messages) == title


@pytest.mark.parametrize(
    "program",
    [
        "<system-reminder>\nThe files of this project are …\n</system-reminder>",
        "<command-name>/clear</command-name>\n<command-message>clear</command-message>",
        "<environment_context><cwd>/srv</cwd></environment_context>",
        "Caveat: The messages below were generated by the user while running local commands.",
        "[Request interrupted by user]",
    ],
)
def test_text_that_a_program_put_there_is_never_a_title(program):
    asked = user("Fix the tests")
    assert title_of([user(program), asked]) == "Fix the tests"
    parts = [{"type": "text", "text": program}, {"type": "text", "text": "Fix the tests"}]
    if not program.startswith("Caveat"):  # which continues to the end of its message
        assert title_of([{"role": "user", "content": parts}]) == "Fix the tests"
    assert title_of([user(program)]) == ""
    assert title_of([user("<system-reminder>cut off"), asked]) == "Fix the tests"
