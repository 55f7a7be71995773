"""The access keys as cached by one process: reread every two seconds, not for each request.

    find    a key's text ──► the key, while it is valid
    admit   one more request ──► nothing, or `UsageLimitReached`
    usage   what requests have used today and may still use

Each process reserves a share of a minute's requests in the store and serves requests from it, so all processes
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

FRESH_SECONDS = 2.0  # a revoked key is accepted for at most this long
RETRY_SECONDS = 0.25  # between two reads of the store for unknown keys
GRACE_SECONDS = 60.0  # how long cached keys are used while the store does not answer
PART = 16  # a process takes this fraction of a minute's remaining requests

log = logging.getLogger(__name__)


class KeysUnknown(UserError):
    """The key store has not answered for too long."""


@dataclass(slots=True)
class _RemainingShare:
    """What is left of a share; `is_last`: the minute has no requests left to give."""

    requests: int
    start: int
    is_last: bool


class KeyCache:
    """The keys of one gateway process. `clock` is monotonic; `wall` is the time of day."""

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
        self._clock_offset = 0.0  # seconds by which the store's clock is ahead of this machine's
        self._read = -math.inf  # when the store was last read
        self._tried = -math.inf
        self._reading = asyncio.Lock()
        self._left: dict[str, _RemainingShare] = {}
        self._share_locks: dict[str, asyncio.Lock] = {}

    @property
    def has_keys(self) -> bool:
        """Whether there is a valid key."""
        return bool(self._keys)

    def key(self, id: str) -> AccessKey | None:
        """The key with this id, as last read."""
        return self._keys.get(id)

    async def find(self, text: str) -> AccessKey | None:
        """The valid key with this text, or None."""
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
            # The key may just have been created.
            await self.refresh(RETRY_SECONDS)
            key = self._keys.get(id)
            if key is not None and matches_digest(secret, key.digest):
                return key
        return None

    async def admit(self, key: AccessKey) -> None:
        """Admit one more request. Raises `UsageLimitReached` if the key has no requests left."""
        self.usage.refuse_if_used_up(key)
        limit = key.limits.requests_per_minute
        if limit is not None:
            seconds = await self._wait_for_request(key.id, limit)
            if seconds:
                requests = counted(limit, "request")
                detail = f"The key {key.name!r} may send {requests} per minute. Try again in {seconds} s."
                raise UsageLimitReached(detail, "requests", seconds)
        self.usage.spent(key.id, KeyUsage(requests=1))

    async def refresh(self, older_than: float = 0.0) -> None:
        """Read the store, unless another request has just read it."""
        async with self._reading:
            now = self._clock()
            if now - self._read < older_than or now - self._tried < min(older_than, RETRY_SECONDS):
                return
            self._tried = now
            try:
                snapshot = await self._store.snapshot()
            except PlimsollError as error:
                if now - self._read > GRACE_SECONDS:
                    raise KeysUnknown(
                        "The gateway cannot check keys: its archive does not answer. Try again later."
                    ) from error
                log.warning("the keys could not be reloaded: %s", error)
                return
            self._keys = {key.id: key for key in snapshot.keys if key.revoked is None}
            self.usage.read(snapshot.now, snapshot.today)
            self._clock_offset = snapshot.now - self._wall()
            self._read = now

    async def close(self) -> None:
        """Write pending usage."""
        await self.usage.close()

    @property
    def _now(self) -> float:
        """The time by the store's clock."""
        return self._wall() + self._clock_offset

    async def _wait_for_request(self, id: str, limit: int) -> int:
        """0 if a request may be sent now, else the seconds to wait."""
        if self._take(id) is True:
            return 0
        async with self._share_locks.setdefault(id, asyncio.Lock()):
            granted = self._take(id)  # another request may have fetched a share meanwhile
            if granted is None:
                share: RequestShare = await self._store.reserve_requests(id, limit, PART)
                self._clock_offset = share.now - self._wall()
                self._left[id] = _RemainingShare(share.requests, share.start, share.requests == 0)
                granted = self._left[id].requests > 0
                self._left[id].requests -= granted
            if granted:
                return 0
        return max(1, math.ceil(MINUTE - self._now % MINUTE))

    def _take(self, id: str) -> bool | None:
        """Take one request from the share. False: the minute has none left. None: ask the store."""
        left = self._left.get(id)
        if left is None or left.start != int(self._now // MINUTE) * MINUTE:
            return None
        if left.requests > 0:
            left.requests -= 1
            return True
        return False if left.is_last else None
