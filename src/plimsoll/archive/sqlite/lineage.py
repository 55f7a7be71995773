"""Sessions by their id, and whose rows a session's messages are.

    parent   1 ─── 2 ─── 3 ─── 4 ─── 5
                         └ fork at 3: 4' ─── 5'       reads 1–3 of the parent, then its own

A fork copies nothing; every question about its messages is asked of the sessions
that wrote them.
"""

import difflib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from plimsoll.archive.records import Session
from plimsoll.errors import UnknownSession

_COLUMNS = (
    "s.key, s.id, s.title, s.model, s.engine, s.created, s.updated, s.messages, s.tokens, s.view, "
    "p.id, s.forked_at, s.state, s.parent"
)
SELECT = f"SELECT {_COLUMNS} FROM sessions s LEFT JOIN sessions p ON p.key = s.parent AND p.state = 'active'"
NEAREST = 3
_COMPARED = 5_000  # ids that are compared to find the nearest


@dataclass(frozen=True, slots=True)
class Row:
    """A session with the keys that stand for it and its parent inside of the file."""

    key: int
    session: Session
    parent: int | None


@dataclass(frozen=True, slots=True)
class Segment:
    """Messages `first` to `last` of a session are rows of the session `key`."""

    key: int
    first: int
    last: int


def row_of(values: tuple[object, ...]) -> Row:
    """A row of `SELECT`."""
    key, *fields, parent = values
    return Row(key, Session(*fields), parent)  # type: ignore[arg-type]


def find(db: sqlite3.Connection, id: str) -> Row:
    """The session of this id, or of this unique beginning of one."""
    exact = db.execute(f"{SELECT} WHERE s.id = ? AND s.state = 'active'", (id,)).fetchone()
    if exact:
        return row_of(exact)
    rows = db.execute(
        f"{SELECT} WHERE s.id >= ? AND s.id < ? AND s.state = 'active' ORDER BY s.id DESC LIMIT ?",
        (id, id + "\U0010ffff", NEAREST + 1),
    ).fetchall()
    if len(rows) == 1 and id:
        return row_of(rows[0])
    raise UnknownSession(_unknown(db, id, [row[1] for row in rows] if id else []))


def _unknown(db: sqlite3.Connection, id: str, fitting: list[str]) -> str:
    if fitting:
        named = ", ".join(fitting[:NEAREST])
        more = ", …" if len(fitting) > NEAREST else ""
        return f"Several sessions begin with {id!r}: {named}{more}. Type more of it."
    known = db.execute(
        "SELECT id FROM sessions WHERE state = 'active' ORDER BY updated DESC LIMIT ?", (_COMPARED,)
    ).fetchall()
    if not known:
        return f"There is no session {id!r}; the archive holds none yet."
    ids = [one for (one,) in known]
    # People remember the words of an id, not the moment.
    near = [one for one in ids if id and id.lower() in one] or difflib.get_close_matches(
        id, ids, NEAREST, 0.5
    )
    hint = f"Nearest: {', '.join(near[:NEAREST])}." if near else f"The newest is {ids[0]}."
    return f"There is no session {id!r}. {hint} `plimsoll sessions list` shows all."


def segments(db: sqlite3.Connection, row: Row) -> list[Segment]:
    """Whose rows the messages of a session are, the oldest first."""
    return list(_upwards(db, row))[::-1]


def _upwards(db: sqlite3.Connection, row: Row) -> Iterator[Segment]:
    key, forked_at, parent = row.key, row.session.forked_at, row.parent
    last = row.session.messages
    while True:
        if last > forked_at:
            yield Segment(key, forked_at + 1, last)
        if parent is None:
            return
        last = min(last, forked_at)
        key = parent
        forked_at, parent = db.execute(
            "SELECT forked_at, parent FROM sessions WHERE key = ?", (key,)
        ).fetchone()


def clipped(whole: list[Segment], first: int, last: int) -> Iterator[Segment]:
    """The parts of the segments that lie between two messages."""
    for segment in whole:
        start, end = max(first, segment.first), min(last, segment.last)
        if start <= end:
            yield Segment(segment.key, start, end)
