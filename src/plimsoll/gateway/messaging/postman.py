"""Reads one account for as long as it is told to, and hands on what came.

    position ─► receive ─► stored with the new position ─► rooms
        ▲                                │
        └────────────────────────────────┘

The platform learns that a message arrived by the next request, which names the new position:
after it is in the archive. A platform that is away is asked again, ever less often.
"""

import asyncio
import logging

from plimsoll.archive import Archive
from plimsoll.errors import ArchiveError, PlatformFailed, PlatformRefused
from plimsoll.gateway.messaging.adapter import Adapter, Batch
from plimsoll.gateway.messaging.rooms import Rooms
from plimsoll.gateway.sessions import SessionDesk

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
_log = logging.getLogger(__name__)


class Postman:
    """One adapter, its letters and its rooms."""

    def __init__(
        self, adapter: Adapter, archive: Archive, desk: SessionDesk, *, pause: float = _FIRST_PAUSE
    ) -> None:
        self.adapter = adapter
        self.rooms = Rooms(adapter, archive, desk, pause)
        self._mail, self._pause = archive.mail, pause

    async def run(self) -> None:
        """Until it is cancelled; the connection is closed then, and `rooms` are the caller's to close first."""
        pause = self._pause
        position: str | None = None
        while True:
            try:
                if position is None:
                    await self.adapter.connect()
                    position = await self._mail.position(self.adapter.account)
                    self.rooms.add(await self._mail.waiting(self.adapter.account))
                    _log.info("Reading %s.", self.adapter.account)
                batch = await self.adapter.receive(position)
                await self._keep(batch, position)
                position = batch.position
                pause = self._pause
                if not batch.more:  # what came while nobody was here is answered as a whole
                    self.rooms.wake()
            except (PlatformFailed, ArchiveError) as error:
                refused = isinstance(error, PlatformRefused)
                _log.log(logging.ERROR if refused else logging.WARNING, "%s Trying again.", error)
                asked = error.retry_after if isinstance(error, PlatformFailed) else None
                await asyncio.sleep(asked or pause)
                pause = min(pause * 2, _LONGEST_PAUSE)

    async def _keep(self, batch: Batch, before: str) -> None:
        if batch.letters or batch.position != before:
            waiting = await self._mail.receive(self.adapter.account, batch.letters, batch.position)
            self.rooms.add(waiting)
