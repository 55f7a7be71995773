"""Access keys of the gateway, their limits and their usage, shared by all processes.

    plim-4f9c2a71-Zk3…   a public id, and a secret of which only a digest is stored

    reserve_requests ──► a share of this minute's requests for one process
    reserve          ──► room in today's limits for requests that a process is about to make
    settle           ──► today's usage and remaining reservations
    snapshot         ──► everything at once, for a process's cache

Minutes and days use the store's clock in UTC. All processes together never reserve more requests than the
key's limit per minute. A reservation is granted while usage plus reservations are below the limit,
so all processes together exceed it by at most one request. Reservations of a crashed process
expire.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

MINUTE = 60
DAY = 86_400


@dataclass(frozen=True, slots=True)
class KeyLimits:
    """A key's limits; None: unlimited."""

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
    reads: str | None = (
        None  # of a read-only key: the owner whose sessions it reads; None: it reads and writes its own
    )


@dataclass(frozen=True, slots=True)
class KeyUsage:
    """What a key has used. Input (cached or not) and output tokens count the same."""

    requests: int = 0
    tokens: int = 0
    money: float = 0.0

    def plus(self, other: "KeyUsage") -> "KeyUsage":
        return KeyUsage(self.requests + other.requests, self.tokens + other.tokens, self.money + other.money)

    def minus(self, other: "KeyUsage") -> "KeyUsage":
        return KeyUsage(self.requests - other.requests, self.tokens - other.tokens, self.money - other.money)


@dataclass(frozen=True, slots=True)
class KeySnapshot:
    """All keys, including revoked ones, and what each has used today."""

    now: float
    keys: tuple[AccessKey, ...]
    today: Mapping[str, KeyUsage]


@dataclass(frozen=True, slots=True)
class RequestShare:
    """Requests that one process may admit in the minute that began at `start`."""

    requests: int
    start: int
    now: float


@dataclass(frozen=True, slots=True)
class UsageSettlement:
    """What one process has used with a key since its last settlement, and what it still has reserved."""

    key: str
    spent: KeyUsage = field(default_factory=KeyUsage)
    held: KeyUsage = field(default_factory=KeyUsage)


@dataclass(frozen=True, slots=True)
class ReservationRequest:
    """A reservation that a process asks for: what the next request may use, and all requests that wait."""

    need: KeyUsage
    wanted: KeyUsage


@dataclass(frozen=True, slots=True)
class Reservation:
    """The granted addition to the reservation (None: nothing), and what the key has used today."""

    granted: KeyUsage | None
    used: KeyUsage
    now: float


class KeyStore(ABC):
    """The keys of an archive."""

    @abstractmethod
    async def add(
        self, id: str, name: str, digest: bytes, limits: KeyLimits, *, reads: str | None = None
    ) -> AccessKey:
        """Create a key, or a read-only one for the sessions of another owner.

        Raises `UserError` if a valid key has this name.
        """

    @abstractmethod
    async def renew(self, name: str, digest: bytes) -> AccessKey:
        """Replace the secret of the valid key with this name; its sessions stay."""

    @abstractmethod
    async def revoke(self, name: str) -> AccessKey:
        """Revoke the valid key with this name; raises `UserError` if there is none."""

    @abstractmethod
    async def snapshot(self) -> KeySnapshot:
        """All keys and usage in one query."""

    @abstractmethod
    async def reserve_requests(self, id: str, limit: int, part: int) -> RequestShare:
        """Reserve one `part`th of the requests left of this minute's `limit`, at least one if any are left."""

    @abstractmethod
    async def settle(self, holder: str, settlements: Sequence[UsageSettlement], lease: float) -> None:
        """Add usage to today's sums, and replace the reservations of the process `holder`.

        A reservation expires if it is not settled again within `lease` seconds.
        """

    @abstractmethod
    async def reserve(
        self,
        holder: str,
        settlement: UsageSettlement,
        request: ReservationRequest,
        limits: KeyLimits,
        part: int,
        lease: float,
    ) -> Reservation:
        """Settle, then reserve the request while usage plus reservations are below every limit.

        Grants what the next request needs, and what all waiting requests want or one `part`th of the rest, if
        there is room.
        """
