"""Forks share the past of their parent, its view and its pins, and then go their own way."""

import pytest
from archive_driver import Driver, summary, talk, user

from plimsoll.errors import UserError


def test_a_fork_begins_with_the_view_that_it_asks_for(archive: Driver):
    said = talk(10)
    id = archive.begin(*said)
    first = archive.compact(id, [said[0], summary("A"), *said[4:]])
    second = archive.compact(id, [said[0], summary("B"), *said[7:]])
    assert archive.fork(id, at=8).view == second.number
    assert archive.fork(id, at=8, view=first.number).view == first.number
    assert archive.seen(archive.fork(id, at=8, view=0).id) == said[:8]
    for view in (second.number, 999):
        with pytest.raises(UserError, match=f"no view {view} of its first 5 messages"):
            archive.fork(id, at=5, view=view)


def test_a_fork_shares_the_past_and_continues_separately(archive: Driver):
    said = talk(6)
    id = archive.begin(*said, title="first", model="m", engine="e")
    fork = archive.fork(id, at=4)
    assert (fork.parent, fork.forked_at, fork.messages) == (id, 4, 4)
    assert (fork.title, fork.model, fork.engine) == ("first", "m", "e")
    archive.append(fork.id, [user("other way")], turn="t", after=4)
    archive.append(id, [user("this way")], turn="t", after=6)
    archive.reopen()
    assert archive.said(fork.id) == [*said[:4], user("other way")]
    assert archive.said(id) == [*said, user("this way")]
    assert archive.session(fork.id).tokens == sum(one.tokens for one in archive.messages(fork.id))


def test_a_fork_inherits_the_view_of_its_moment_and_can_undo_it(archive: Driver):
    said = talk(8)
    id = archive.begin(*said)
    archive.compact(id, [said[0], summary("A"), *said[5:]])
    archive.append(id, talk(4, "later"), turn="t")
    archive.compact(id, [said[0], summary("B"), *talk(4, "later")[2:]])
    late, middle, early = archive.fork(id).id, archive.fork(id, at=9).id, archive.fork(id, at=3).id
    assert archive.seen(late) == archive.seen(id)
    assert archive.seen(middle) == [said[0], summary("A"), *said[5:], talk(4, "later")[0]]
    assert archive.seen(early) == said[:3]
    archive.undo(late)
    assert archive.seen(late)[1] == summary("A")
    assert archive.seen(id)[1] == summary("B")


def test_compacting_a_fork_leaves_its_parent_alone_and_the_other_way_round(archive: Driver):
    said = talk(8)
    id = archive.begin(*said)
    fork = archive.fork(id).id
    archive.compact(fork, [summary("F"), said[7]])
    archive.compact(id, [summary("P"), said[7]])
    assert (archive.seen(fork), archive.seen(id)) == ([summary("F"), said[7]], [summary("P"), said[7]])
    archive.undo(fork)
    assert archive.seen(fork) == said


def test_forks_of_forks_read_through_all_of_their_ancestors(archive: Driver):
    id = archive.begin(*talk(6))
    child = archive.fork(id, at=5).id
    archive.append(child, talk(3, "child"), turn="c")
    grandchild = archive.fork(child, at=7).id
    short = archive.fork(child, at=2).id
    archive.append(grandchild, [user("end")], turn="g")
    assert archive.said(grandchild) == [*talk(5), *talk(3, "child")[:2], user("end")]
    assert archive.said(short) == talk(2)
    archive.append(short, [user("own")], turn="s")
    assert archive.said(short) == [*talk(2), user("own")]
    assert archive.fork(id, at=0).messages == 0


def test_a_fork_inherits_pins_and_then_has_its_own(archive: Driver):
    id = archive.begin(*talk(6))
    archive.pin(id, 2)
    archive.pin(id, 6)
    fork = archive.fork(id, at=4).id
    assert archive.pins(fork) == [2]
    archive.unpin(id, 2)
    assert archive.pins(fork) == [2]


def test_a_turn_of_the_parent_saved_again_in_the_fork_is_known_there(archive: Driver):
    id = archive.begin(*talk(3))
    fork = archive.fork(id).id
    assert archive.append(fork, talk(3), turn="begin").stored == 0
