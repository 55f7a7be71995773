"""Whether the file and everything in it is sound, a sentence for each thing that is not."""

import sqlite3
from collections.abc import Iterator

from plimsoll.archive.sqlite import views
from plimsoll.archive.sqlite.lineage import SELECT, Row, row_of, segments
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
    "messages that search cannot find": (
        "SELECT (SELECT count(*) FROM messages) - (SELECT count(*) FROM words_docsize)"
    ),
}


def faults(db: sqlite3.Connection) -> Iterator[str]:
    """Everything that is wrong; it reads the whole file."""
    for (said,) in db.execute("PRAGMA integrity_check"):
        if said != "ok":
            yield f"SQLite says: {said}"
    for what, statement in _ORPHANS.items():
        (count,) = db.execute(statement).fetchone()
        if count:
            yield f"{count} {what}"
    for values in db.execute(f"{SELECT} WHERE s.state = 'active'").fetchall():
        row = row_of(values)
        yield from (f"session {row.session.id}: {wrong}" for wrong in _of_session(db, row))


def _of_session(db: sqlite3.Connection, row: Row) -> Iterator[str]:
    count = total = 0
    for segment in segments(db, row):
        found, tokens = db.execute(
            "SELECT count(*), total(tokens) FROM messages WHERE session = ? AND sequence BETWEEN ? AND ?",
            (segment.key, segment.first, segment.last),
        ).fetchone()
        count, total = count + found, total + int(tokens)
    if (count, total) != (row.session.messages, row.session.tokens):
        yield f"{count} messages of {total} tokens are there, {row.session.messages} of {row.session.tokens} expected"
    numbers = {
        row.session.view,
        *(n for (n,) in db.execute("SELECT id FROM views WHERE session = ?", (row.key,))),
    }
    for number in sorted(numbers):
        try:
            view = views.load(db, row, number)
        except UserError as error:
            yield str(error)
        else:
            yield from (f"view {number}: {wrong}" for wrong in views.unresolved(db, row, view))
