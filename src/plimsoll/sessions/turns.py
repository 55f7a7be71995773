"""One turn at a time, also where two processes have the same session open.

    A  ── turn ──────────────┐                    ┌── turn ──
    B       waits · · · · · ·└─ reads what A said ┴── turn ──┘

A turn holds a lease and renews it while it lasts. Whoever is killed in the middle loses
it after a minute, and what he then still wants to write is refused.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from plimsoll.archive import Lease
from plimsoll.errors import Conflict, StaleLease
from plimsoll.sessions.journal import ArchiveJournal

PURPOSE = "turn"
LEASE_SECONDS = 60.0
_RENEW_SECONDS = 15.0
_LOOK_SECONDS = 0.1  # between two looks whether the other one has finished


@asynccontextmanager
async def turn_of(journal: ArchiveJournal, patience: float) -> AsyncIterator[None]:
    """Hold the session for one turn; `Conflict` where another process answers in it for longer than that."""
    lease = await _acquired(journal, patience)
    journal.lease = lease
    renewing = asyncio.create_task(_renewed(journal, lease))
    try:
        yield
    finally:
        journal.lease = None
        renewing.cancel()
        await asyncio.shield(journal.archive.release(lease))


async def _acquired(journal: ArchiveJournal, patience: float) -> Lease:
    loop = asyncio.get_running_loop()
    ends = loop.time() + patience
    while True:
        lease = await journal.archive.acquire(journal.session, journal.holder, LEASE_SECONDS, purpose=PURPOSE)
        if lease is not None:
            return lease
        if loop.time() >= ends:
            raise Conflict(f"Another process is answering in session {journal.session} right now.")
        await asyncio.sleep(_LOOK_SECONDS)


async def _renewed(journal: ArchiveJournal, lease: Lease) -> None:
    # One that was taken over is noticed by the next write, which is refused.
    with suppress(StaleLease):
        while True:
            await asyncio.sleep(_RENEW_SECONDS)
            lease = await journal.archive.renew(lease, LEASE_SECONDS)
