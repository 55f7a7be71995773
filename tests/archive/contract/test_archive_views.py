"""What every store promises about views: compaction, undo, forks, pins."""

import asyncio

import pytest
from archive_driver import EVENT, Driver, assistant, summary, talk, user
from hypothesis import HealthCheck, given, settings

from plimsoll import ContextCompressor
from plimsoll.archive import (
    OPERATOR,
    CompactionEvent,
    Node,
    NodeLink,
    ShortenedReference,
    Span,
    View,
    ViewDraft,
    draft_of,
)
from plimsoll.archive.ids import node_id
from plimsoll.errors import Conflict, InvalidConversation, StaleLease, UserError
from plimsoll.testing.strategies import conversations


def test_before_the_first_compaction_the_model_sees_the_log(archive: Driver):
    id = archive.begin(*talk(5))
    assert archive.view(id) == View(0)
    assert archive.seen(id) == talk(5)
    assert archive.view_size(id) == (5, archive.session(id).tokens)


def test_a_compaction_changes_what_the_model_sees_and_not_what_was_said(archive: Driver):
    said = talk(10)
    id = archive.begin(*said)
    view = archive.compact(id, [said[0], summary("A"), *said[7:]])
    archive.reopen()
    assert archive.seen(id) == [said[0], summary("A"), *said[7:]]
    assert archive.said(id) == said
    assert view.through == 7
    assert [type(one) for one in view.references] == [Span, NodeLink]


def test_what_is_said_after_a_compaction_belongs_to_the_view_by_itself(archive: Driver):
    said = talk(10)
    id = archive.begin(*said)
    before = archive.compact(id, [said[0], summary("A"), *said[7:]])
    archive.append(id, [user("more")], turn="t")
    assert archive.view(id) == before
    assert archive.seen(id) == [said[0], summary("A"), *said[7:], user("more")]


def test_a_view_knows_how_long_the_log_was_when_it_was_made(archive: Driver):
    said = talk(10)
    id = archive.begin(*said)
    made = archive.compact(id, [said[0], summary("A"), *said[7:]])
    archive.append(id, [user("more")], turn="t")
    assert made.log_length == archive.view(id).log_length == 10


def test_a_message_that_was_summarised_cannot_be_pinned(archive: Driver):
    said = talk(10)
    id = archive.begin(*said)
    archive.compact(id, [said[0], summary("A"), *said[7:]])
    with pytest.raises(Conflict, match=f"plimsoll sessions undo {id}"):
        archive.pin(id, 4)
    assert archive.pins(id) == []
    archive.undo(id)
    archive.pin(id, 4)
    assert archive.pins(id) == [4]


def test_a_node_knows_what_it_was_made_from(archive: Driver):
    said = talk(10)
    id = archive.begin(*said)
    archive.compact(id, [said[0], summary("A"), *said[7:]])
    archive.append(id, talk(4, "later"), turn="t")
    archive.compact(id, [said[0], summary("B"), *talk(4, "later")[3:]])
    first, second = archive.nodes(id)
    assert first.sources == (Span(2, 7),)
    assert second.sources == (NodeLink(first.id), Span(8, 13))
    assert archive.node(second.id) == second
    with pytest.raises(UserError, match="no node 'n:0'"):
        archive.node("n:0")


def test_a_shortened_message_keeps_its_place_and_the_handle_of_its_original(archive: Driver):
    long = {"role": "tool", "tool_call_id": "c", "content": "x" * 900}
    stub = {**long, "content": "[cleared]"}
    id = archive.begin(user("go"), long, assistant("done"))
    view = archive.compact(id, [user("go"), stub, assistant("done")])
    handle = archive.messages(id)[1].handle
    assert view.references == (Span(1, 1), ShortenedReference(2, stub, handle))
    item = archive.items(id)[1]
    assert (item.message, item.sequence, item.shortened, item.handle) == (stub, 2, True, handle)
    assert archive.find_by_handle(item.handle)[0].message == long


def test_undo_restores_the_view_before_and_keeps_what_was_said_since(archive: Driver):
    said = talk(10)
    id = archive.begin(*said)
    archive.compact(id, [said[0], summary("A"), *said[7:]])
    seen = archive.seen(id)
    archive.append(id, [user("more")], turn="t")
    archive.compact(id, [said[0], summary("B"), user("more")])
    archive.undo(id)
    assert archive.seen(id) == [*seen, user("more")]
    archive.undo(id)
    archive.reopen()
    assert archive.seen(id) == [*said, user("more")]
    with pytest.raises(UserError, match="no compaction or edit that could be undone"):
        archive.undo(id)


def test_a_compaction_after_an_undo_continues_from_the_current_view(archive: Driver):
    said = talk(6)
    id = archive.begin(*said)
    archive.compact(id, [summary("A"), said[5]])
    archive.undo(id)
    archive.compact(id, [summary("B"), said[5]])
    archive.undo(id)
    assert archive.seen(id) == said


def test_the_same_compaction_after_an_undo_adds_no_second_node(archive: Driver):
    said = talk(6)
    id = archive.begin(*said)
    archive.compact(id, [summary("A"), said[5]])
    archive.undo(id)
    archive.compact(id, [summary("A"), said[5]])
    assert len(archive.nodes(id)) == 1
    assert archive.seen(id) == [summary("A"), said[5]]


def test_every_compaction_refusal_and_undo_is_an_event(archive: Driver):
    said = talk(6)
    id = archive.begin(*said)
    told = CompactionEvent(
        "threshold",
        "compressor",
        "compacted",
        "",
        6,
        2,
        100,
        20,
        {"files": ["a.py"]},
        "haiku",
        0.002,
        1.5,
        0.0,
    )
    draft = draft_of(id, archive.view(id), archive.items(id), [summary("A"), said[5]])
    archive.clock.now += 5
    archive.commit_compaction(id, draft, told)
    refused = archive.record_compaction(
        id, CompactionEvent("hand", "compressor", "refused", "it would be larger")
    )
    archive.undo(id)
    first, second, third = archive.compactions(id)
    assert (first.outcome, first.view_before, first.view_after, first.time) == (
        "compacted",
        0,
        1,
        archive.clock.now,
    )
    assert (first.ledger, first.model, first.money, first.seconds) == (
        {"files": ["a.py"]},
        "haiku",
        0.002,
        1.5,
    )
    assert second == refused
    assert (second.reason, second.view_before, second.view_after) == ("it would be larger", 1, 1)
    assert (third.outcome, third.view_before, third.view_after) == ("undone", 1, 0)
    assert (third.messages_before, third.messages_after) == (2, 6)
    assert archive.compactions(id, limit=1) == [third]


def test_a_compaction_made_from_an_earlier_view_is_refused(archive: Driver):
    said = talk(6)
    id = archive.begin(*said)
    late = draft_of(id, archive.view(id), archive.items(id), [summary("late"), said[5]])
    archive.compact(id, [summary("A"), said[5]])
    with pytest.raises(Conflict, match="is at view 1, but the compaction was made from view 0"):
        archive.commit_compaction(id, late, EVENT)
    assert archive.seen(id) == [summary("A"), said[5]]
    assert len(archive.nodes(id)) == 1
    assert len(archive.compactions(id)) == 1


def test_a_compaction_prepared_while_more_was_said_takes_it_in(archive: Driver):
    said = talk(6)
    id = archive.begin(*said)
    prepared = draft_of(id, archive.view(id), archive.items(id), [summary("A"), *said[4:]])
    archive.append(id, [user("meanwhile")], turn="t")
    archive.commit_compaction(id, prepared, EVENT)
    assert archive.seen(id) == [summary("A"), *said[4:], user("meanwhile")]


@pytest.mark.parametrize(
    ("draft", "why"),
    [
        (ViewDraft(0, (Span(1, 9),), 9), "covers messages up to 9, but the log has 4"),
        (ViewDraft(0, (Span(3, 4), Span(1, 2)), 4), "message 1 comes after message 4"),
        (ViewDraft(0, (Span(2, 3),), 2), "not within 1 to 2"),
        (ViewDraft(0, (NodeLink("n:nowhere"),), 4), "which is not stored"),
    ],
)
def test_a_view_that_leads_nowhere_is_refused_as_a_whole(archive: Driver, draft: ViewDraft, why: str):
    id = archive.begin(*talk(4))
    with pytest.raises(InvalidConversation, match=why):
        archive.commit_compaction(id, draft, EVENT)
    assert archive.seen(id) == talk(4)
    assert archive.nodes(id) == []
    assert archive.compactions(id) == []


def test_a_view_with_a_node_over_nothing_is_refused_as_a_whole(archive: Driver):
    id, gone = archive.begin(*talk(4)), (NodeLink("n:gone"),)
    node = Node(node_id(id, summary("A"), gone), summary("A"), gone)
    with pytest.raises(InvalidConversation, match="which is not stored"):
        archive.commit_compaction(id, ViewDraft(0, (), 4, (node,)), EVENT)
    assert archive.nodes(id) == []


def test_a_pinned_message_may_not_leave_the_view(archive: Driver):
    said = talk(8)
    id = archive.begin(*said)
    archive.pin(id, 3)
    with pytest.raises(Conflict, match=r"Message 3 of session .* is pinned"):
        archive.compact(id, [said[0], summary("A"), said[7]])
    archive.compact(id, [said[0], said[2], summary("A"), said[7]])
    assert archive.seen(id) == [said[0], said[2], summary("A"), said[7]]
    archive.unpin(id, 3)
    archive.compact(id, [said[0], summary("B"), said[7]])


def test_a_pinned_message_may_get_more_after_its_words_and_nothing_else(archive: Driver):
    prompt = {"role": "system", "content": "You keep the log."}
    blocks = [{"type": "text", "text": text} for text in ("You keep the log.", "[Note]")]
    noted = {**prompt, "content": blocks}
    said = [prompt, *talk(8)]
    id = archive.begin(*said)
    archive.pin(id, 1)
    archive.compact(id, [noted, summary("A"), *said[6:]])
    assert archive.seen(id)[0] == noted
    for other in ({**prompt, "content": "You keep"}, {**prompt, "content": blocks[1:]}):
        with pytest.raises(Conflict, match=r"Message 1 of session .* is pinned"):
            archive.compact(id, [other, summary("B"), said[8]])
    archive.compact(id, [noted, summary("B"), said[8]])


def test_only_one_process_holds_a_lease_and_a_late_one_cannot_commit(archive: Driver):
    said = talk(6)
    id = archive.begin(*said)
    mine = archive.acquire(id, "a", 30)
    assert archive.acquire(id, "b", 30) is None
    assert archive.acquire(id, "b", 30, purpose="turn").fence == 1
    archive.clock.now += 31
    theirs = archive.acquire(id, "b", 30)
    assert theirs.fence == mine.fence + 1
    with pytest.raises(StaleLease, match="a no longer holds the compact lease"):
        archive.compact(id, [summary("late"), said[5]], lease=mine)
    with pytest.raises(StaleLease):
        archive.append(id, [user("late")], turn="t", lease=mine)
    with pytest.raises(StaleLease):
        archive.undo(id, lease=mine)
    with pytest.raises(StaleLease):
        archive.renew(mine, 30)
    archive.release(mine)  # does not take it from its new holder
    assert archive.acquire(id, "a", 30) is None
    archive.compact(id, [summary("in time"), said[5]], lease=theirs)
    assert archive.seen(id) == [summary("in time"), said[5]]


def test_a_lease_that_ran_out_and_was_wanted_by_nobody_still_counts(archive: Driver):
    said = talk(6)
    id = archive.begin(*said)
    lease = archive.acquire(id, "a", 1)
    archive.clock.now += 100
    archive.compact(id, [summary("A"), said[5]], lease=lease)


def test_a_lease_is_prolonged_given_back_and_numbered_upwards_for_ever(archive: Driver):
    id = archive.begin()
    lease = archive.acquire(id, "a", 10)
    assert archive.acquire(id, "a", 20).fence == lease.fence
    assert archive.renew(lease, 60).expires == archive.clock.now + 60
    archive.release(lease)
    archive.reopen()
    assert archive.acquire(id, "b", 10).fence == lease.fence + 1


def test_of_many_who_compact_at_once_one_succeeds(archive: Driver):
    said = talk(6)
    id = archive.begin(*said)
    drafts = [
        draft_of(id, archive.view(id), archive.items(id), [summary(f"S{n}"), said[5]]) for n in range(6)
    ]

    async def race(one):
        other = [one, *[await archive._start() for _ in range(2)]]
        own = [store.for_owner(OPERATOR) for store in other]
        tries = [own[n % 3].commit_compaction(id, draft, EVENT) for n, draft in enumerate(drafts)]
        results = await asyncio.gather(*tries, return_exceptions=True)
        for extra in other[1:]:
            await extra.close()
        return results

    results = archive.run_store(race)
    assert sum(isinstance(one, View) for one in results) == 1
    assert sum(isinstance(one, Conflict) for one in results) == 5
    assert len(archive.nodes(id)) == 1


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(said=conversations(min_turns=4, max_turns=10))
def test_what_the_compressor_returns_is_what_the_model_sees_through_all_compactions(archive: Driver, said):
    """Engines give back plain lists; every one of them can be told by reference."""
    id = archive.begin()
    engine = ContextCompressor(context_length=4_000, protect_last_n=3)
    step = max(1, len(said) // 3)
    for start in range(0, len(said), step):
        archive.append(id, said[start : start + step], turn=str(start))
        result = engine.compress(archive.seen(id))
        if engine.last_report.outcome == "compacted":
            archive.compact(id, result)
            assert archive.seen(id) == result
            assert sum(node.kind == "summary" for node in archive.nodes(id)) <= len(archive.compactions(id))
    assert archive.said(id) == said
    while archive.view(id).number:
        archive.undo(id)
    assert archive.seen(id) == said
