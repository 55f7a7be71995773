"""Opens the configured messaging accounts, which one gateway process reads.

    gateway.matrix.*    ─► MatrixAdapter   ─┐
    gateway.telegram.*  ─► TelegramAdapter ─┴─► a poller each, in the process that holds messaging.lock

Of several processes one reads; another takes over when it ends. The lock is the system's, so no
crash leaves it behind.
"""

import asyncio
import fcntl
import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

from plimsoll.archive.inbox import Inbox
from plimsoll.config.gateway import GatewaySection
from plimsoll.errors import MissingKey, UserError
from plimsoll.gateway.messaging.adapter import Adapter, Allowed
from plimsoll.gateway.messaging.poller import Poller
from plimsoll.gateway.messaging.telegram import TelegramAdapter
from plimsoll.gateway.sessions import SessionDesk

LOCK = "messaging.lock"
_LOOK_SECONDS = 5.0  # between two looks whether the process that reads has ended


class Messaging:
    """The accounts of one process; `close` ends it."""

    def __init__(self, pollers: list[Poller], lock: Path) -> None:
        self.pollers = pollers
        self._lock = lock
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to read, as soon as no other process does."""
        if self.pollers:
            self._task = asyncio.create_task(self._run())

    async def close(self, patience: float) -> None:
        """Stop reading, let answers be finished within so many seconds, and leave."""
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        await asyncio.gather(*(poller.rooms.close(patience) for poller in self.pollers))
        await asyncio.gather(*(poller.adapter.close() for poller in self.pollers))

    async def _run(self) -> None:
        handle = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            while not _locked(handle):
                await asyncio.sleep(_LOOK_SECONDS)
            await asyncio.gather(*(poller.run() for poller in self.pollers))
        finally:
            os.close(handle)


def open_messaging(
    section: GatewaySection,
    environ: Mapping[str, str],
    home: Path,
    inbox_of: Callable[[str], Inbox],
    sessions: SessionDesk,
) -> Messaging:
    """The accounts that are configured; `UserError` where one of them cannot be used."""
    pollers = [Poller(adapter, inbox_of, sessions) for adapter in configured(section, environ)]
    return Messaging(pollers, home / LOCK)


def configured(section: GatewaySection, environ: Mapping[str, str]) -> list[Adapter]:
    """An adapter for each account that is configured; nothing is connected."""
    return [adapter for adapter in (_matrix(section, environ), _telegram(section, environ)) if adapter]


def _matrix(section: GatewaySection, environ: Mapping[str, str]) -> Adapter | None:
    matrix = section.matrix
    if matrix.token is None or matrix.homeserver is None:
        if matrix.token or matrix.homeserver:
            missing = "homeserver" if matrix.token else "token"
            raise UserError(f"gateway.matrix.{missing} is not set; Matrix needs homeserver and token.")
        return None
    if find_spec("nio") is None:
        raise UserError("Matrix needs matrix-nio, which is not installed: pip install '.[matrix]'.")
    from plimsoll.gateway.messaging.matrix import MatrixAdapter

    allowed = Allowed(frozenset(matrix.allowed_users), frozenset(matrix.allowed_rooms))
    return MatrixAdapter(matrix.homeserver, _secret("gateway.matrix.token", matrix.token, environ), allowed)


def _telegram(section: GatewaySection, environ: Mapping[str, str]) -> Adapter | None:
    telegram = section.telegram
    if telegram.token is None:
        return None
    allowed = Allowed(frozenset(telegram.allowed_users), frozenset(telegram.allowed_chats))
    token = _secret("gateway.telegram.token", telegram.token, environ)
    return TelegramAdapter(telegram.base_url, token, allowed)


def _secret(key: str, reference: str, environ: Mapping[str, str]) -> str:
    """What the variable that a setting names holds."""
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
