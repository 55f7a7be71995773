"""Search over the log: the index finds candidates, and the message itself decides.

    words       the index of words
    substring   three-character pieces ──► candidates ──► the text is checked
    regex       pieces of its literals ──► candidates ──► the pattern is matched

Newest first costs only as much as the page: candidates come in the order of the log and are read until the page is
full. A session is converted to a range of rows first, so that an index never scans rows that cannot match.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial

from plimsoll.archive.encoding import searchable
from plimsoll.archive.owners import Owner
from plimsoll.archive.query import MessagePredicate, SearchHit, SearchPage, SearchQuery, has_words
from plimsoll.archive.snippet import Matcher, Places, hit, marker_for, matcher_for
from plimsoll.archive.sql.connection import Record, SqlConnection
from plimsoll.archive.sql.index import Index, Scope, Statement
from plimsoll.archive.sql.lineage import Segment, clipped, find, segments
from plimsoll.archive.sql.log import reader_of
from plimsoll.messages import Message

Monotonic = Callable[[], float]


@dataclass(frozen=True, slots=True)
class _Match:
    """A matching message, before the id of its session is known."""

    key: int
    sequence: int
    role: str
    time: float
    text: str
    places: Places


@dataclass(slots=True)
class _CandidateReader:
    """Reads candidates until the page is full or the time is up."""

    matcher: Matcher
    holds_words: Callable[[str], bool] | None  # None: the matcher decides
    limit: int
    ends: float
    monotonic: Monotonic
    accepts: MessagePredicate | None = None
    found: list[_Match] = field(default_factory=list)
    seen: int | None = None  # the id of the last candidate read
    checked: int = 0
    is_late: bool = False

    @property
    def is_full(self) -> bool:
        return len(self.found) == self.limit

    def at(self, batch: Sequence[Record], callers: Mapping[int, Message]) -> None:
        """Check a batch; `callers` has the assistant message before each tool result, by row id."""
        for id, key, sequence, role, time, body in batch:
            if self.is_full or self.is_late:
                return
            left = self.ends - self.monotonic()
            if left <= 0:
                self.is_late = True
                return
            self.seen = id
            self.checked += 1
            if body is None:
                continue
            message = json.loads(body)
            if self.accepts is not None and not self.accepts(message, callers.get(id)):
                continue
            text = searchable(message)
            places = self._places(text, left)
            if places is not None:
                self.found.append(_Match(key, sequence, role, time, text, places))

    def _places(self, text: str, left: float) -> Places | None:
        """The positions to mark in a matching text; None if it does not match."""
        if self.holds_words is not None and not self.holds_words(text):
            return None
        try:
            places = self.matcher(text, left)
        except TimeoutError:
            # This one message takes too long; the next page continues after it.
            self.is_late = True
            return None
        return places if places or self.holds_words is not None else None


async def search(
    db: SqlConnection, index: Index, owner: Owner, query: SearchQuery, monotonic: Monotonic
) -> SearchPage:
    """One page of hits among an owner's messages."""
    ends = monotonic() + query.deadline
    scope = await _scope(db, index, owner, query)
    if scope is None:
        return SearchPage(())
    by_words = query.mode == "words" and has_words(query.text)
    by_rank = by_words and query.order == "relevance"
    skipped = query.cursor or 0
    matcher = await db.compute(partial(marker_for if by_words else matcher_for, query))
    holds_words = index.holds_words(query.text) if by_words else None
    reader = _CandidateReader(matcher, holds_words, query.limit, ends, monotonic, query.accepts)
    statement = index.ranked(scope, skipped) if by_rank else index.candidates(scope, by_words)
    is_more = await _read_candidates(db, reader, statement, by_rank)
    hits = [await _hit(db, owner, query, match) for match in reader.found]
    following = skipped + reader.checked if by_rank else reader.seen
    return SearchPage(tuple(hits), following if is_more else None, complete=not reader.is_late)


async def _read_candidates(
    db: SqlConnection, reader: _CandidateReader, statement: Statement, by_rank: bool
) -> bool:
    """Check the rows of a statement until the page is full or the time is up. Returns whether there may be more."""
    batches = db.batches(*statement, seconds=reader.ends - reader.monotonic())
    try:
        async with aclosing(batches):
            async for batch in batches:
                before = reader.checked
                callers = await _callers(db, batch) if reader.accepts is not None else {}
                await db.compute(partial(reader.at, batch, callers))
                # Whether there are more hits is not checked: for a rare text that could scan the whole archive.
                ends_inside = reader.checked - before < len(batch)
                if reader.is_late or (reader.is_full and (ends_inside or not by_rank)):
                    return True
    except TimeoutError:
        reader.is_late = True
        return reader.seen is not None  # the next page continues after it; before the first there is none
    return False


async def _callers(db: SqlConnection, batch: Sequence[Record]) -> dict[int, Message]:
    """The assistant message before each tool result of a batch, by the id of the result's row."""
    found: dict[int, Message] = {}
    for id, key, sequence, role, _, body in batch:
        if role == "tool" and body is not None:
            row = await db.row(
                "SELECT body FROM messages WHERE session = ? AND sequence < ? AND role = 'assistant' "
                "ORDER BY sequence DESC LIMIT 1",
                (key, sequence),
            )
            if row is not None:
                found[id] = json.loads(row[0])
    return found


async def repair_index(db: SqlConnection, index: Index) -> int:
    """Add missing messages to the index. Returns how many."""
    lost = await db.rows(index.lost)
    await index.add(db, [id for id, _ in lost], [searchable(json.loads(body)) for _, body in lost])
    return len(lost)


async def _scope(db: SqlConnection, index: Index, owner: Owner, query: SearchQuery) -> Scope | None:
    """The rows that may be hits; None if there are none."""
    low, high = await index.range(db, owner, query)
    parts: tuple[Segment, ...] | None = None
    if query.session is not None:
        row = await find(db, query.session, owner)
        last = row.session.messages if query.last is None else query.last
        parts = tuple(clipped(await segments(db, row), query.first or 1, last))
        if not parts:
            return None
        ends = [id for part in parts for id in await _row_ids(db, part)]
        low, high = max(low, min(ends)), min(high, max(ends))
    if query.cursor is not None and query.order == "newest":
        high = min(high, query.cursor - 1)
    if query.cursor is not None and query.order == "oldest":
        low = max(low, query.cursor + 1)
    if low > high:
        return None
    return Scope(owner, low, high, parts, query, await index.is_small(db, owner, low, high))


async def _row_ids(db: SqlConnection, part: Segment) -> list[int]:
    """The ids of the first and the last row; a session's ids ascend."""
    statement = "SELECT id FROM messages WHERE session = ? AND sequence = ?"
    return [(await db.only(statement, (part.key, sequence)))[0] for sequence in (part.first, part.last)]


async def _hit(db: SqlConnection, owner: Owner, query: SearchQuery, found: _Match) -> SearchHit:
    if query.session is not None:
        name = (await find(db, query.session, owner)).session.id
    else:
        id, state = await db.only("SELECT id, state FROM sessions WHERE key = ?", (found.key,))
        name = await reader_of(db, found.key, id, state, found.sequence)
    return hit(name, found.sequence, found.role, found.time, found.text, found.places)
