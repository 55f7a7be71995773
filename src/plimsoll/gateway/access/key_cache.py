"""The keys as one process knows them: read every other second, never for each request.

    find    text of a key ──► the key, while it holds
    admit   one more request ──► nothing, or `UsageLimitReached`
    usage   what requests have used and may still use today

A minute's requests are given out from a share that the process has set aside in the store, so all processes
together never exceed the limit.
"""

import asyncio
import logging
import math
import os
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from plimsoll.archive.key_format import matches_digest, split_key
from plimsoll.archive.keys import MINUTE, AccessKey, KeyStore, KeyUsage, RequestShare
from plimsoll.errors import PlimsollError, UsageLimitReached, UserError
from plimsoll.gateway.access.usage_limits import WAIT_SECONDS, UsageAccounts, counted

FRESH_SECONDS = 2.0  # a key that was revoked is let in for so long, at most
RETRY_SECONDS = 0.25  # between two looks because of keys that nobody knows
GRACE_SECONDS = 60.0  # for a store that does not answer, before everybody has to wait for it
PART = 16  # of what is left of a minute goes to the process that asks

log = logging.getLogger(__name__)


class KeysUnknown(UserError):
    """The store of the keys has not answered for too long."""


@dataclass(slots=True)
class _Left:
    """What is left of a share; `is_last`: the minute had no more to give."""

    requests: int
    start: int
    is_last: bool


class KeyCache:
    """The keys of one gateway process. `clock` never goes back; `wall` is the time of day."""

    def __init__(
        self,
        store: KeyStore,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        wait: float = WAIT_SECONDS,
    ) -> None:
        holder = f"{os.getpid()}-{secrets.token_hex(6)}"
        self.usage = UsageAccounts(store, holder, wait=wait, clock=clock, wall=wall)
        self._store, self._clock, self._wall = store, clock, wall
        self._keys: dict[str, AccessKey] = {}
        self._ahead = 0.0  # of the store's clock before this machine's
        self._read = -math.inf  # when the store was last read
        self._tried = -math.inf
        self._reading = asyncio.Lock()
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
        parts = split_key(text)
        if parts is None:
            return None
        id, secret = parts
        now = self._clock()
        if now - self._read >= FRESH_SECONDS:
            await self.refresh(FRESH_SECONDS)
        key = self._keys.get(id)
        if key is not None and matches_digest(secret, key.digest):
            return key
        if now - self._read >= RETRY_SECONDS:
            # It may have been made a moment ago.
            await self.refresh(RETRY_SECONDS)
            key = self._keys.get(id)
            if key is not None and matches_digest(secret, key.digest):
                return key
        return None

    async def admit(self, key: AccessKey) -> None:
        """Let one more request through; `UsageLimitReached` where the key may make none now."""
        self.usage.refuse_if_used_up(key)
        most = key.limits.requests_per_minute
        if most is not None:
            seconds = await self._wait_for_request(key.id, most)
            if seconds:
                many = counted(most, "request")
                told = f"The key {key.name!r} may send {many} per minute. Try again in {seconds} s."
                raise UsageLimitReached(told, "requests", seconds)
        self.usage.spent(key.id, KeyUsage(requests=1))

    async def refresh(self, older_than: float = 0.0) -> None:
        """Read the store, unless somebody else has just done so."""
        async with self._reading:
            now = self._clock()
            if now - self._read < older_than or now - self._tried < min(older_than, RETRY_SECONDS):
                return
            self._tried = now
            try:
                book = await self._store.book()
            except PlimsollError as error:
                if now - self._read > GRACE_SECONDS:
                    raise KeysUnknown(
                        "The gateway cannot check keys: its archive does not answer. Try again later."
                    ) from error
                log.warning("the keys could not be reloaded: %s", error)
                return
            self._keys = {key.id: key for key in book.keys if key.revoked is None}
            self.usage.read(book.now, book.today)
            self._ahead = book.now - self._wall()
            self._read = now

    async def close(self) -> None:
        """Write down what is not written yet."""
        await self.usage.close()

    @property
    def _now(self) -> float:
        """The time by the store's clock."""
        return self._wall() + self._ahead

    async def _wait_for_request(self, id: str, most: int) -> int:
        """0 where a request may go; else the seconds until one may."""
        if self._took(id) is True:
            return 0
        async with self._share_locks.setdefault(id, asyncio.Lock()):
            took = self._took(id)  # another request may have brought a share meanwhile
            if took is None:
                share: RequestShare = await self._store.set_aside(id, most, PART)
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
