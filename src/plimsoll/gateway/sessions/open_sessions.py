"""The sessions that are open in this process, and who waits in each.

    message ─► full? ─► waits for those before it ─► session ─► message …
                 └─ QueueFull

Messages of one session are handled in the order in which they came; those of different
sessions do not wait for each other. Sessions in which nobody speaks are closed, the one
that was used longest ago first, when there are too many.
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
    """One session: whoever speaks and whoever waits."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)  # serves in the order of arrival
    present: int = 0
    opened: OpenConversation | None = None

    async def leave(self) -> None:
        opened, self.opened = self.opened, None
        if opened is not None:
            try:
                await opened.close()
            except PlimsollError as error:  # such as a session that another process has deleted
                log.warning("a session was not closed cleanly: %s", error)


class OpenSessions:
    """Sessions by owner and id; `waiting` is how many may wait in one, `most` how many stay open unused."""

    def __init__(
        self, join: Callable[[Archive, str], Awaitable[OpenConversation]], waiting: int, most: int
    ) -> None:
        self._join, self._waiting, self._most = join, waiting, most
        self._by_key: OrderedDict[tuple[Owner, str], _OpenSession] = OrderedDict()

    def __len__(self) -> int:
        """How many are open."""
        return sum(session.opened is not None for session in self._by_key.values())

    @asynccontextmanager
    async def turn(self, archive: Archive, id: str) -> AsyncIterator[OpenConversation]:
        """The session in its owner's archive, once it is this one's turn."""
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
                except BaseException:  # nobody knows in what state it is; the next one reads it anew
                    await session.leave()
                    raise
        finally:
            session.present -= 1
            await self._shrink()

    async def forget(self, owner: Owner, id: str) -> None:
        """Close a session, once whoever speaks in it has finished."""
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
        for key in unused[: max(0, len(unused) - self._most)]:
            session = self._by_key.pop(key)
            await session.leave()
