"""What every store promises about people's actions: they are recorded with what they changed, and can be undone."""

import pytest
from archive_driver import EVENT, Driver, summary, talk

from plimsoll.archive import Action, Span, ViewDraft, draft_of
from plimsoll.errors import UserError


def compacted(archive: Driver, id: str, text: str = "summary") -> None:
    view, items = archive.view(id), archive.items(id)
    after = [summary(text), *(item.message for item in items[-2:])]
    archive.commit_compaction(id, draft_of(id, view, items, after), EVENT)


def dropped(archive: Driver, id: str, number: int) -> None:
    view, items = archive.view(id), archive.items(id)
    after = [item.message for item in items if item.sequence != number]
    action = Action("drop", "operator", {"messages": [number]})
    archive.commit_compaction(id, draft_of(id, view, items, after), EVENT, action=action)


def done(archive: Driver, id: str) -> list[tuple[str, str, dict[str, object]]]:
    return [(one.action, one.actor, dict(one.details)) for one in archive.actions(id)]


def test_an_action_is_recorded_with_the_views_that_it_lies_between(archive: Driver) -> None:
    id = archive.begin(*talk(6))
    archive.pin(id, 2, actor="operator")
    archive.pin(id, 2, actor="operator")  # changes nothing
    archive.pin(id, 3)  # nobody's action
    dropped(archive, id, 4)
    view = archive.session(id).view
    archive.unpin(id, 2, actor="key:laptop")
    child = archive.fork(id, at=5, actor="operator")
    archive.record_action(id, Action("export", "operator", {"format": "openai"}))
    assert done(archive, id) == [
        ("pin", "operator", {"message": 2}),
        ("drop", "operator", {"messages": [4]}),
        ("unpin", "key:laptop", {"message": 2}),
        ("fork", "operator", {"session": child.id, "at": 5}),
        ("export", "operator", {"format": "openai"}),
    ]
    pinned, drop, *_ = archive.actions(id)
    assert (pinned.view_before, pinned.view_after) == (0, 0)
    assert (drop.view_before, drop.view_after) == (0, view)
    assert archive.actions(child.id) == []
    assert [one.action for one in archive.actions(id, limit=2)] == ["fork", "export"]


def test_redo_returns_to_what_was_undone_until_something_else_changes_the_view(archive: Driver) -> None:
    id = archive.begin(*talk(8))
    dropped(archive, id, 3)
    dropped(archive, id, 4)
    views = [0, archive.view(id).previous, archive.session(id).view]
    archive.undo(id, actor="operator")
    archive.undo(id, actor="operator")
    assert archive.session(id).view == views[0]
    assert archive.undone_view(id).number == views[1]
    assert archive.redo(id, actor="operator").number == views[1]
    archive.record_compaction(id, EVENT.refused("threshold", "compressor", 7, 70, "nothing"))
    assert archive.redo(id, actor="operator").number == views[2]
    with pytest.raises(UserError, match="nothing to redo"):
        archive.redo(id)
    archive.undo(id)
    dropped(archive, id, 5)
    assert archive.undone_view(id) is None
    outcomes = [event.outcome for event in archive.compactions(id)]
    assert outcomes == [
        "compacted", "compacted", "undone", "undone", "redone", "refused", "redone", "undone", "compacted"
    ]  # fmt: skip
    assert [event.author for event in archive.compactions(id)][2:5] == ["operator"] * 3


def test_edits_are_those_of_the_views_that_the_current_one_is_made_from(archive: Driver) -> None:
    id = archive.begin(*talk(10))
    compacted(archive, id)
    (node,) = archive.nodes(id)
    archive.append(id, talk(2, "later"), turn="later")
    assert archive.edits(id).hidden == frozenset()
    dropped(archive, id, 9)
    assert (archive.edits(id).dropped, archive.edits(id).hidden) == ((9,), {9})
    edit = Action("edit", "operator", {"node": node.id})
    view = archive.view(id)
    archive.commit_compaction(id, ViewDraft(view.number, view.references, view.through), EVENT, action=edit)
    found = archive.edits(id)
    assert (found.summary.id, found.covered) == (node.id, (Span(1, 8),))
    assert found.hidden == set(range(1, 10))
    child = archive.fork(id)
    assert archive.edits(child.id) == found
    archive.undo(id)
    assert archive.edits(id).hidden == {9}
    archive.undo(id)
    assert archive.edits(id).hidden == frozenset()
    archive.delete(id)
    assert archive.edits(child.id) == found  # the fork still needs them
    archive.delete(child.id)
    assert archive.rows("actions", "sessions") == [0, 0]
