"""Views: read, commit, undo.

A commit writes nodes, edges, shortened messages, the view and the event, and makes the new view the current one. Like
everything here, it runs inside one transaction.
"""

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from typing import Literal

from plimsoll.archive.encoding import digest_of, to_json
from plimsoll.archive.records import Action, CompactionEvent, NodeLink, SessionFigures, Span
from plimsoll.archive.sql import actions, events, log, nodes
from plimsoll.archive.sql.connection import Record, SqlConnection
from plimsoll.archive.sql.lineage import SessionRow, clipped, segments
from plimsoll.archive.sql.sessions import total_at
from plimsoll.archive.views import (
    Reference,
    ShortenedReference,
    View,
    ViewDraft,
    ViewItem,
    faults,
    sequences_of,
)
from plimsoll.errors import Conflict, InvalidConversation, UserError
from plimsoll.messages import extends
from plimsoll.models import estimate_message_tokens

_REFERENCES = (
    "SELECT r.first, r.last, r.node, s.sequence, s.body, s.handle FROM view_references r "
    "LEFT JOIN shortenings s ON s.id = r.shortening WHERE r.view = ? ORDER BY r.position"
)


async def load(db: SqlConnection, row: SessionRow, number: int | None) -> View:
    """The view with this number, by default the current one."""
    wanted = row.session.view if number is None else number
    if wanted == 0:
        return View(0)
    found = await db.row(
        "SELECT session, previous, through, created, log_length FROM views WHERE id = ?", (wanted,)
    )
    if found is None or found[0] not in {row.key, *await _ancestors(db, row)}:
        raise UserError(f"Session {row.session.id} has no view {wanted}.")
    references = tuple(_references(await db.rows(_REFERENCES, (wanted,))))
    _, previous, through, created, log_length = found
    return View(wanted, references, through, previous, created, log_length)


async def _ancestors(db: SqlConnection, row: SessionRow) -> list[int]:
    keys: list[int] = []
    parent = row.parent
    while parent is not None:
        keys.append(parent)
        (parent,) = await db.only("SELECT parent FROM sessions WHERE key = ?", (parent,))
    return keys


def _references(rows: Sequence[Record]) -> Iterator[Reference]:
    for first, last, node, sequence, body, handle in rows:
        if node is not None:
            yield NodeLink(node)
        elif body is not None:
            yield ShortenedReference(sequence, json.loads(body), f"h:{handle}")
        else:
            yield Span(first, last)


async def items(db: SqlConnection, row: SessionRow, view: View) -> list[ViewItem]:
    """What the model sees, read by reference."""
    found: list[ViewItem] = []
    for reference in view.whole(row.session.messages):
        if isinstance(reference, Span):
            found += await _of_span(db, row, reference)
        elif isinstance(reference, ShortenedReference):
            tokens = estimate_message_tokens(reference.message)
            found.append(
                ViewItem(
                    reference.message, tokens, reference.sequence, shortened=True, handle=reference.handle
                )
            )
        else:
            node = await nodes.load(db, reference.node, row.session.owner)
            found.append(ViewItem(node.message, node.tokens, node=node.id))
    return found


async def _of_span(db: SqlConnection, row: SessionRow, span: Span) -> list[ViewItem]:
    """The messages of a run in the form that the model sees."""
    items: list[ViewItem] = []
    forms = await log.shown(db, row, span.first, span.last)
    for stored in await log.messages(db, row, span.first, span.last):
        message, tokens = forms.get(stored.sequence, (stored.message, stored.tokens))
        is_short = stored.sequence in forms
        items.append(ViewItem(message, tokens, stored.sequence, shortened=is_short, handle=stored.handle))
    return items


async def view_size(db: SqlConnection, row: SessionRow, view: View) -> tuple[int, int]:
    """Messages and tokens of a view; a run is measured by its first and last message."""
    messages = tokens = 0
    for reference in view.whole(row.session.messages):
        messages += len(reference) if isinstance(reference, Span) else 1
        if isinstance(reference, Span):
            tokens += await total_at(db, row, reference.last) - await total_at(db, row, reference.first - 1)
            tokens -= await log.hidden_tokens(db, row, reference.first, reference.last)
        elif isinstance(reference, ShortenedReference):
            tokens += estimate_message_tokens(reference.message)
        else:
            tokens += (await nodes.load(db, reference.node, row.session.owner)).tokens
    return messages, tokens


async def figures(db: SqlConnection, row: SessionRow) -> SessionFigures:
    """What a list of sessions shows about one."""
    total = await events.usage_total(db, row)
    _, tokens = await view_size(db, row, await load(db, row, None))
    compactions = await events.compaction_count(db, row)
    return SessionFigures(tokens, compactions, total.requests, total.money, total.unpriced)


async def commit(
    db: SqlConnection, row: SessionRow, draft: ViewDraft, event: CompactionEvent, action: Action | None
) -> View:
    """Store a compaction. See `Archive.commit_compaction`."""
    before = await load(db, row, None)
    if draft.base != before.number:
        raise Conflict(
            f"Session {row.session.id} is at view {before.number}, but the compaction was made from view "
            f"{draft.base}. Repeat it."
        )
    wrong = next(faults(draft.references, draft.through, row.session.messages), None)
    if wrong:
        raise InvalidConversation(f"The new view of session {row.session.id} is refused: {wrong}.")
    for node in draft.nodes:
        await nodes.insert(db, row, node)
    await _require_pins(db, row, before, draft)
    now = await db.now()
    (number,) = await db.insert(
        "INSERT INTO views (session, previous, through, created, log_length) VALUES (?, ?, ?, ?, ?)",
        [(row.key, before.number, draft.through, now, row.session.messages)],
    )
    for position, reference in enumerate(draft.references):
        await db.run(
            "INSERT INTO view_references (view, position, first, last, shortening, node) VALUES (?, ?, ?, ?, ?, ?)",
            (number, position, *await _columns(db, row, reference)),
        )
    await _move(db, row, number)
    await events.insert(db, row.key, event, before.number, number)
    if action is not None:
        await actions.insert(db, row, action, before.number, number)
    return View(number, draft.references, draft.through, before.number, now, row.session.messages)


async def pin(db: SqlConnection, row: SessionRow, sequence: int) -> bool:
    """Pin a message. Returns whether it was not pinned before.

    Raises `Conflict` for a message that a compaction has removed from the view.
    """
    log.require_message(row, sequence)
    holds = (await load(db, row, None)).whole(row.session.messages)
    if not await _contains_verbatim(db, row, holds, sequence) and not await log.shown(
        db, row, sequence, sequence
    ):
        raise Conflict(
            f"Message {sequence} of session {row.session.id} is summarised or shortened, and a pin does not bring it "
            f"back. Undo the compaction first (`plimsoll sessions undo {row.session.id}`), then pin the message."
        )
    return await log.pin(db, row, sequence)


async def _require_pins(db: SqlConnection, row: SessionRow, before: View, draft: ViewDraft) -> None:
    """Raise if the draft loses a pinned message, even one that was pinned while the draft was made."""
    last = row.session.messages
    had, has = before.whole(last), View(0, draft.references, draft.through).whole(last)
    for sequence in await log.pins(db, row.key):
        # A message that the model never saw whole cannot stay whole.
        if (
            await _contains_verbatim(db, row, had, sequence)
            and not await _contains_verbatim(db, row, has, sequence)
            and not await log.shown(db, row, sequence, sequence)
        ):
            raise Conflict(
                f"Message {sequence} of session {row.session.id} is pinned, but the new view does not contain it "
                "verbatim. Repeat the compaction."
            )


async def _contains_verbatim(
    db: SqlConnection, row: SessionRow, references: Sequence[Reference], sequence: int
) -> bool:
    """Whether the references contain a message verbatim; text may be appended to it."""
    for reference in references:
        if isinstance(reference, Span) and reference.first <= sequence <= reference.last:
            return True
        if isinstance(reference, ShortenedReference) and reference.sequence == sequence:
            (stored,) = await log.messages(db, row, sequence, sequence)
            return extends(stored.message, reference.message)
    return False


async def _columns(
    db: SqlConnection, row: SessionRow, reference: Reference
) -> tuple[int | None, int | None, int | None, str | None]:
    if isinstance(reference, Span):
        return reference.first, reference.last, None, None
    if isinstance(reference, ShortenedReference):
        return None, None, await _shortening(db, row, reference), None
    if not await nodes.exists(db, reference.node, row.session.owner):
        raise InvalidConversation(f"The new view refers to node {reference.node}, which is not stored.")
    return None, None, None, reference.node


async def _shortening(db: SqlConnection, row: SessionRow, reference: ShortenedReference) -> int:
    """The row of a shortened message; inserted if it does not exist."""
    digest = digest_of(reference.message)
    for key in (row.key, *await _ancestors(db, row)):
        known = await db.row(
            "SELECT id FROM shortenings WHERE session = ? AND sequence = ? AND digest = ?",
            (key, reference.sequence, digest),
        )
        if known:
            return int(known[0])
    (segment,) = clipped(await segments(db, row), reference.sequence, reference.sequence)
    (handle,) = await db.only(
        "SELECT handle FROM messages WHERE session = ? AND sequence = ?", (segment.key, reference.sequence)
    )
    tokens = estimate_message_tokens(reference.message)
    body = to_json(reference.message)
    (written,) = await db.insert(
        "INSERT INTO shortenings (session, sequence, tokens, digest, handle, body) VALUES (?, ?, ?, ?, ?, ?)",
        [(row.key, reference.sequence, tokens, digest, handle, body)],
    )
    return written


async def undo(db: SqlConnection, row: SessionRow, actor: str) -> View:
    """Return to the previous view; the compaction's nodes stay, and an event records the undo."""
    current = await load(db, row, None)
    if current.previous is None:
        raise UserError(f"Session {row.session.id} has no compaction or edit that could be undone.")
    return await _select(db, row, current, await load(db, row, current.previous), "undo", actor)


async def redo(db: SqlConnection, row: SessionRow, actor: str) -> View:
    """Return to the view that was undone last."""
    target = await undone(db, row)
    if target is None:
        raise UserError(f"Session {row.session.id} has nothing to redo: its last change was not an undo.")
    return await _select(db, row, await load(db, row, None), target, "redo", actor)


async def undone(db: SqlConnection, row: SessionRow) -> View | None:
    """The view that was undone last and not restored; None if another one was created since."""
    rows = db.batches(
        "SELECT outcome, view_before FROM events WHERE session = ? AND outcome <> 'refused' ORDER BY id DESC",
        (row.key,),
    )
    redone = 0
    async with aclosing(rows):
        async for batch in rows:
            for outcome, view in batch:
                if outcome == "redone":
                    redone += 1
                elif outcome == "undone" and redone:
                    redone -= 1
                else:
                    return await load(db, row, view) if outcome == "undone" else None
    return None


async def _select(
    db: SqlConnection,
    row: SessionRow,
    current: View,
    target: View,
    word: Literal["undo", "redo"],
    actor: str,
) -> View:
    """Make another view of the session the current one, with an event and an action."""
    messages_before, tokens_before = await view_size(db, row, current)
    messages_after, tokens_after = await view_size(db, row, target)
    event = CompactionEvent(
        trigger=word,
        engine=row.session.engine,
        outcome="undone" if word == "undo" else "redone",
        messages_before=messages_before,
        messages_after=messages_after,
        tokens_before=tokens_before,
        tokens_after=tokens_after,
        author=actor,
    )
    await _move(db, row, target.number)
    await events.insert(db, row.key, event, current.number, target.number)
    if actor:
        await actions.insert(db, row, Action(word, actor), current.number, target.number)
    return target


async def _move(db: SqlConnection, row: SessionRow, view: int) -> None:
    now = await db.now()
    await db.run(
        "UPDATE sessions SET view = ?, updated = CASE WHEN updated > ? THEN updated ELSE ? END WHERE key = ?",
        (view, now, now, row.key),
    )


async def unresolved(db: SqlConnection, row: SessionRow, view: View) -> AsyncIterator[str]:
    """The faults of a stored view: references that do not resolve or are out of order."""
    for wrong in faults(view.references, view.through, row.session.messages):
        yield wrong
    for span in sequences_of(view.whole(row.session.messages)):
        known = 0
        for segment in clipped(await segments(db, row), span.first, span.last):
            (count,) = await db.only(
                "SELECT count(*) FROM messages WHERE session = ? AND sequence BETWEEN ? AND ?",
                (segment.key, segment.first, segment.last),
            )
            known += count
        if known != len(span):
            yield f"of messages {span.first} to {span.last} only {known} are there"
    for reference in view.references:
        if isinstance(reference, NodeLink) and not await nodes.exists(db, reference.node, row.session.owner):
            yield f"node {reference.node} is missing"
