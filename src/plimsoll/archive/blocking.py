"""The archive for synchronous code: calls from a worker thread run on the archive's event loop.

    engine's thread ── run(archive.nodes(id)) ──► host's loop ── await ──► store
                    ◄── result, or an error ─────┘   within a deadline

Engines are synchronous, stores are not. A call from the loop's own thread would deadlock, so it
is rejected.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from plimsoll.archive.interface import Archive
from plimsoll.errors import ArchiveError

T = TypeVar("T")
DEADLINE = 30.0  # seconds for one call


class BlockingArchive:
    """An archive and the event loop that it runs on."""

    def __init__(
        self, archive: Archive, loop: asyncio.AbstractEventLoop, *, deadline: float = DEADLINE
    ) -> None:
        self.archive = archive
        self._loop = loop
        self._deadline = deadline

    @classmethod
    def here(cls, archive: Archive, *, deadline: float = DEADLINE) -> "BlockingArchive":
        """For worker threads of the loop that is running now."""
        return cls(archive, asyncio.get_running_loop(), deadline=deadline)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of the work; raises `ArchiveError` if it takes too long or the loop has ended."""
        if _running() is self._loop or not self._loop.is_running():
            work.close()
            raise ArchiveError("Call the archive from a worker thread while its event loop runs.")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(self._deadline)
        except TimeoutError as error:
            future.cancel()
            raise ArchiveError(f"The archive did not answer within {self._deadline:.3g} s.") from error


def _running() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
