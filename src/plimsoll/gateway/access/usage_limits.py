"""What keys have used today and what requests in progress may still use, as one process knows it.

    reserve ─► fits in what the process holds? ─► request ─► spend ─► release
                   │ no                 ▲
                   └─► the store: settle what was spent, grant room ──┘
                         └─ no room: wait while only reservations fill the limit, else refuse

A request reserves the most that it can use and later settles what it used. The store grants room while used and
reserved together are below the limit. All processes together exceed a limit by at most one request, and requests
that fit are all served: they wait for others to settle instead of being refused.
A process reserves more room than one request needs and returns what it does not use.
"""

import asyncio
import logging
import math
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from plimsoll.archive.keys import (
    DAY,
    AccessKey,
    KeyLimits,
    KeyStore,
    KeyUsage,
    Reservation,
    ReservationRequest,
    UsageSettlement,
)
from plimsoll.errors import PlimsollError, UsageLimitReached
from plimsoll.gateway.asgi import Header

WAIT_SECONDS = 300.0  # wait for other requests of the key to settle; a long stream takes minutes
WRITE_SECONDS = 0.25  # usage is written in batches
LEASE_SECONDS = 60.0  # how long the reservations of a crashed process count
RENEW_SECONDS = 15.0  # between renewals of reservations: three may fail before they expire
FIRST_POLL, LONGEST_POLL = 0.05, 0.5  # seconds between checks for what other processes have settled
LONGEST_PAUSE = 8.0  # between two attempts to write
PART = 16  # a process takes this fraction of what a limit has left
BUSY_SECONDS = 5  # Retry-After of a request that waited without getting room

log = logging.getLogger(__name__)
NO_USAGE = KeyUsage()


@dataclass(slots=True)
class _Account:
    """One key in this process."""

    held: KeyUsage = NO_USAGE  # reserved in the store for this process
    reserved: KeyUsage = NO_USAGE  # by requests in progress
    wanted: KeyUsage = NO_USAGE  # by requests that wait for room
    unwritten: KeyUsage = NO_USAGE
    writing: KeyUsage = NO_USAGE
    today: KeyUsage = NO_USAGE  # used by all processes, from the store
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)  # requests get room in order of arrival
    released: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def used(self) -> KeyUsage:
        return self.today.plus(self.writing).plus(self.unwritten)

    @property
    def is_idle(self) -> bool:
        return self.unwritten == NO_USAGE and self.held == NO_USAGE and self.reserved == NO_USAGE

    def fits(self, need: KeyUsage, limits: KeyLimits) -> bool:
        """Whether a request may be sent without asking the store."""
        total = self.reserved.plus(self.unwritten).plus(need)
        return (limits.tokens_per_day is None or total.tokens <= self.held.tokens) and (
            limits.money_per_day is None or total.money <= self.held.money
        )


class UsageAccounts:
    """The accounts of all keys in one process. `holder` identifies the process and is never reused."""

    def __init__(
        self,
        store: KeyStore,
        holder: str,
        *,
        wait: float = WAIT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._holder, self._wait = store, holder, wait
        self._clock, self._wall = clock, wall
        self._accounts: dict[str, _Account] = {}
        self._day = 0
        self._clock_offset = 0.0  # seconds by which the store's clock is ahead of this machine's
        self._renewed = clock()
        self._store_lock = asyncio.Lock()  # serializes reads and writes of sums
        self._writer: asyncio.Task[None] | None = None
        self._exchanges: set[asyncio.Task[Reservation]] = set()

    def read(self, now: float, today: Mapping[str, KeyUsage]) -> None:
        """Update the accounts from the store; `now` is its clock."""
        self._set_day(now)
        for id, spent in today.items():
            known = self._account(id).today  # may be newer than what was read
            self._account(id).today = KeyUsage(
                max(known.requests, spent.requests),
                max(known.tokens, spent.tokens),
                max(known.money, spent.money),
            )

    def spent(self, id: str, spent: KeyUsage) -> None:
        """Record what a key has used."""
        account = self._account(id)
        account.unwritten = account.unwritten.plus(spent)
        self._write_later()

    def refuse_if_used_up(self, key: AccessKey) -> None:
        """Raise `UsageLimitReached` if the daily limit is used up."""
        now = self._wall() + self._clock_offset
        self._set_day(now)
        limit = _reached(self._account(key.id).used, key.limits)
        if limit:
            raise _used_up(key, self._account(key.id).used, math.ceil(DAY - now % DAY), limit)

    @asynccontextmanager
    async def reserve(self, key: AccessKey, need: KeyUsage) -> AsyncIterator[None]:
        """Reserve room for a request that uses at most `need`; record its usage before leaving the context."""
        if key.limits.tokens_per_day is None and key.limits.money_per_day is None:
            yield
            return
        account = self._account(key.id)
        account.wanted = account.wanted.plus(need)
        try:
            async with asyncio.timeout(self._wait):
                await self._admit(key, account, need)
        except TimeoutError:
            raise _busy(key, account.used) from None
        finally:
            account.wanted = account.wanted.minus(need)
        try:
            yield
        finally:
            account.reserved = _not_negative(account.reserved.minus(need))
            account.released.set()
            self._write_later()

    async def close(self) -> None:
        """Write pending usage and return reservations."""
        for account in self._accounts.values():
            account.reserved = NO_USAGE
        await self._write()  # after a write in progress, which must not be interrupted
        if self._writer is not None:
            self._writer.cancel()
            await asyncio.gather(self._writer, *self._exchanges, return_exceptions=True)

    async def _admit(self, key: AccessKey, account: _Account, need: KeyUsage) -> None:
        pause = FIRST_POLL
        async with account.lock:
            while not account.fits(need, key.limits):
                self.refuse_if_used_up(key)
                account.released.clear()
                # A client that disconnects must not interrupt the exchange: the store may already have granted room.
                task = asyncio.get_running_loop().create_task(self._exchange(key, account, need))
                self._exchanges.add(task)
                task.add_done_callback(self._exchanged)
                grant = await asyncio.shield(task)
                if grant.granted is None:
                    self.refuse_if_used_up(key)
                    await _either(account.released, pause)
                    pause = min(LONGEST_POLL, 1.5 * pause)
            account.reserved = account.reserved.plus(need)

    async def _exchange(self, key: AccessKey, account: _Account, need: KeyUsage) -> Reservation:
        """Report usage to the store and ask it for room."""
        async with self._store_lock:
            settlement = self._begin(key.id, account)
            try:
                grant = await self._store.reserve(
                    self._holder,
                    settlement,
                    ReservationRequest(need, account.wanted),
                    key.limits,
                    PART,
                    LEASE_SECONDS,
                )
            except BaseException:
                _not_written(account)
                raise
            self._set_day(grant.now)
            account.today, account.writing = grant.used, NO_USAGE
            account.held = settlement.held.plus(grant.granted or NO_USAGE)
            self._write_later()
            return grant

    def _exchanged(self, task: "asyncio.Task[Reservation]") -> None:
        self._exchanges.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved, because a client that disconnected does not await it

    def _begin(self, id: str, account: _Account) -> UsageSettlement:
        """Start a settlement: from here on, no request of this process uses room that is being returned."""
        settlement = UsageSettlement(id, account.unwritten, account.reserved)
        account.held = account.reserved
        account.unwritten, account.writing = NO_USAGE, account.unwritten
        return settlement

    async def _write_soon(self) -> None:
        pause = WRITE_SECONDS
        while not all(account.is_idle for account in self._accounts.values()):
            await asyncio.sleep(pause)
            pause = WRITE_SECONDS if await self._write() else min(2 * pause, LONGEST_PAUSE)

    async def _write(self) -> bool:
        """Settle every account with unwritten usage. Returns whether the store accepted it."""
        async with self._store_lock:
            due = self._clock() - self._renewed >= RENEW_SECONDS
            accounts = {
                id: account
                for id, account in self._accounts.items()
                if account.unwritten != NO_USAGE
                or account.held != account.reserved
                or (due and account.held != NO_USAGE)
            }
            if due:
                self._renewed = self._clock()
            if not accounts:
                return True
            settlements = [self._begin(id, account) for id, account in accounts.items()]
            try:
                await self._store.settle(self._holder, settlements, LEASE_SECONDS)
            except BaseException as error:
                for account in accounts.values():
                    _not_written(account)
                if not isinstance(error, PlimsollError):
                    raise
                log.warning("the usage of keys could not be stored yet: %s", error)
                return False
            for account in accounts.values():
                account.today, account.writing = account.today.plus(account.writing), NO_USAGE
            return True

    def _write_later(self) -> None:
        if self._writer is None or self._writer.done():
            self._writer = asyncio.get_running_loop().create_task(self._write_soon())

    def _account(self, id: str) -> _Account:
        return self._accounts.setdefault(id, _Account())

    def _set_day(self, now: float) -> None:
        self._clock_offset = now - self._wall()
        if int(now // DAY) != self._day:
            self._day = int(now // DAY)
            for account in self._accounts.values():
                account.today = NO_USAGE


async def _either(event: asyncio.Event, seconds: float) -> None:
    """Wait for the event, or until the timeout."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return


def _not_written(account: _Account) -> None:
    account.unwritten, account.writing = account.writing.plus(account.unwritten), NO_USAGE


def _not_negative(spent: KeyUsage) -> KeyUsage:
    # Sums of fractions of a cent do not return to exactly zero.
    return KeyUsage(0, max(0, spent.tokens), spent.money if spent.tokens > 0 and spent.money > 1e-12 else 0.0)


def _reached(used: KeyUsage, limits: KeyLimits) -> str:
    if limits.tokens_per_day is not None and used.tokens >= limits.tokens_per_day:
        return "tokens"
    if limits.money_per_day is not None and used.money >= limits.money_per_day:
        return "money"
    return ""


def _used_up(key: AccessKey, used: KeyUsage, seconds: int, limit: str) -> UsageLimitReached:
    if limit == "tokens":
        allowed = counted(key.limits.tokens_per_day or 0, "token")
        detail = f"The key {key.name!r} may use {allowed} a day and has used {used.tokens:,}."
    else:
        detail = (
            f"The key {key.name!r} may spend {key.limits.money_per_day or 0:,.2f} USD a day and has spent "
            f"{used.money:,.2f}."
        )
    return UsageLimitReached(f"{detail} The next day starts in {_duration(seconds)} (UTC).", limit, seconds)


def _busy(key: AccessKey, used: KeyUsage) -> UsageLimitReached:
    detail = (
        f"The key {key.name!r} has used {used.tokens:,} tokens and {used.money:,.2f} USD today, and requests in "
        f"progress may use the rest of its daily limit. Try again in {BUSY_SECONDS} s, or send a smaller max_tokens."
    )
    return UsageLimitReached(detail, "reserved", BUSY_SECONDS)


def refusal_of(error: UsageLimitReached) -> tuple[str, list[Header]]:
    """The error code and headers of a refusal."""
    headers = [(b"retry-after", str(error.seconds).encode())]
    if error.limit in ("requests", "reserved"):
        return "rate_limit_exceeded", headers
    # SDKs read this before they retry by themselves, which is useless before tomorrow.
    return "insufficient_quota", [*headers, (b"x-should-retry", b"false")]


def counted(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _duration(seconds: int) -> str:
    hours, minutes = divmod(math.ceil(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
