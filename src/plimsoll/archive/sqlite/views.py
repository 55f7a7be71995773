"""Views: reading one, writing the next, going back.

A commit writes nodes, edges, shortened messages, the view and the event, and moves the
session to the new view; it runs inside of one transaction, as everything here does.
"""

import json
import sqlite3
from collections.abc import Iterator

from plimsoll.archive.encoding import digest_of, to_json
from plimsoll.archive.records import CompactionEvent, NodeLink, Span
from plimsoll.archive.sqlite import events, log, nodes
from plimsoll.archive.sqlite.lineage import Row, clipped, segments
from plimsoll.archive.sqlite.sessions import total_at
from plimsoll.archive.views import Draft, Item, Reference, Shortened, View, faults, sequences_of
from plimsoll.errors import Conflict, InvalidConversation, UserError
from plimsoll.models import estimate_message_tokens


def load(db: sqlite3.Connection, row: Row, number: int | None) -> View:
    """The view of this number, by default the one that holds."""
    wanted = row.session.view if number is None else number
    if wanted == 0:
        return View(0)
    found = db.execute(
        "SELECT session, previous, through, created FROM views WHERE id = ?", (wanted,)
    ).fetchone()
    if found is None or found[0] not in {row.key, *_ancestors(db, row)}:
        raise UserError(f"Session {row.session.id} has no view {wanted}.")
    references = tuple(_references(db, wanted))
    return View(wanted, references, through=found[2], previous=found[1], created=found[3])


def _ancestors(db: sqlite3.Connection, row: Row) -> Iterator[int]:
    parent = row.parent
    while parent is not None:
        yield parent
        (parent,) = db.execute("SELECT parent FROM sessions WHERE key = ?", (parent,)).fetchone()


def _references(db: sqlite3.Connection, view: int) -> Iterator[Reference]:
    rows = db.execute(
        "SELECT r.first, r.last, r.node, s.sequence, s.body, s.handle FROM view_references r "
        "LEFT JOIN shortenings s ON s.id = r.shortening WHERE r.view = ? ORDER BY r.position",
        (view,),
    )
    for first, last, node, sequence, body, handle in rows:
        if node is not None:
            yield NodeLink(node)
        elif body is not None:
            yield Shortened(sequence, json.loads(body), f"h:{handle}")
        else:
            yield Span(first, last)


def items(db: sqlite3.Connection, row: Row, view: View) -> list[Item]:
    """What the model sees, read by reference."""
    found: list[Item] = []
    for reference in view.whole(row.session.messages):
        if isinstance(reference, Span):
            found += (
                Item(stored.message, stored.tokens, stored.sequence, handle=stored.handle)
                for stored in log.messages(db, row, reference.first, reference.last)
            )
        elif isinstance(reference, Shortened):
            tokens = estimate_message_tokens(reference.message)
            found.append(
                Item(reference.message, tokens, reference.sequence, shortened=True, handle=reference.handle)
            )
        else:
            node = nodes.load(db, reference.node)
            found.append(Item(node.message, node.tokens, node=node.id))
    return found


def weight(db: sqlite3.Connection, row: Row, view: View) -> tuple[int, int]:
    """Messages and tokens of a view; a run of messages is weighed by its two ends."""
    messages = tokens = 0
    for reference in view.whole(row.session.messages):
        messages += len(reference) if isinstance(reference, Span) else 1
        if isinstance(reference, Span):
            tokens += total_at(db, row, reference.last) - total_at(db, row, reference.first - 1)
        elif isinstance(reference, Shortened):
            tokens += estimate_message_tokens(reference.message)
        else:
            tokens += nodes.load(db, reference.node).tokens
    return messages, tokens


def commit(db: sqlite3.Connection, row: Row, draft: Draft, event: CompactionEvent, now: float) -> View:
    """Everything that a compaction brings. See `Archive.commit_compaction`."""
    before = load(db, row, None)
    if draft.base != before.number:
        raise Conflict(
            f"Session {row.session.id} stands at view {before.number}, and the compaction was made from view "
            f"{draft.base}. Make it anew."
        )
    wrong = next(faults(draft.references, draft.through, row.session.messages), None)
    if wrong:
        raise InvalidConversation(f"The new view of session {row.session.id} is refused: {wrong}.")
    for node in draft.nodes:
        nodes.insert(db, row.key, node, now)
    _require_pins(db, row, before, draft)
    number = db.execute(
        "INSERT INTO views (session, previous, through, created) VALUES (?, ?, ?, ?)",
        (row.key, before.number, draft.through, now),
    ).lastrowid
    assert number is not None
    for position, reference in enumerate(draft.references):
        db.execute(
            "INSERT INTO view_references VALUES (?, ?, ?, ?, ?, ?)",
            (number, position, *_columns(db, row, reference)),
        )
    _move(db, row, number, now)
    events.insert(db, row.key, event, now, before.number, number)
    return View(number, draft.references, draft.through, before.number, now)


def _require_pins(db: sqlite3.Connection, row: Row, before: View, draft: Draft) -> None:
    """A pinned message that stood word for word stays so, also one that was pinned while the draft was made."""
    last = row.session.messages
    had = _whole_messages(before.whole(last))
    has = _whole_messages(View(0, draft.references, draft.through).whole(last))
    for sequence in log.pins(db, row.key):
        inside = [any(span.first <= sequence <= span.last for span in spans) for spans in (had, has)]
        if inside == [True, False]:
            raise Conflict(
                f"Message {sequence} of session {row.session.id} is pinned, and the new view would not hold it "
                "word for word. Make the compaction anew."
            )


def _whole_messages(references: tuple[Reference, ...]) -> list[Span]:
    return [reference for reference in references if isinstance(reference, Span)]


def _columns(
    db: sqlite3.Connection, row: Row, reference: Reference
) -> tuple[int | None, int | None, int | None, str | None]:
    if isinstance(reference, Span):
        return reference.first, reference.last, None, None
    if isinstance(reference, Shortened):
        return None, None, _shortening(db, row, reference), None
    if not nodes.exists(db, reference.node):
        raise InvalidConversation(f"The new view refers to node {reference.node}, which is not stored.")
    return None, None, None, reference.node


def _shortening(db: sqlite3.Connection, row: Row, reference: Shortened) -> int:
    """The row of a shortened message, written if nobody has shortened it so before."""
    digest = digest_of(reference.message)
    for key in (row.key, *_ancestors(db, row)):
        known = db.execute(
            "SELECT id FROM shortenings WHERE session = ? AND sequence = ? AND digest = ?",
            (key, reference.sequence, digest),
        ).fetchone()
        if known:
            return int(known[0])
    (segment,) = clipped(segments(db, row), reference.sequence, reference.sequence)
    (handle,) = db.execute(
        "SELECT handle FROM messages WHERE session = ? AND sequence = ?", (segment.key, reference.sequence)
    ).fetchone()
    tokens = estimate_message_tokens(reference.message)
    body = to_json(reference.message)
    written = db.execute(
        "INSERT INTO shortenings (session, sequence, tokens, digest, handle, body) VALUES (?, ?, ?, ?, ?, ?)",
        (row.key, reference.sequence, tokens, digest, handle, body),
    ).lastrowid
    assert written is not None
    return written


def undo(db: sqlite3.Connection, row: Row, now: float) -> View:
    """Back to the view before; the compaction's nodes stay, and the event says what happened."""
    current = load(db, row, None)
    if current.previous is None:
        raise UserError(f"Session {row.session.id} has no compaction that could be undone.")
    before = load(db, row, current.previous)
    (messages_before, tokens_before), (messages_after, tokens_after) = (
        weight(db, row, view) for view in (current, before)
    )
    event = CompactionEvent(
        trigger="undo",
        engine=row.session.engine,
        outcome="undone",
        messages_before=messages_before,
        messages_after=messages_after,
        tokens_before=tokens_before,
        tokens_after=tokens_after,
    )
    _move(db, row, before.number, now)
    events.insert(db, row.key, event, now, current.number, before.number)
    return before


def _move(db: sqlite3.Connection, row: Row, view: int, now: float) -> None:
    db.execute("UPDATE sessions SET view = ?, updated = max(updated, ?) WHERE key = ?", (view, now, row.key))


def unresolved(db: sqlite3.Connection, row: Row, view: View) -> Iterator[str]:
    """What is wrong with a stored view: references that lead nowhere or stand out of order."""
    yield from faults(view.references, view.through, row.session.messages)
    for span in sequences_of(view.whole(row.session.messages)):
        there = sum(
            db.execute(
                "SELECT count(*) FROM messages WHERE session = ? AND sequence BETWEEN ? AND ?",
                (segment.key, segment.first, segment.last),
            ).fetchone()[0]
            for segment in clipped(segments(db, row), span.first, span.last)
        )
        if there != len(span):
            yield f"of messages {span.first} to {span.last} only {there} are there"
    for reference in view.references:
        if isinstance(reference, NodeLink) and not nodes.exists(db, reference.node):
            yield f"node {reference.node} is missing"
