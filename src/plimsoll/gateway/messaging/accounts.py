"""Opens the configured messaging accounts. One gateway process reads them.

    gateway.matrix.*    ─► matrix.ADAPTER   ─┐
    gateway.telegram.*  ─► telegram.ADAPTER ─┴─► a poller each, in the process that holds messaging.lock

If there are several processes, one reads; another takes over when it ends. The lock is the operating system's, so a
crash releases it.
"""

import asyncio
import fcntl
import os
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from plimsoll.archive.inbox import Inbox
from plimsoll.errors import MissingKey, UserError
from plimsoll.gateway.messaging.adapter import Adapter, AllowList
from plimsoll.gateway.messaging.poller import Poller
from plimsoll.gateway.sessions import SessionService
from plimsoll.installation import install_command
from plimsoll.settings.gateway import GatewaySection
from plimsoll.settings.messaging import PlatformSection

LOCK = "messaging.lock"
_POLL_SECONDS = 5.0  # between checks whether the reading process has ended


class Messaging:
    """The accounts of one process. Close it after use."""

    def __init__(self, pollers: list[Poller], lock: Path) -> None:
        self.pollers = pollers
        self._lock = lock
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start to read as soon as no other process does."""
        if self.pollers:
            self._task = asyncio.create_task(self._run())

    async def close(self, grace_seconds: float) -> None:
        """Stop reading, let answers finish within `grace_seconds`, and disconnect."""
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await asyncio.gather(*(poller.rooms.close(grace_seconds) for poller in self.pollers))
        await asyncio.gather(*(poller.adapter.close() for poller in self.pollers))

    async def _run(self) -> None:
        handle = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            while not _locked(handle):
                await asyncio.sleep(_POLL_SECONDS)
            await asyncio.gather(*(poller.run() for poller in self.pollers))
        finally:
            os.close(handle)


def open_messaging(
    section: GatewaySection,
    environ: Mapping[str, str],
    home: Path,
    inbox_of: Callable[[str], Inbox],
    sessions: SessionService,
) -> Messaging:
    """The configured accounts; raises `UserError` if one cannot be used."""
    pollers = [Poller(adapter, inbox_of, sessions) for adapter in configured(section, environ)]
    return Messaging(pollers, home / LOCK)


def configured(section: GatewaySection, environ: Mapping[str, str]) -> list[Adapter]:
    """An adapter for each configured account. Connects to nothing."""
    found = (_adapter(name, platform, environ) for name, platform in section.platforms.items())
    return [adapter for adapter in found if adapter is not None]


def _adapter(name: str, platform: PlatformSection, environ: Mapping[str, str]) -> Adapter | None:
    missing = platform.missing
    if missing:
        if len(missing) < len(platform.needs):
            needs = " and ".join(platform.needs)
            raise UserError(f"gateway.{name}.{missing[0]} is not set; {platform.title} needs {needs}.")
        return None
    if platform.package and find_spec(platform.package[0]) is None:
        _, package, extra = platform.package
        raise UserError(
            f"{platform.title} needs {package}, which is not installed: {install_command(extra)}."
        )
    allowed = AllowList(frozenset(platform.allowed_users), frozenset(platform.places))
    token = _secret(f"gateway.{name}.token", platform.token or "", environ)
    adapter: Adapter = import_module(f"{__package__}.{name}").ADAPTER(platform.server, token, allowed)
    return adapter


def _secret(key: str, reference: str, environ: Mapping[str, str]) -> str:
    """The value of the variable that a setting names."""
    name = reference.removeprefix("${").removesuffix("}")
    value = environ.get(name, "").strip()
    if not value:
        raise MissingKey(
            f"{key} names ${{{name}}}, which is not set in the environment. Set it to the token."
        )
    return value


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
