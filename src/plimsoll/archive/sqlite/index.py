"""Search in SQLite: one FTS5 table of words and one of trigrams.

CROSS JOIN makes the index the outer loop: it returns rows in order, so nothing is sorted and a full
page ends the query.
"""

from collections.abc import Sequence

from plimsoll.archive.encoding import spaced, storable
from plimsoll.archive.owners import Owner
from plimsoll.archive.query import SearchQuery, gram_expression, word_expression
from plimsoll.archive.sql.connection import SqlConnection
from plimsoll.archive.sql.index import FIELDS, RANKED, Index, Scope, Statement, literals

# Below this many rows of an owner, each is looked up, at about 10 µs; scanning a common word of all owners costs
# about 2 µs for each message of the archive.
SMALL_SCOPE = 2_000


class SqliteIndex(Index):
    """Words and trigrams of every message; the text itself is only in the log."""

    unfindable = "SELECT (SELECT count(*) FROM messages) - (SELECT count(*) FROM words_docsize)"
    lost = "SELECT id, body FROM messages WHERE id NOT IN (SELECT id FROM words_docsize) ORDER BY id"

    async def add(self, db: SqlConnection, ids: Sequence[int], texts: Sequence[str]) -> None:
        for id, text in zip(ids, map(storable, texts), strict=True):
            await db.run("INSERT INTO words (rowid, text) VALUES (?, ?)", (id, spaced(text)))
            await db.run("INSERT INTO grams (rowid, text) VALUES (?, ?)", (id, text))

    async def forget(self, db: SqlConnection, key: int, above: int) -> None:
        for table, text in (("words", "spaced_text"), ("grams", "plain_text")):
            await db.run(
                f"INSERT INTO {table} ({table}, rowid, text) SELECT 'delete', id, {text} (body) FROM messages "
                "WHERE session = ? AND sequence > ?",
                (key, above),
            )

    async def range(self, db: SqlConnection, owner: Owner, query: SearchQuery) -> tuple[int, int]:
        """Times never decrease in the log and one process writes at a time, so a time range is a row range."""
        low = await _end(db, "min", owner)
        high = await _end(db, "max", owner)
        if query.since is not None:
            found = await db.row(
                "SELECT id FROM messages WHERE time >= ? ORDER BY time, id LIMIT 1", (query.since,)
            )
            low = max(low, found[0]) if found else high + 1
        if query.before is not None:
            found = await db.row(
                "SELECT id FROM messages WHERE time < ? ORDER BY time DESC, id DESC LIMIT 1", (query.before,)
            )
            high = min(high, found[0]) if found else 0
        return low, high

    async def is_small(self, db: SqlConnection, owner: Owner, low: int, high: int) -> bool:
        statement = (
            "SELECT count(*) FROM (SELECT 1 FROM messages WHERE owner = ? AND id BETWEEN ? AND ? LIMIT ?)"
        )
        (count,) = await db.only(statement, (owner, low, high, SMALL_SCOPE + 1))
        return bool(count <= SMALL_SCOPE)

    def candidates(self, scope: Scope, by_words: bool) -> Statement:
        condition, values = scope.condition()
        if by_words:
            table, expression = "words", word_expression(scope.query.text)
        else:
            # Trigram queries cannot start from given rows, so a few rows are read directly.
            pieces = None if scope.is_small else gram_expression(literals(scope.query))
            table, expression = "grams", pieces or ""
        if not expression:
            return (
                f"SELECT {FIELDS}, m.body FROM messages m WHERE m.id BETWEEN ? AND ?{condition} "
                f"ORDER BY m.id {scope.direction}",
                [scope.low, scope.high, *values],
            )
        if scope.is_small:  # a common word must not scan all owners' messages
            return (
                f"SELECT {FIELDS}, m.body FROM messages m CROSS JOIN {table} ON {table}.rowid = m.id "
                f"WHERE {table} MATCH ? AND m.id BETWEEN ? AND ?{condition} ORDER BY m.id {scope.direction}",
                [expression, scope.low, scope.high, *values],
            )
        return (
            f"SELECT {FIELDS}, m.body FROM {table} CROSS JOIN messages m ON m.id = {table}.rowid "
            f"WHERE {table} MATCH ? AND {table}.rowid BETWEEN ? AND ?{condition} "
            f"ORDER BY {table}.rowid {scope.direction}",
            [expression, scope.low, scope.high, *values],
        )

    def ranked(self, scope: Scope, skipped: int) -> Statement:
        condition, values = scope.condition()
        return (
            "SELECT id, session, sequence, role, time, body FROM ("
            f"SELECT {FIELDS}, m.body, bm25(words) AS score FROM words "
            "CROSS JOIN messages m ON m.id = words.rowid "
            f"WHERE words MATCH ? AND words.rowid BETWEEN ? AND ?{condition} "
            "ORDER BY words.rowid DESC LIMIT ?) ORDER BY score, id DESC LIMIT -1 OFFSET ?",
            [word_expression(scope.query.text), scope.low, scope.high, *values, RANKED, skipped],
        )


async def _end(db: SqlConnection, end: str, owner: Owner) -> int:
    """The first or last row of an owner. Queried separately, so that SQLite reads one row each."""
    (id,) = await db.only(f"SELECT coalesce({end}(id), 0) FROM messages WHERE owner = ?", (owner,))
    return int(id)
