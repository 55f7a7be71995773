"""The keys as one process knows them: read every other second, never for each request.

    find    text of a key ──► the key, while it holds
    admit   one more request ──► None, or why not and for how long
    spent   what a reply used ──► written down a moment later, with that of others

A minute's requests are given out from a share that the process has set aside in the store, so all processes
together never exceed the limit. Tokens and money are known when a reply has ended: what is under way at the moment
when a limit is reached still finishes.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from plimsoll.archive.keys import DAY, MINUTE, AccessKey, KeyStore, Share, Spent
from plimsoll.archive.keytext import halves, proves
from plimsoll.errors import PlimsollError, UserError

FRESH_SECONDS = 2.0  # a key that was revoked is let in for so long, at most
RETRY_SECONDS = 0.25  # between two looks because of keys that nobody knows
GRACE_SECONDS = 60.0  # for a store that does not answer, before everybody has to wait for it
WRITE_SECONDS = 0.25  # what was used is written down together
LONGEST_PAUSE = 8.0  # between two attempts
PART = 16  # of what is left of a minute goes to the process that asks

log = logging.getLogger(__name__)
Limit = Literal["requests", "tokens", "money"]
NOTHING = Spent()


class KeysUnknown(UserError):
    """The store of the keys has not answered for too long."""


@dataclass(frozen=True, slots=True)
class TooMuch:
    """A limit that was reached."""

    limit: Limit
    seconds: int  # until it is worth trying again
    message: str


@dataclass(slots=True)
class _Left:
    """What is left of a share; `is_last`: the minute had no more to give."""

    requests: int
    start: int
    is_last: bool


class KeyRing:
    """The keys of one gateway process. `clock` never goes back; `wall` is the time of day."""

    def __init__(
        self,
        store: KeyStore,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._clock, self._wall = store, clock, wall
        self._keys: dict[str, AccessKey] = {}
        self._today: dict[str, Spent] = {}
        self._day = 0
        self._ahead = 0.0  # of the store's clock before this machine's
        self._read = -math.inf  # when the store was last read
        self._tried = -math.inf
        self._unwritten: dict[str, Spent] = {}
        self._writing: asyncio.Task[None] | None = None
        self._store_lock = asyncio.Lock()  # sums are read and written one after the other
        self._left: dict[str, _Left] = {}
        self._share_locks: dict[str, asyncio.Lock] = {}

    @property
    def has_keys(self) -> bool:
        """Whether any key holds."""
        return bool(self._keys)

    def key(self, id: str) -> AccessKey | None:
        """The key of this id, as it was when last read."""
        return self._keys.get(id)

    async def find(self, text: str) -> AccessKey | None:
        """The key with this text, if it holds."""
        parts = halves(text)
        if parts is None:
            return None
        id, secret = parts
        now = self._clock()
        if now - self._read >= FRESH_SECONDS:
            await self.refresh(FRESH_SECONDS)
        key = self._keys.get(id)
        if key is not None and proves(secret, key.digest):
            return key
        if now - self._read >= RETRY_SECONDS:
            # It may have been made a moment ago.
            await self.refresh(RETRY_SECONDS)
            key = self._keys.get(id)
            if key is not None and proves(secret, key.digest):
                return key
        return None

    async def admit(self, key: AccessKey) -> TooMuch | None:
        """Let one more request through, or say why not."""
        limits = key.limits
        if limits.tokens_per_day is not None or limits.money_per_day is not None:
            too_much = await self._over_the_day(key)
            if too_much is not None:
                return too_much
        if limits.requests_per_minute is not None:
            seconds = await self._wait_for_request(key.id, limits.requests_per_minute)
            if seconds:
                many = _counted(limits.requests_per_minute, "request")
                told = f"The key {key.name!r} may make {many} a minute. Try again in {seconds} s."
                return TooMuch("requests", seconds, told)
        self.spent(key.id, Spent(requests=1))
        return None

    def spent(self, id: str, spent: Spent) -> None:
        """Note what a key has used."""
        self._unwritten[id] = self._unwritten.get(id, NOTHING).plus(spent)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.get_running_loop().create_task(self._write_soon())

    async def refresh(self, older_than: float = 0.0) -> None:
        """Read the store, unless somebody else has just done so."""
        async with self._store_lock:
            now = self._clock()
            if now - self._read < older_than or now - self._tried < min(older_than, RETRY_SECONDS):
                return
            self._tried = now
            try:
                book = await self._store.book()
            except PlimsollError as error:
                if now - self._read > GRACE_SECONDS:
                    raise KeysUnknown(
                        "The gateway cannot tell who may use it: its archive does not answer. Try again later."
                    ) from error
                log.warning("the keys were not read again: %s", error)
                return
            self._keys = {key.id: key for key in book.keys if key.revoked is None}
            self._today, self._day = dict(book.today), int(book.now // DAY)
            self._ahead = book.now - self._wall()
            self._read = now

    async def close(self) -> None:
        """Write down what is not written yet."""
        await self._write()  # behind one that is under way, which must not be cut off
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.gather(self._writing, return_exceptions=True)

    @property
    def _now(self) -> float:
        """The time by the store's clock."""
        return self._wall() + self._ahead

    async def _over_the_day(self, key: AccessKey) -> TooMuch | None:
        now = self._now
        if int(now // DAY) != self._day:
            await self.refresh()
        used = self._today.get(key.id, NOTHING).plus(self._unwritten.get(key.id, NOTHING))
        seconds = math.ceil(DAY - now % DAY)
        most, money = key.limits.tokens_per_day, key.limits.money_per_day
        until = f"The next day begins in {_duration(seconds)} (UTC)."
        if most is not None and used.tokens >= most:
            told = (
                f"The key {key.name!r} may use {_counted(most, 'token')} a day and has used {used.tokens:,}."
            )
            return TooMuch("tokens", seconds, f"{told} {until}")
        if money is not None and used.money >= money:
            told = f"The key {key.name!r} may spend {money:,.2f} USD a day and has spent {used.money:,.2f}."
            return TooMuch("money", seconds, f"{told} {until}")
        return None

    async def _wait_for_request(self, id: str, most: int) -> int:
        """0 where a request may go; else the seconds until one may."""
        if self._took(id) is True:
            return 0
        async with self._share_locks.setdefault(id, asyncio.Lock()):
            took = self._took(id)  # another request may have brought a share meanwhile
            if took is None:
                share: Share = await self._store.set_aside(id, most, PART)
                self._ahead = share.now - self._wall()
                self._left[id] = _Left(share.requests, share.start, share.requests == 0)
                took = self._left[id].requests > 0
                self._left[id].requests -= took
            if took:
                return 0
        return max(1, math.ceil(MINUTE - self._now % MINUTE))

    def _took(self, id: str) -> bool | None:
        """Take one request of the share; False: the minute has none left; None: the store must be asked."""
        left = self._left.get(id)
        if left is None or left.start != int(self._now // MINUTE) * MINUTE:
            return None
        if left.requests > 0:
            left.requests -= 1
            return True
        return False if left.is_last else None

    async def _write_soon(self) -> None:
        pause = WRITE_SECONDS
        while self._unwritten:
            await asyncio.sleep(pause)
            pause = WRITE_SECONDS if await self._write() else min(2 * pause, LONGEST_PAUSE)

    async def _write(self) -> bool:
        """Write down what was used; whether the store took it."""
        async with self._store_lock:
            entries, self._unwritten = self._unwritten, {}
            if not entries:
                return True
            try:
                await self._store.spend(list(entries.items()))
            except BaseException as error:
                for id, spent in entries.items():
                    self._unwritten[id] = spent.plus(self._unwritten.get(id, NOTHING))
                if not isinstance(error, PlimsollError):
                    raise
                log.warning("what keys have used is not written down yet: %s", error)
                return False
            for id, spent in entries.items():
                self._today[id] = self._today.get(id, NOTHING).plus(spent)
            return True


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _duration(seconds: int) -> str:
    hours, minutes = divmod(math.ceil(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
