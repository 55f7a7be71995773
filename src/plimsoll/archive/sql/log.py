"""The log: append, read, pins. Every function runs inside a transaction."""

import json
from collections.abc import Sequence
from contextlib import aclosing

from plimsoll.archive.encoding import EncodedMessage, storable
from plimsoll.archive.owners import Owner
from plimsoll.archive.records import AppendResult, StoredMessage
from plimsoll.archive.sql.connection import Record, SqlConnection
from plimsoll.archive.sql.index import Index
from plimsoll.archive.sql.lineage import Segment, SessionRow, clipped, find, segments
from plimsoll.errors import Conflict, UserError
from plimsoll.messages import HANDLE_DIGITS, Message

_INSERT = (
    "INSERT INTO messages (session, owner, sequence, role, tokens, total, time, digest, handle, body, media) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
# A turn that a fork shares and extends is recorded by the fork.
_TURN = (
    "INSERT INTO turns (session, turn, first, last) VALUES (?, ?, ?, ?) "
    "ON CONFLICT (session, turn) DO UPDATE SET last = excluded.last"
)
_FIELDS = "m.sequence, m.body, m.tokens, m.time, m.digest, m.handle"


async def append(
    db: SqlConnection,
    index: Index,
    row: SessionRow,
    new: Sequence[EncodedMessage],
    turn: str,
    after: int | None,
) -> AppendResult:
    """Add the messages of the turn that are not stored yet. See `Archive.append`."""
    turn = storable(turn)
    known = await _turn(db, row, turn)
    if known is None:
        _require_end(row, after)
        if not new:
            return AppendResult(row.session.messages + 1, row.session.messages, 0)
        last = await _insert(db, index, row, new)
        first = row.session.messages + 1
        await db.run(_TURN, (row.key, turn, first, last))
        return AppendResult(first, last, len(new))
    first, last = known
    stored = await _digests(db, row, first, last)
    if any(a != b.digest for a, b in zip(stored, new, strict=False)) or after not in (None, first - 1):
        raise Conflict(
            f"Turn {turn!r} of session {row.session.id} is stored as messages {first} to {last} with "
            "different content."
        )
    rest = new[len(stored) :]
    if not rest:
        return AppendResult(first, last, 0)
    if last != row.session.messages:
        raise Conflict(
            f"Turn {turn!r} of session {row.session.id} ends at message {last}, but the log continues to "
            f"{row.session.messages}: the turn cannot be extended."
        )
    last = await _insert(db, index, row, rest)
    await db.run(_TURN, (row.key, turn, first, last))
    return AppendResult(first, last, len(rest))


async def _turn(db: SqlConnection, row: SessionRow, turn: str) -> Record | None:
    """Where a turn is stored, by this session or by its parent."""
    for segment in reversed([*await segments(db, row), Segment(row.key, 1, row.session.messages)]):
        found = await db.row(
            "SELECT first, last FROM turns WHERE session = ? AND turn = ? AND last <= ?",
            (segment.key, turn, segment.last),
        )
        if found:
            return found
    return None


def _require_end(row: SessionRow, after: int | None) -> None:
    if after is not None and after != row.session.messages:
        raise Conflict(
            f"Session {row.session.id} was expected to end at message {after}; it ends at "
            f"{row.session.messages}, because another process wrote to it. Read it again."
        )


async def _digests(db: SqlConnection, row: SessionRow, first: int, last: int) -> list[bytes]:
    return [
        digest
        for segment in clipped(await segments(db, row), first, last)
        for (digest,) in await db.rows(
            "SELECT digest FROM messages WHERE session = ? AND sequence BETWEEN ? AND ? ORDER BY sequence",
            (segment.key, segment.first, segment.last),
        )
    ]


async def _insert(db: SqlConnection, index: Index, row: SessionRow, new: Sequence[EncodedMessage]) -> int:
    """Store messages after the newest one, and index them."""
    sequence, total, now = row.session.messages, row.session.tokens, await db.now()
    (newest,) = await db.only("SELECT max(time) FROM messages")
    # Times in the log never decrease, whatever the clock does, because search relies on their order.
    time = max(now, newest or 0.0)
    values, shown_forms = [], []
    for item in new:
        sequence += 1
        total += item.tokens
        values.append((
            row.key, row.session.owner, sequence, item.role, item.tokens, total, time, item.digest, item.handle,
            item.body, item.media,
        ))  # fmt: skip
        if item.shown:
            shown_forms.append((row.key, sequence, item.shown_tokens, item.shown))
    ids = await db.insert(_INSERT, values)
    await index.add(db, ids, [message.text for message in new])
    for form in shown_forms:
        await db.run("INSERT INTO shown (session, sequence, tokens, body) VALUES (?, ?, ?, ?)", form)
    await db.run(
        "UPDATE sessions SET messages = ?, tokens = ?, updated = CASE WHEN updated > ? THEN updated ELSE ? END "
        "WHERE key = ?",
        (sequence, total, now, now, row.key),
    )
    return sequence


async def messages(db: SqlConnection, row: SessionRow, first: int, last: int) -> list[StoredMessage]:
    """Messages `first` to `last`, wherever they are stored."""
    return [
        stored
        for segment in clipped(await segments(db, row), first, last)
        for stored in await _in_segment(db, row.session.id, segment)
    ]


async def shown(db: SqlConnection, row: SessionRow, first: int, last: int) -> dict[int, tuple[Message, int]]:
    """The messages that the model sees in another form from the start: that form and its tokens."""
    return {
        sequence: (json.loads(body), tokens)
        for segment in clipped(await segments(db, row), first, last)
        for sequence, body, tokens in await db.rows(
            "SELECT sequence, body, tokens FROM shown WHERE session = ? AND sequence BETWEEN ? AND ?",
            (segment.key, segment.first, segment.last),
        )
    }


async def hidden_tokens(db: SqlConnection, row: SessionRow, first: int, last: int) -> int:
    """Tokens by which a run of messages is larger in the log than in a view."""
    tokens = 0
    for segment in clipped(await segments(db, row), first, last):
        (less,) = await db.only(
            "SELECT coalesce(sum(m.tokens - s.tokens), 0) FROM shown s JOIN messages m "
            "ON m.session = s.session AND m.sequence = s.sequence "
            "WHERE s.session = ? AND s.sequence BETWEEN ? AND ?",
            (segment.key, segment.first, segment.last),
        )
        tokens += int(less)
    return tokens


async def _in_segment(db: SqlConnection, id: str, segment: Segment) -> list[StoredMessage]:
    rows = await db.rows(
        f"SELECT {_FIELDS} FROM messages m WHERE session = ? AND sequence BETWEEN ? AND ? ORDER BY sequence",
        (segment.key, segment.first, segment.last),
    )
    return [stored_message(id, *values) for values in rows]


def stored_message(
    id: str, sequence: int, body: str, tokens: int, time: float, digest: bytes, handle: str
) -> StoredMessage:
    """A row of the log as a value."""
    return StoredMessage(id, sequence, json.loads(body), tokens, time, digest.hex(), f"h:{handle}")


def require_message(row: SessionRow, sequence: int) -> None:
    """Raise if the session has no message with this number."""
    if not 1 <= sequence <= row.session.messages:
        raise UserError(
            f"Session {row.session.id} has messages 1 to {row.session.messages}; there is no message {sequence}."
        )


async def find_by_handle(
    db: SqlConnection, owner: Owner, id: str | None, handle: str, last: int | None, limit: int
) -> list[StoredMessage]:
    """Messages of an owner whose content has a handle with this prefix, one for each handle."""
    wanted = handle.strip().lower().removeprefix("h:")
    if not wanted or len(wanted) > HANDLE_DIGITS or set(wanted) - set("0123456789abcdef"):
        raise UserError(f"{handle!r} is not a handle. A handle looks like h:3f2a9c1b7d.")
    scope = await segments(db, await find(db, id, owner)) if id else None
    rows = db.batches(
        f"SELECT m.session, s.id, s.state, {_FIELDS} FROM messages m JOIN sessions s ON s.key = m.session "
        "WHERE m.owner = ? AND m.handle >= ? AND m.handle < ? ORDER BY m.handle, m.id",
        (owner, wanted, wanted + "g"),
    )
    found: dict[str, StoredMessage] = {}
    async with aclosing(rows):
        async for batch in rows:
            for key, wrote, state, *fields in batch:
                sequence = fields[0]
                if scope is not None and not _is_in(scope, key, sequence, last):
                    continue
                name = id if scope is not None and id else await reader_of(db, key, wrote, state, sequence)
                found.setdefault(fields[-1], stored_message(name, *fields))
                if len(found) == limit:
                    return list(found.values())
    return list(found.values())


def _is_in(scope: Sequence[Segment], key: int, sequence: int, last: int | None) -> bool:
    """Whether a message is in these segments, and not after `last`."""
    is_early = last is None or sequence <= last
    return is_early and any(
        segment.key == key and segment.first <= sequence <= segment.last for segment in scope
    )


async def reader_of(db: SqlConnection, key: int, id: str, state: str, sequence: int) -> str:
    """The session under which a user finds a message: its own, or a fork if its own was deleted."""
    while state != "active":
        found = await db.row(
            "SELECT key, id, state FROM sessions WHERE parent = ? AND forked_at >= ? ORDER BY state LIMIT 1",
            (key, sequence),
        )
        if found is None:
            return id
        key, id, state = found
    return id


async def pin(db: SqlConnection, row: SessionRow, sequence: int) -> bool:
    """Pin a message. Returns whether it was not pinned before."""
    require_message(row, sequence)
    added = await db.run(
        "INSERT INTO pins (session, sequence, time) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (row.key, sequence, await db.now()),
    )
    return added > 0


async def unpin(db: SqlConnection, row: SessionRow, sequence: int) -> bool:
    """Unpin a message. Returns whether it was pinned."""
    require_message(row, sequence)
    return await db.run("DELETE FROM pins WHERE session = ? AND sequence = ?", (row.key, sequence)) > 0


async def pins(db: SqlConnection, key: int) -> list[int]:
    """The pinned messages, in order."""
    return [
        sequence
        for (sequence,) in await db.rows("SELECT sequence FROM pins WHERE session = ? ORDER BY 1", (key,))
    ]
