"""Checks the integrity of a store and describes each fault in a sentence."""

from collections.abc import AsyncIterator

from plimsoll.archive.sql import views
from plimsoll.archive.sql.connection import SqlConnection
from plimsoll.archive.sql.index import Index
from plimsoll.archive.sql.lineage import SELECT, SessionRow, row_of, segments
from plimsoll.errors import UserError

_ORPHANS = {
    "edges without their node": "SELECT count(*) FROM edges WHERE node NOT IN (SELECT id FROM nodes)",
    "edges to a missing node": (
        "SELECT count(*) FROM edges WHERE source IS NOT NULL AND source NOT IN (SELECT id FROM nodes)"
    ),
    "references without their view": (
        "SELECT count(*) FROM view_references WHERE view NOT IN (SELECT id FROM views)"
    ),
    "messages without their session": (
        "SELECT count(*) FROM messages WHERE session NOT IN (SELECT key FROM sessions)"
    ),
    "messages of another owner than their session": (
        "SELECT count(*) FROM messages m JOIN sessions s ON s.key = m.session "
        "WHERE s.owner IS NULL OR m.owner <> s.owner"
    ),
    "forks of another owner than their parent": (
        "SELECT count(*) FROM sessions s JOIN sessions p ON p.key = s.parent WHERE s.owner <> p.owner"
    ),
    "shown forms without their message": (
        "SELECT count(*) FROM shown s WHERE NOT EXISTS "
        "(SELECT 1 FROM messages m WHERE m.session = s.session AND m.sequence = s.sequence)"
    ),
}


async def faults(db: SqlConnection, index: Index) -> AsyncIterator[str]:
    """Every fault; reads the whole store."""
    for damage in await db.damage():
        yield damage
    for problem, statement in {**_ORPHANS, "messages that search cannot find": index.unfindable}.items():
        (count,) = await db.only(statement)
        if count:
            yield f"{count} {problem}"
    for values in await db.rows(f"{SELECT} WHERE s.state = 'active'"):
        row = row_of(values)
        async for wrong in _of_session(db, row):
            yield f"session {row.session.id}: {wrong}"


async def _of_session(db: SqlConnection, row: SessionRow) -> AsyncIterator[str]:
    count = total = 0
    for segment in await segments(db, row):
        found, tokens = await db.only(
            "SELECT count(*), sum(tokens) FROM messages WHERE session = ? AND sequence BETWEEN ? AND ?",
            (segment.key, segment.first, segment.last),
        )
        count, total = count + found, total + int(tokens or 0)
    if (count, total) != (row.session.messages, row.session.tokens):
        yield f"{count} messages of {total} tokens are there, {row.session.messages} of {row.session.tokens} expected"
    numbers = {
        row.session.view,
        *(n for (n,) in await db.rows("SELECT id FROM views WHERE session = ?", (row.key,))),
    }
    for number in sorted(numbers):
        try:
            view = await views.load(db, row, number)
        except UserError as error:
            yield str(error)
        else:
            async for wrong in views.unresolved(db, row, view):
                yield f"view {number}: {wrong}"
