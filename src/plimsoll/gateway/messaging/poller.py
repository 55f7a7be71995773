"""Polls one account and hands new messages to the room worker.

    position ─► receive ─► stored with the new position ─► nothing more there? ─► rooms
        ▲                                │
        └────────────────────────────────┘

The next request names the new position, which tells the platform that the messages arrived: after they are in the
archive. A failing platform is retried at growing intervals.
"""

import asyncio
import logging
from collections.abc import Callable

from plimsoll.archive.inbox import Inbox
from plimsoll.errors import ArchiveError, PlatformFailed, PlatformRefused
from plimsoll.gateway.messaging.adapter import Adapter, Batch
from plimsoll.gateway.messaging.room_worker import FIRST_PAUSE, LONGEST_PAUSE, RoomWorker
from plimsoll.gateway.sessions import SessionService

_MAX_READS = 50  # reads of waiting messages before the first answer
_log = logging.getLogger(__name__)


class Poller:
    """One adapter, its messages and its rooms."""

    def __init__(
        self,
        adapter: Adapter,
        inbox_of: Callable[[str], Inbox],
        sessions: SessionService,
        *,
        pause: float = FIRST_PAUSE,
    ) -> None:
        self.adapter = adapter
        self.rooms = RoomWorker(adapter, inbox_of, sessions, pause)
        self._inbox_of, self._pause = inbox_of, pause

    async def run(self) -> None:
        """Poll until cancelled. The caller closes `rooms` and the adapter."""
        pause = self._pause
        position: str | None = None
        reads = 1  # consecutive reads without waiting
        while True:
            try:
                if position is None:
                    await self.adapter.connect()
                    inbox = self._inbox_of(self.adapter.account)
                    position = await inbox.position()
                    self.rooms.add(await inbox.waiting())
                batch = await self.adapter.receive(position, wait=not reads)
                await self._keep(batch, position)
                position, pause = batch.position, self._pause
                # Read all waiting messages before answering, so that they are answered together.
                reads = reads + 1 if batch.messages and reads < _MAX_READS else 0
                if not reads:
                    self.rooms.wake()
            except (PlatformFailed, ArchiveError) as error:
                refused = isinstance(error, PlatformRefused)
                _log.log(logging.ERROR if refused else logging.WARNING, "%s Trying again.", error)
                stated_pause = error.retry_after if isinstance(error, PlatformFailed) else None
                await asyncio.sleep(stated_pause or pause)
                pause = min(pause * 2, LONGEST_PAUSE)

    async def _keep(self, batch: Batch, before: str) -> None:
        if batch.messages or batch.position != before:
            waiting = await self._inbox_of(self.adapter.account).receive(batch.messages, batch.position)
            self.rooms.add(waiting)
