"""Search over the log: an index names candidates, the message itself decides.

    words       the index of words alone
    substring   three-character pieces ──► candidates ──► the text is looked at
    regex       pieces of its literals ──► candidates ──► the pattern is tried

Newest first costs only as much as the page: candidates come in the order of the log and
are read until the page is full. A session and a time are turned into a range of rows
beforehand, so that an index never walks over what cannot fit.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from plimsoll.archive.encoding import searchable
from plimsoll.archive.query import (
    SearchHit,
    SearchPage,
    SearchQuery,
    gram_expression,
    has_words,
    literals_of,
    terms_of,
    word_expression,
)
from plimsoll.archive.snippet import Matcher, hit, marker_for, matcher_for
from plimsoll.archive.sqlite.lineage import Segment, clipped, find, segments
from plimsoll.archive.sqlite.log import reader_of

Monotonic = Callable[[], float]
_RANKED = 5_000  # the newest matches among which the most relevant are found
_FIELDS = "m.id, m.session, m.sequence, m.role, m.time, m.body"


@dataclass(frozen=True, slots=True)
class _Scope:
    """Which rows may be hits: a range of row ids, whose messages, and which role."""

    low: int
    high: int
    segments: tuple[Segment, ...] | None
    role: str | None

    def condition(self) -> tuple[str, list[object]]:
        """The same as SQL for a message `m`, the range of row ids left out."""
        parts: list[str] = []
        values: list[object] = []
        if self.segments is not None:
            each = ["(m.session = ? AND m.sequence BETWEEN ? AND ?)" for _ in self.segments]
            parts.append(f"({' OR '.join(each)})")
            values += [value for s in self.segments for value in (s.key, s.first, s.last)]
        if self.role:
            parts.append("m.role = ?")
            values.append(self.role)
        return "".join(f" AND {part}" for part in parts), values


def search(db: sqlite3.Connection, query: SearchQuery, monotonic: Monotonic) -> SearchPage:
    """One page of hits."""
    started = monotonic()
    scope = _scope(db, query)
    if scope is None:
        return SearchPage(())
    by_words = query.mode == "words" and has_words(query.text)
    if by_words and query.order == "relevance":
        return _most_relevant(db, query, scope)
    matcher = marker_for(query) if by_words else matcher_for(query)
    rows = db.execute(*_candidates(query, scope, by_words))
    hits: list[SearchHit] = []
    seen: int | None = None
    for id, key, sequence, role, time, body in rows:
        left = query.deadline - (monotonic() - started)
        if left <= 0:
            return SearchPage(tuple(hits), seen, complete=False)
        text = searchable(json.loads(body))
        places = _places(matcher, text, left)
        if places is None:
            # This one message takes too long by itself; the next page goes on behind it.
            return SearchPage(tuple(hits), id, complete=False)
        seen = id
        if not places and not by_words:
            continue
        hits.append(hit(_name(db, query, key, sequence), sequence, role, time, text, places))
        if len(hits) == query.limit:
            # Whether there are more is not looked for: with a rare text that could mean the whole archive.
            return SearchPage(tuple(hits), id)
    return SearchPage(tuple(hits))


def _places(matcher: Matcher, text: str, seconds: float) -> list[tuple[int, int]] | None:
    """Where a text fits; None where telling takes longer than there is time."""
    try:
        return matcher(text, seconds)
    except TimeoutError:
        return None


def _scope(db: sqlite3.Connection, query: SearchQuery) -> _Scope | None:
    """The rows that may be hits; None where there can be none."""
    low, high = _time_range(db, query)
    parts: tuple[Segment, ...] | None = None
    if query.session is not None:
        row = find(db, query.session)
        last = row.session.messages if query.last is None else query.last
        parts = tuple(clipped(segments(db, row), query.first or 1, last))
        if not parts:
            return None
        ends = [id for part in parts for id in _row_ids(db, part)]
        low, high = max(low, min(ends)), min(high, max(ends))
    if query.cursor is not None and query.order == "newest":
        high = min(high, query.cursor - 1)
    if query.cursor is not None and query.order == "oldest":
        low = max(low, query.cursor + 1)
    return _Scope(low, high, parts, query.role) if low <= high else None


def _time_range(db: sqlite3.Connection, query: SearchQuery) -> tuple[int, int]:
    """The row ids that lie between two moments. Times never run backwards in the log, so they are one range."""
    low, high = 1, db.execute("SELECT coalesce(max(id), 0) FROM messages").fetchone()[0]
    if query.since is not None:
        found = db.execute(
            "SELECT id FROM messages WHERE time >= ? ORDER BY time, id LIMIT 1", (query.since,)
        ).fetchone()
        low = found[0] if found else high + 1
    if query.before is not None:
        found = db.execute(
            "SELECT id FROM messages WHERE time < ? ORDER BY time DESC, id DESC LIMIT 1", (query.before,)
        ).fetchone()
        high = found[0] if found else 0
    return low, high


def _row_ids(db: sqlite3.Connection, part: Segment) -> Iterator[int]:
    for sequence in (part.first, part.last):
        (id,) = db.execute(
            "SELECT id FROM messages WHERE session = ? AND sequence = ?", (part.key, sequence)
        ).fetchone()
        yield id


def _candidates(query: SearchQuery, scope: _Scope, by_words: bool) -> tuple[str, list[object]]:
    """The rows to look at, in the order of the page."""
    direction = "ASC" if query.order == "oldest" else "DESC"
    condition, values = scope.condition()
    if by_words:
        table, expression = "words", word_expression(query.text)
    else:
        table, expression = "grams", gram_expression(_literals(query)) or ""
    if not expression:
        return (
            f"SELECT {_FIELDS} FROM messages m WHERE m.id BETWEEN ? AND ?{condition} ORDER BY m.id {direction}",
            [scope.low, scope.high, *values],
        )
    # CROSS JOIN: the index leads and gives its rows in order, so nothing is sorted and the page ends the work.
    return (
        f"SELECT {_FIELDS} FROM {table} CROSS JOIN messages m ON m.id = {table}.rowid WHERE {table} MATCH ? "
        f"AND {table}.rowid BETWEEN ? AND ?{condition} ORDER BY {table}.rowid {direction}",
        [expression, scope.low, scope.high, *values],
    )


def _literals(query: SearchQuery) -> list[str]:
    if query.mode == "regex":
        return literals_of(query.text)
    if query.mode == "substring":
        return [query.text]
    return [term.text for term in terms_of(query.text)]


def _most_relevant(db: sqlite3.Connection, query: SearchQuery, scope: _Scope) -> SearchPage:
    """The best of the newest matches; the cursor is the number of hits shown before."""
    condition, values = scope.condition()
    skipped = query.cursor or 0
    rows = db.execute(
        "SELECT id, session, sequence, role, time, body FROM ("
        f"SELECT {_FIELDS}, bm25(words) AS score FROM words CROSS JOIN messages m ON m.id = words.rowid "
        f"WHERE words MATCH ? AND words.rowid BETWEEN ? AND ?{condition} ORDER BY words.rowid DESC LIMIT ?) "
        "ORDER BY score, id DESC LIMIT ? OFFSET ?",
        [word_expression(query.text), scope.low, scope.high, *values, _RANKED, query.limit + 1, skipped],
    ).fetchall()
    marker = marker_for(query)
    hits = []
    for _, key, sequence, role, time, body in rows[: query.limit]:
        text = searchable(json.loads(body))
        places = _places(marker, text, query.deadline) or []
        hits.append(hit(_name(db, query, key, sequence), sequence, role, time, text, places))
    return SearchPage(tuple(hits), skipped + query.limit if len(rows) > query.limit else None)


def _name(db: sqlite3.Connection, query: SearchQuery, key: int, sequence: int) -> str:
    if query.session is not None:
        return find(db, query.session).session.id
    id, state = db.execute("SELECT id, state FROM sessions WHERE key = ?", (key,)).fetchone()
    return reader_of(db, key, id, state, sequence)
