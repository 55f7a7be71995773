"""The log: appending to it, reading it, pins. Every function runs inside of a transaction."""

import json
import sqlite3
from collections.abc import Iterator, Sequence

from plimsoll.archive.encoding import Encoded, spaced, storable
from plimsoll.archive.records import Appended, StoredMessage
from plimsoll.archive.sqlite.lineage import Row, Segment, clipped, find, segments
from plimsoll.errors import Conflict, UserError
from plimsoll.messages import HANDLE_DIGITS

_INSERT = (
    "INSERT INTO messages (session, sequence, role, tokens, total, time, digest, handle, body) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_FIELDS = "m.sequence, m.body, m.tokens, m.time, m.digest, m.handle"


def append(
    db: sqlite3.Connection, row: Row, new: Sequence[Encoded], turn: str, after: int | None, now: float
) -> Appended:
    """Add what of the turn is not stored yet. See `Archive.append`."""
    known = _turn(db, row, turn)
    if known is None:
        _require_end(row, after)
        if not new:
            return Appended(row.session.messages + 1, row.session.messages, 0)
        last = _insert(db, row, new, now)
        first = row.session.messages + 1
        db.execute("INSERT INTO turns VALUES (?, ?, ?, ?)", (row.key, turn, first, last))
        return Appended(first, last, len(new))
    first, last = known
    stored = _digests(db, row, first, last)
    if any(a != b.digest for a, b in zip(stored, new, strict=False)) or after not in (None, first - 1):
        raise Conflict(
            f"Turn {turn!r} of session {row.session.id} is stored as messages {first} to {last} and differs "
            "from what was to be saved under its name."
        )
    rest = new[len(stored) :]
    if not rest:
        return Appended(first, last, 0)
    if last != row.session.messages:
        raise Conflict(
            f"Turn {turn!r} of session {row.session.id} ends at message {last}, but the log goes on to "
            f"{row.session.messages}: nothing can be added to the turn."
        )
    last = _insert(db, row, rest, now)
    db.execute("INSERT OR REPLACE INTO turns VALUES (?, ?, ?, ?)", (row.key, turn, first, last))
    return Appended(first, last, len(rest))


def _turn(db: sqlite3.Connection, row: Row, turn: str) -> tuple[int, int] | None:
    """Where a turn is stored, by this session or by the one that it was forked from."""
    for segment in reversed([*segments(db, row), Segment(row.key, 1, row.session.messages)]):
        found: tuple[int, int] | None = db.execute(
            "SELECT first, last FROM turns WHERE session = ? AND turn = ? AND last <= ?",
            (segment.key, turn, segment.last),
        ).fetchone()
        if found:
            return found
    return None


def _require_end(row: Row, after: int | None) -> None:
    if after is not None and after != row.session.messages:
        raise Conflict(
            f"Session {row.session.id} was expected to end at message {after}; it ends at "
            f"{row.session.messages}, because somebody else wrote to it. Read it again."
        )


def _digests(db: sqlite3.Connection, row: Row, first: int, last: int) -> list[bytes]:
    return [
        digest
        for segment in clipped(segments(db, row), first, last)
        for (digest,) in db.execute(
            "SELECT digest FROM messages WHERE session = ? AND sequence BETWEEN ? AND ? ORDER BY sequence",
            (segment.key, segment.first, segment.last),
        )
    ]


def _insert(db: sqlite3.Connection, row: Row, new: Sequence[Encoded], now: float) -> int:
    """Store messages behind the newest one, and make them findable."""
    sequence, total = row.session.messages, row.session.tokens
    newest = db.execute("SELECT time FROM messages ORDER BY id DESC LIMIT 1").fetchone()
    # Time does not run backwards in the log, whatever a clock does: search finds its place by it.
    time = max(now, newest[0] if newest else 0.0)
    for one in new:
        sequence += 1
        total += one.tokens
        values = (
            row.key, sequence, one.role, one.tokens, total, time, one.digest, one.handle, one.body
        )  # fmt: skip
        id = db.execute(_INSERT, values).lastrowid
        text = storable(one.text)
        db.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (id, spaced(text)))
        db.execute("INSERT INTO grams (rowid, text) VALUES (?, ?)", (id, text))
    db.execute(
        "UPDATE sessions SET messages = ?, tokens = ?, updated = max(updated, ?) WHERE key = ?",
        (sequence, total, now, row.key),
    )
    return sequence


def messages(db: sqlite3.Connection, row: Row, first: int, last: int) -> list[StoredMessage]:
    """Messages `first` to `last`, wherever they are stored."""
    return [
        stored
        for segment in clipped(segments(db, row), first, last)
        for stored in _in_segment(db, row.session.id, segment)
    ]


def _in_segment(db: sqlite3.Connection, id: str, segment: Segment) -> Iterator[StoredMessage]:
    rows = db.execute(
        f"SELECT {_FIELDS} FROM messages m WHERE session = ? AND sequence BETWEEN ? AND ? ORDER BY sequence",
        (segment.key, segment.first, segment.last),
    )
    return (stored_message(id, *values) for values in rows)


def stored_message(
    id: str, sequence: int, body: str, tokens: int, time: float, digest: bytes, handle: str
) -> StoredMessage:
    """A row of the log as a value."""
    return StoredMessage(id, sequence, json.loads(body), tokens, time, digest.hex(), f"h:{handle}")


def require_message(row: Row, sequence: int) -> None:
    """Refuse a number that is no message of the session."""
    if not 1 <= sequence <= row.session.messages:
        raise UserError(
            f"Session {row.session.id} has messages 1 to {row.session.messages}; there is no message {sequence}."
        )


def find_by_handle(db: sqlite3.Connection, id: str | None, handle: str, limit: int) -> list[StoredMessage]:
    """Messages whose content has a handle that begins so, one for each handle."""
    wanted = handle.strip().lower().removeprefix("h:")
    if not wanted or len(wanted) > HANDLE_DIGITS or set(wanted) - set("0123456789abcdef"):
        raise UserError(f"{handle!r} is no handle; one looks like h:3f2a9c1b7d.")
    scope = segments(db, find(db, id)) if id else None
    rows = db.execute(
        f"SELECT m.session, s.id, s.state, {_FIELDS} FROM messages m JOIN sessions s ON s.key = m.session "
        "WHERE handle >= ? AND handle < ? ORDER BY m.handle, m.id",
        (wanted, wanted + "g"),
    )
    found: dict[str, StoredMessage] = {}
    for key, owner, state, *fields in rows:
        sequence = fields[0]
        if scope is not None and not any(s.key == key and s.first <= sequence <= s.last for s in scope):
            continue
        name = id if scope is not None and id else reader_of(db, key, owner, state, sequence)
        found.setdefault(fields[-1], stored_message(name, *fields))
        if len(found) == limit:
            break
    return list(found.values())


def reader_of(db: sqlite3.Connection, key: int, id: str, state: str, sequence: int) -> str:
    """The session under which a person finds a message: its own, or a fork where its own was deleted."""
    while state != "active":
        found = db.execute(
            "SELECT key, id, state FROM sessions WHERE parent = ? AND forked_at >= ? ORDER BY state LIMIT 1",
            (key, sequence),
        ).fetchone()
        if found is None:
            return id
        key, id, state = found
    return id


def pin(db: sqlite3.Connection, row: Row, sequence: int, now: float) -> None:
    """Mark a message as one that stays."""
    require_message(row, sequence)
    db.execute("INSERT OR IGNORE INTO pins VALUES (?, ?, ?)", (row.key, sequence, now))


def unpin(db: sqlite3.Connection, row: Row, sequence: int) -> None:
    """Take the mark away."""
    require_message(row, sequence)
    db.execute("DELETE FROM pins WHERE session = ? AND sequence = ?", (row.key, sequence))


def pins(db: sqlite3.Connection, key: int) -> list[int]:
    """The marked messages, in order."""
    return [one for (one,) in db.execute("SELECT sequence FROM pins WHERE session = ? ORDER BY 1", (key,))]
