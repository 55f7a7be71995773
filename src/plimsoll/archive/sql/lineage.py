"""Finds sessions by id, and the rows that a fork shares with its parents.

    parent   1 ─── 2 ─── 3 ─── 4 ─── 5
                         └ fork at 3: 4' ─── 5'       reads 1–3 of the parent, then its own

A fork copies nothing; every query about its messages goes to the sessions that wrote them.
"""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from plimsoll.archive.encoding import storable
from plimsoll.archive.owners import Owner
from plimsoll.archive.records import Session
from plimsoll.archive.sql.connection import SqlConnection
from plimsoll.errors import UnknownSession

_COLUMNS = (
    "s.key, s.id, s.title, s.model, s.engine, s.created, s.updated, s.messages, s.tokens, s.view, "
    "p.id, s.forked_at, s.state, s.owner, s.parent"
)
SELECT = f"SELECT {_COLUMNS} FROM sessions s LEFT JOIN sessions p ON p.key = s.parent AND p.state = 'active'"
NEAREST = 3  # ids that an error message names
_COMPARED = 5_000  # ids to compare for the nearest


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session with its internal key and that of its parent."""

    key: int
    session: Session
    parent: int | None


@dataclass(frozen=True, slots=True)
class Segment:
    """Messages `first` to `last` of a session are rows of the session `key`."""

    key: int
    first: int
    last: int


def row_of(values: Sequence[Any]) -> SessionRow:
    """A row of `SELECT`."""
    key, *fields, parent = values
    return SessionRow(key, Session(*fields), parent)


async def find(db: SqlConnection, id: str, owner: Owner, *, to_write: bool = False) -> SessionRow:
    """The owner's session with this id or unique prefix; `to_write` locks it against other writers."""
    return await _found(db, id, db.for_update if to_write else "", "s.owner = ?", [owner])


async def find_anywhere(db: SqlConnection, id: str) -> SessionRow:
    """The same among the sessions of all owners, for administration."""
    return await _found(db, id, "", "true", [])


async def _found(db: SqlConnection, id: str, lock: str, own: str, parameters: Sequence[str]) -> SessionRow:
    id = storable(id)
    exact = await db.row(f"{SELECT} WHERE s.id = ? AND s.state = 'active' AND {own}{lock}", (id, *parameters))
    if exact:
        return row_of(exact)
    rows = await db.rows(
        f"{SELECT} WHERE s.id >= ? AND s.id < ? AND s.state = 'active' AND {own} ORDER BY s.id DESC LIMIT ?",
        (id, id + "\U0010ffff", *parameters, NEAREST + 1),
    )
    if len(rows) == 1 and id not in ("", rows[0][1]):
        return await _found(db, rows[0][1], lock, own, parameters)
    raise UnknownSession(await _unknown(db, id, [row[1] for row in rows] if id else [], own, parameters))


async def _unknown(
    db: SqlConnection, id: str, fitting: list[str], own: str, parameters: Sequence[str]
) -> str:
    if fitting:
        named = ", ".join(fitting[:NEAREST])
        more = ", …" if len(fitting) > NEAREST else ""
        return f"Several sessions begin with {id!r}: {named}{more}. Type more of it."
    known = await db.rows(
        f"SELECT s.id FROM sessions s WHERE s.state = 'active' AND {own} ORDER BY s.updated DESC LIMIT ?",
        (*parameters, _COMPARED),
    )
    if not known:
        return f"There is no session {id!r}; the archive is still empty."
    ids = [known_id for (known_id,) in known]
    # Users remember the words of an id, not the time.
    near = [known_id for known_id in ids if id and id.lower() in known_id] or difflib.get_close_matches(
        id, ids, NEAREST, 0.5
    )
    hint = f"Nearest: {', '.join(near[:NEAREST])}." if near else f"The newest is {ids[0]}."
    return f"There is no session {id!r}. {hint} `plimsoll sessions list` shows all."


async def segments(db: SqlConnection, row: SessionRow) -> list[Segment]:
    """The sessions that store a session's messages, oldest first."""
    upwards: list[Segment] = []
    key, forked_at, parent = row.key, row.session.forked_at, row.parent
    last = row.session.messages
    while True:
        if last > forked_at:
            upwards.append(Segment(key, forked_at + 1, last))
        if parent is None:
            return upwards[::-1]
        last = min(last, forked_at)
        key = parent
        forked_at, parent = await db.only("SELECT forked_at, parent FROM sessions WHERE key = ?", (key,))


def clipped(whole: list[Segment], first: int, last: int) -> Iterator[Segment]:
    """The parts of the segments between two messages."""
    for segment in whole:
        start, end = max(first, segment.first), min(last, segment.last)
        if start <= end:
            yield Segment(segment.key, start, end)
