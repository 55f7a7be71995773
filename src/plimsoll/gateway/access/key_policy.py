"""Whether callers need a key. Decided once, when the gateway starts.

    address          keys: auto                     required      off
    this machine's   once there is a key: needed    needed        not needed
    any other        needed                         needed        refused to start

If keys are needed and there are none, the gateway does not start, because no caller could use it.
A gateway that started with keys stays closed when the last one is revoked.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from ipaddress import ip_address

from plimsoll.archive.keys import KeyStore, KeyUsage
from plimsoll.errors import UserError
from plimsoll.gateway.access.key_cache import KeyCache
from plimsoll.gateway.access.usage_limits import WAIT_SECONDS
from plimsoll.settings.gateway import KeyRule

_HOW_TO_ADD = "Create one with `plimsoll gateway keys add NAME`"


class KeyPolicy:
    """Decides who may use the gateway. Open it before the first request."""

    def __init__(
        self, host: str, rule: KeyRule, origins: Sequence[str] = (), wait: float = WAIT_SECONDS
    ) -> None:
        self._host, self._rule, self._origins, self._wait = host, rule, origins, wait
        self.key_cache: KeyCache | None = None
        self.is_keyed = True  # reject every request until the policy is open

    async def open(self, keys: KeyStore) -> None:
        """Read the keys and decide. Raises `UserError` if the gateway must not start."""
        key_cache = KeyCache(keys, wait=self._wait)
        await key_cache.refresh()
        self.is_keyed = needs_keys(self._host, self._rule, key_cache.has_keys)
        if "*" in self._origins and not self.is_keyed:
            raise UserError(
                "gateway.allowed_origins allows every page, so the gateway must require keys. Set "
                "gateway.keys to required, or name the pages."
            )
        self.key_cache = key_cache

    @asynccontextmanager
    async def reserve(self, owner: str | None, need: KeyUsage) -> AsyncIterator[None]:
        """Reserve a request in the daily limits of a key. Raises `UsageLimitReached` if it does not fit."""
        key = self.key_cache.key(owner) if self.key_cache is not None and owner is not None else None
        if key is None or self.key_cache is None:
            yield
            return
        async with self.key_cache.usage.reserve(key, need):
            yield

    async def close(self) -> None:
        """Write pending usage."""
        if self.key_cache is not None:
            await self.key_cache.close()


def needs_keys(host: str, rule: KeyRule, has_keys: bool) -> bool:
    """Whether callers need a key on this address. Raises if they need one and there is none."""
    if not is_loopback(host):
        if rule == "off":
            raise UserError(
                f"Anyone who can reach {host} could use the gateway: gateway.keys is off. Set it to auto, "
                "or listen on 127.0.0.1."
            )
        if not has_keys:
            raise UserError(
                f"The gateway does not listen on {host} without keys: anyone who can reach it could use it. "
                f"{_HOW_TO_ADD}; or listen on 127.0.0.1."
            )
        return True
    if rule == "required" and not has_keys:
        raise UserError(f"gateway.keys is required, but there is no key. {_HOW_TO_ADD}.")
    return rule == "required" or (rule == "auto" and has_keys)


@lru_cache(maxsize=256)
def is_loopback(host: str) -> bool:
    """Whether an address is reachable from this machine only."""
    bare = host.strip("[]").lower()
    if bare == "localhost" or bare.endswith(".localhost"):
        return True
    try:
        return ip_address(bare).is_loopback
    except ValueError:
        return False
