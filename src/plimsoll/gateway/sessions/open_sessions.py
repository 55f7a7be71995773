"""The sessions that are open in this process, and the messages that wait in each.

    message ─► full? ─► waits for those before it ─► session ─► message …
                 └─ QueueFull

Messages of one session are handled in order of arrival; different sessions do not wait for each other. If there are
too many open sessions, idle ones are closed, the least recently used first.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from plimsoll.archive import Archive, Owner
from plimsoll.assembly import OpenConversation
from plimsoll.errors import PlimsollError, QueueFull

log = logging.getLogger("plimsoll.gateway")


@dataclass(slots=True)
class _OpenSession:
    """One open session: the turn in progress and the messages that wait."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)  # serves in order of arrival
    present: int = 0
    opened: OpenConversation | None = None

    async def leave(self) -> None:
        opened, self.opened = self.opened, None
        if opened is not None:
            try:
                await opened.close()
            except PlimsollError as error:  # for example, another process has deleted the session
                log.warning("a session was not closed cleanly: %s", error)


class OpenSessions:
    """Sessions by owner and id; at most `waiting` messages wait in one, at most `max_idle` idle ones stay open."""

    def __init__(
        self, join: Callable[[Archive, str], Awaitable[OpenConversation]], waiting: int, max_idle: int
    ) -> None:
        self._join, self._waiting, self._max_idle = join, waiting, max_idle
        self._by_key: OrderedDict[tuple[Owner, str], _OpenSession] = OrderedDict()

    def __len__(self) -> int:
        """The number of open sessions."""
        return sum(session.opened is not None for session in self._by_key.values())

    @asynccontextmanager
    async def turn(self, archive: Archive, id: str) -> AsyncIterator[OpenConversation]:
        """The session in its owner's archive, when all earlier messages are done."""
        key = (archive.owner, id)
        session = self._by_key.setdefault(key, _OpenSession())
        self._by_key.move_to_end(key)
        if session.present > self._waiting:
            raise QueueFull(
                f"In session {id} one message is being answered and {self._waiting} wait. "
                "Send this one again when some of them are answered."
            )
        session.present += 1
        try:
            async with session.lock:
                if session.opened is None:
                    session.opened = await self._join(archive, id)
                try:
                    yield session.opened
                except (PlimsollError, asyncio.CancelledError):
                    raise
                except BaseException:  # its state is unknown; the next turn loads it again
                    await session.leave()
                    raise
        finally:
            session.present -= 1
            await self._shrink()

    async def forget(self, owner: Owner, id: str) -> None:
        """Close a session after its current turn."""
        session = self._by_key.get((owner, id))
        if session is None:
            return
        async with session.lock:
            await session.leave()
        if not session.present:
            self._by_key.pop((owner, id), None)

    async def close(self) -> None:
        """Close all sessions."""
        for owner, id in list(self._by_key):
            await self.forget(owner, id)

    async def _shrink(self) -> None:
        unused = [key for key, session in self._by_key.items() if not session.present]
        for key in unused[: max(0, len(unused) - self._max_idle)]:
            session = self._by_key.pop(key)
            await session.leave()
