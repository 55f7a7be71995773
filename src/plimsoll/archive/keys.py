"""Who may use a gateway: access keys, their limits, and what each has used, shared by every process.

    plim-4f9c2a71-Zk3…   id in the clear, which names the key; a secret, of which only a digest is kept

    set_aside ──► a share of this minute's requests, which one process then gives out by itself
    spend     ──► what replies have used today, added up
    book      ──► all of it in one look, for a process to keep for a moment

Minutes and days are those of the store's clock, in UTC. What all processes together set aside
in a minute is never more than the key's limit.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

MINUTE = 60
DAY = 86_400


@dataclass(frozen=True, slots=True)
class KeyLimits:
    """How much a key may use; None: as much as it likes."""

    requests_per_minute: int | None = None
    tokens_per_day: int | None = None
    money_per_day: float | None = None  # USD


@dataclass(frozen=True, slots=True)
class AccessKey:
    """A key without its secret."""

    id: str
    name: str
    digest: bytes = field(repr=False)
    limits: KeyLimits
    created: float
    revoked: float | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """What a key has used. Input, cached or not, and output count as tokens alike."""

    requests: int = 0
    tokens: int = 0
    money: float = 0.0

    def plus(self, other: "Spent") -> "Spent":
        return Spent(self.requests + other.requests, self.tokens + other.tokens, self.money + other.money)


@dataclass(frozen=True, slots=True)
class KeyBook:
    """All keys, revoked ones too, and what each has used today."""

    now: float
    keys: tuple[AccessKey, ...]
    today: Mapping[str, Spent]


@dataclass(frozen=True, slots=True)
class Share:
    """Requests that one process may let through in the minute that began at `start`."""

    requests: int
    start: int
    now: float


class KeyStore(ABC):
    """The keys of an archive."""

    @abstractmethod
    async def add(self, id: str, name: str, digest: bytes, limits: KeyLimits) -> AccessKey:
        """A new key; `UserError` where one that holds has this name."""

    @abstractmethod
    async def renew(self, name: str, digest: bytes) -> AccessKey:
        """Another secret for the key that holds under this name; what it owns stays its own."""

    @abstractmethod
    async def revoke(self, name: str) -> AccessKey:
        """End the key that holds under this name; `UserError` where there is none."""

    @abstractmethod
    async def book(self) -> KeyBook:
        """Everything, in one look."""

    @abstractmethod
    async def set_aside(self, id: str, most: int, part: int) -> Share:
        """One `part`th of what is left of this minute's `most` requests, at least one; none where none is left."""

    @abstractmethod
    async def spend(self, entries: Sequence[tuple[str, Spent]]) -> None:
        """Add what keys have used to today's sums."""
