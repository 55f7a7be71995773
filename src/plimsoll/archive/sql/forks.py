"""Forks: chooses the view that a fork starts with.

    parent   1 2 3 4 5 6 7 8 9 10        drop 4 and 10 made the view 1 2 3 5 6 7 8 9
    fork at 7, or a retry from there     1 2 3 5 6 7

A fork starts with the newest view that does not cover later messages. An edit does not change what a view covers, so
an edited view is checked by the view that it was made from, and cut at the fork point. Dropped messages are in no
fork, whichever view it starts with. Messages are never copied; only pins, and edits that had to be cut, are written
again.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from random import Random

from plimsoll.archive.records import Action, CompactionEvent, Session, Span
from plimsoll.archive.sql import actions, sessions, views
from plimsoll.archive.sql.connection import SqlConnection
from plimsoll.archive.sql.lineage import SessionRow, find, segments
from plimsoll.archive.sql.log import require_message
from plimsoll.archive.view_change import reference_to, without_tail
from plimsoll.archive.views import Reference, Rewrite, ShortenedReference, View, ViewDraft, merged
from plimsoll.errors import UserError

# The start of the first leaf, of a session or its ancestors, that covers a message and later ones.
_LEAF_ACROSS = """
WITH RECURSIVE line (key, parent) AS (
    SELECT key, parent FROM sessions WHERE key = CAST(? AS BIGINT)
    UNION SELECT s.key, s.parent FROM sessions s JOIN line ON s.key = line.parent)
SELECT coalesce(min(e.first), 0) FROM edges e JOIN nodes n ON n.id = e.node JOIN line ON line.key = n.session
WHERE n.kind = 'leaf' AND e.first <= ? AND e.last > ?
"""


async def fork(
    db: SqlConnection,
    row: SessionRow,
    at: int | None,
    title: str | None,
    wanted: int | None,
    random: Random,
    rewrite: Rewrite | None,
) -> Session:
    """Create a session that starts in the state of another one after message `at`, without dropped messages."""
    point = row.session.messages if at is None else at
    if point:
        require_message(row, point)
    edits = await actions.edits_before(db, row.session.view)
    made = {edit.view_after for edit in edits}
    view = await _opening_view(db, row, point, wanted, made)
    base = view if view.through <= point else await _unedited(db, row, view, made)
    child = await sessions.fork(db, row, point, title, base.number, random)
    applied, shown = [
        {edit.view_after for edit in await actions.edits_before(db, side.number)} for side in (base, view)
    ]
    missing = list(_of_fork([edit for edit in edits if edit.view_after not in applied], shown, point))
    dropped = sorted({n for edit in missing if edit.action == "drop" for n in edit.details["messages"]})
    references = merged(list(_cut(view.whole(point), point, dropped)))
    if references == base.whole(point):
        return child
    if rewrite is not None and dropped:
        references = await _rewritten(db, child, references, dropped[0], rewrite)
    draft = ViewDraft(base.number, *without_tail(references, point))
    return await _begin_with(db, child, draft, missing)


def _of_fork(edits: Sequence[Action], shown: Collection[int], point: int) -> Iterator[Action]:
    """The edits that concern a fork: all drops up to its fork point, and the summaries that it shows."""
    for edit in edits:
        if edit.action != "drop":
            if edit.view_after in shown:
                yield edit
        elif early := [number for number in edit.details["messages"] if number <= point]:
            yield replace(edit, details={"messages": early})


async def _rewritten(
    db: SqlConnection, child: Session, references: tuple[Reference, ...], dropped: int, rewrite: Rewrite
) -> tuple[Reference, ...]:
    """References to the messages as they are rewritten after the first one that is left out."""
    row = await find(db, child.id, child.owner)
    items = await views.items(db, row, View(0, references, child.messages))
    place = next((n for n, item in enumerate(items) if item.sequence > dropped), len(items))
    messages = rewrite([item.message for item in items], place)
    return merged([reference_to(item, message) for item, message in zip(items, messages, strict=True)])


async def _begin_with(
    db: SqlConnection, child: Session, draft: ViewDraft, edits: Sequence[Action]
) -> Session:
    """Give a fork its own view, and the edits that created it."""
    row = await find(db, child.id, child.owner)
    before = await views.view_size(db, row, await views.load(db, row, None))
    after = await views.view_size(db, row, View(0, draft.references, draft.through))
    event = CompactionEvent(
        "fork", child.engine, "edited", "", before[0], after[0], before[1], after[1],
        author=edits[-1].actor if edits else "",
    )  # fmt: skip
    view = await views.commit(db, row, draft, event, None)
    for edit in edits:
        await actions.insert(db, row, edit, draft.base, view.number)
    return (await find(db, child.id, child.owner)).session


def _cut(references: Sequence[Reference], point: int, dropped: Sequence[int]) -> Iterator[Reference]:
    """References up to a message, without dropped ones."""
    for reference in references:
        if isinstance(reference, Span):
            first, last = reference.first, min(reference.last, point)
            for number in (*(item for item in dropped if first <= item <= last), last + 1):
                if first < number:
                    yield Span(first, number - 1)
                first = number + 1
        elif not isinstance(reference, ShortenedReference) or (
            reference.sequence <= point and reference.sequence not in dropped
        ):
            yield reference


async def _opening_view(
    db: SqlConnection, row: SessionRow, point: int, wanted: int | None, edited: Collection[int]
) -> View:
    """The requested view, or the newest one, if it does not cover later messages."""
    if wanted is None:
        return await _view_at(db, row, point, edited)
    if wanted == 0:
        return View(0)
    found = await db.row("SELECT session FROM views WHERE id = ?", (wanted,))
    known = {row.key, *(segment.key for segment in await segments(db, row))}
    view = await views.load(db, row, wanted) if found is not None and found[0] in known else None
    if view is None or (await _unedited(db, row, view, edited)).through > point:
        raise UserError(f"Session {row.session.id} has no view {wanted} of its first {point} messages.")
    return view


async def _view_at(db: SqlConnection, row: SessionRow, sequence: int, edited: Collection[int]) -> View:
    """The newest view, from the current one backwards, that does not cover later messages."""
    view, leaf = await views.load(db, row, None), await _leaf_across(db, row, sequence)
    while view.number:
        is_early = (await _unedited(db, row, view, edited)).through <= sequence
        if is_early and (not leaf or await _holds(db, view.number, view.through, leaf, sequence)):
            return view
        view = await views.load(db, row, view.previous or 0)
    return view


async def _unedited(db: SqlConnection, row: SessionRow, view: View, edited: Collection[int]) -> View:
    """The view that a user's edits started from."""
    while view.number in edited:
        view = await views.load(db, row, view.previous or 0)
    return view


async def _leaf_across(db: SqlConnection, row: SessionRow, sequence: int) -> int:
    """The start of the first leaf that covers a message and later ones too; 0 if there is none."""
    (first,) = await db.only(_LEAF_ACROSS, (row.key, sequence, sequence))
    return int(first)


async def _holds(db: SqlConnection, view: int, through: int, first: int, last: int) -> bool:
    """Whether all of these messages are in a view; a leaf covers those that left it."""
    rows = await db.rows(
        "SELECT coalesce(r.first, s.sequence), coalesce(r.last, s.sequence) FROM view_references r "
        "LEFT JOIN shortenings s ON s.id = r.shortening WHERE r.view = ? AND r.node IS NULL",
        (view,),
    )
    runs: list[tuple[int, int]] = [(start, end) for start, end in rows]
    runs.append((through + 1, last))
    return sum(max(0, min(end, last) - max(start, first) + 1) for start, end in runs) == last - first + 1
