"""Search in PostgreSQL: a text-search vector and the case-folded text of each message.

With the extension pg_trgm an index finds substrings. Without it, rows are scanned in the order of the page, and a row
that cannot match comes without its body, so that little is sent and a search that times out knows how far it got.
"""

from collections.abc import Callable, Sequence

from plimsoll.archive.owners import Owner
from plimsoll.archive.postgres.words import expression_of, folded, like, phrases_in, vector_of
from plimsoll.archive.query import SearchQuery
from plimsoll.archive.sql.connection import SqlConnection
from plimsoll.archive.sql.index import FIELDS, RANKED, Index, Scope, Statement, literals

_FROM = "FROM texts t JOIN messages m ON m.id = t.id"
# Rows without a vector may contain any words.
_WORDS = "(t.words @@ CAST(? AS tsquery) OR t.words IS NULL) AND t.id BETWEEN ? AND ?"
_BY_LENGTH = 1  # ranking option: long texts rank lower


class PostgresIndex(Index):
    """`has_grams` says whether the database has an index of three-character pieces."""

    unfindable = "SELECT (SELECT count(*) FROM messages) - (SELECT count(*) FROM texts)"
    lost = "SELECT id, body FROM messages WHERE id NOT IN (SELECT id FROM texts) ORDER BY id"

    def __init__(self, has_grams: bool) -> None:
        self.has_grams = has_grams

    async def add(self, db: SqlConnection, ids: Sequence[int], texts: Sequence[str]) -> None:
        def values() -> list[tuple[int, str | None, str]]:
            return [(id, vector_of(text), folded(text)) for id, text in zip(ids, texts, strict=True)]

        statement = "INSERT INTO texts (id, words, folded) VALUES (?, CAST(? AS tsvector), ?)"
        await db.insert(statement, await db.compute(values))

    async def forget(self, db: SqlConnection, key: int, above: int) -> None:
        await db.run(
            "DELETE FROM texts WHERE id IN (SELECT id FROM messages WHERE session = ? AND sequence > ?)",
            (key, above),
        )

    async def range(self, db: SqlConnection, owner: Owner, query: SearchQuery) -> tuple[int, int]:
        """Concurrent writers make row times unordered, so only the first and newest row are known."""
        low, high = await db.only(
            "SELECT coalesce(min(id), 0), coalesce(max(id), 0) FROM messages WHERE owner = ?", (owner,)
        )
        return low, high

    def candidates(self, scope: Scope, by_words: bool) -> Statement:
        condition, values = scope.condition()
        order = f"ORDER BY t.id {scope.direction}"
        if by_words:
            expression = expression_of(scope.query.text)
            return (
                f"SELECT {FIELDS}, m.body {_FROM} WHERE {_WORDS}{condition} {order}",
                [expression, scope.low, scope.high, *values],
            )
        patterns: list[object] = [like(literal) for literal in literals(scope.query)]
        contained = " AND ".join(["t.folded LIKE ?"] * len(patterns)) or "true"
        if self.has_grams:
            return (
                f"SELECT {FIELDS}, m.body {_FROM} WHERE {contained} AND t.id BETWEEN ? AND ?{condition} {order}",
                [*patterns, scope.low, scope.high, *values],
            )
        return (
            f"SELECT {FIELDS}, CASE WHEN {contained} THEN m.body END {_FROM} "
            f"WHERE t.id BETWEEN ? AND ?{condition} {order}",
            [*patterns, scope.low, scope.high, *values],
        )

    def ranked(self, scope: Scope, skipped: int) -> Statement:
        condition, values = scope.condition()
        expression = expression_of(scope.query.text)
        score = f"coalesce(ts_rank(t.words, CAST(? AS tsquery), {_BY_LENGTH}), 0)"
        return (
            "SELECT id, session, sequence, role, time, body FROM ("
            f"SELECT {FIELDS}, m.body, {score} AS score {_FROM} WHERE {_WORDS}{condition} "
            "ORDER BY t.id DESC LIMIT ?) AS newest ORDER BY score DESC, id DESC OFFSET ?",
            [expression, expression, scope.low, scope.high, *values, RANKED, skipped],
        )

    def holds_words(self, text: str) -> Callable[[str], bool]:
        return phrases_in(text)
