"""The interface of text search, where databases differ most.

    text ──► add ──► the database's index ──► candidates, in the order of the page ──► the message decides

An index may return too many messages but never too few; `holds_words` checks again if a word index is not exact.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from plimsoll.archive.owners import Owner
from plimsoll.archive.query import SearchQuery, literals_of, terms_of
from plimsoll.archive.sql.connection import SqlConnection
from plimsoll.archive.sql.lineage import Segment

FIELDS = "m.id, m.session, m.sequence, m.role, m.time"  # and the body, or NULL if it cannot be a hit
RANKED = 5_000  # the newest matches among which the most relevant are found
Statement = tuple[str, list[object]]


@dataclass(frozen=True, slots=True)
class Scope:
    """Which rows may be hits: by owner, range of row ids, sessions, role and time."""

    owner: Owner
    low: int
    high: int
    segments: tuple[Segment, ...] | None
    query: SearchQuery
    is_small: bool = False  # so few rows of the owner that looking up each is faster than the shared index

    @property
    def direction(self) -> str:
        return "ASC" if self.query.order == "oldest" else "DESC"

    def condition(self) -> Statement:
        """The scope as SQL for a message `m`, without the range of row ids."""
        parts: list[str] = ["m.owner = ?"]
        values: list[object] = [self.owner]
        if self.segments is not None:
            each = ["(m.session = ? AND m.sequence BETWEEN ? AND ?)" for _ in self.segments]
            parts.append(f"({' OR '.join(each)})")
            values += [value for s in self.segments for value in (s.key, s.first, s.last)]
        limits = {"role =": self.query.role, "time >=": self.query.since, "time <": self.query.before}
        for column, value in limits.items():
            if value is not None:
                parts.append(f"m.{column} ?")
                values.append(value)
        return "".join(f" AND {part}" for part in parts), values


class Index(ABC):
    """The search index of a store."""

    unfindable: str  # a statement that counts the messages missing from the index
    lost: str  # a statement that returns their ids and bodies

    @abstractmethod
    async def add(self, db: SqlConnection, ids: Sequence[int], texts: Sequence[str]) -> None:
        """Add messages to the index."""

    @abstractmethod
    async def forget(self, db: SqlConnection, key: int, above: int) -> None:
        """Remove a session's messages above a number from the index, before they are deleted."""

    @abstractmethod
    async def range(self, db: SqlConnection, owner: Owner, query: SearchQuery) -> tuple[int, int]:
        """The range of row ids that contains all hits, if cheap to determine."""

    async def is_small(self, db: SqlConnection, owner: Owner, low: int, high: int) -> bool:
        """Whether an owner has so few rows in a range that starting from them is cheaper than from the index."""
        return False  # for a database that chooses its own plan

    @abstractmethod
    def candidates(self, scope: Scope, by_words: bool) -> Statement:
        """`FIELDS` and the body of the candidate rows, in the order of the page."""

    @abstractmethod
    def ranked(self, scope: Scope, skipped: int) -> Statement:
        """The same for the best of the newest word matches, after an offset."""

    def holds_words(self, text: str) -> Callable[[str], bool]:
        """A predicate: whether a candidate contains the query's words; by default the index is trusted."""
        return lambda _: True


def literals(query: SearchQuery) -> list[str]:
    """Literals that every hit must contain, ignoring case."""
    if query.mode == "regex":
        return literals_of(query.text)
    if query.mode == "substring":
        return [query.text]
    return [term.text for term in terms_of(query.text)]
