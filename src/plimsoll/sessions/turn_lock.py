"""One turn at a time, even when two processes have the same session open.

    A  ── turn ──────────────┐                    ┌── turn ──
    B       waits · · · · · ·└─ reads what A said ┴── turn ──┘

A turn holds a lease and renews it. If its process is killed, the lease expires, by default
after a minute, and later writes of that process are rejected.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from plimsoll.archive import Lease
from plimsoll.errors import ArchiveError, Conflict, StaleLease, UnknownSession
from plimsoll.sessions.journal import ArchiveJournal

PURPOSE = "turn"
LEASE_SECONDS = 60.0
_RENEWALS = 4  # per lease period
_POLL_SECONDS = 0.1  # between checks whether the other turn has finished


@asynccontextmanager
async def turn_lock(
    journal: ArchiveJournal, patience: float, seconds: float = LEASE_SECONDS
) -> AsyncIterator[None]:
    """Hold the session for one turn; raises `Conflict` if another process answers for longer than `patience`.

    `seconds` is how long the session stays locked after this process dies.
    """
    lease = await _acquired(journal, patience, seconds)
    journal.lease = lease
    renewing = asyncio.create_task(_renewed(journal, lease, seconds))
    try:
        yield
    finally:
        journal.lease = None
        renewing.cancel()
        with suppress(ArchiveError, UnknownSession):  # a lease that cannot be released expires
            await asyncio.shield(journal.archive.release(lease))


async def _acquired(journal: ArchiveJournal, patience: float, seconds: float) -> Lease:
    loop = asyncio.get_running_loop()
    ends = loop.time() + patience
    while True:
        lease = await _asked(journal, seconds)
        if lease is not None:
            return lease
        if loop.time() >= ends:
            raise Conflict(f"Another process is answering in session {journal.session} right now.")
        await asyncio.sleep(_POLL_SECONDS)


async def _asked(journal: ArchiveJournal, seconds: float) -> Lease | None:
    """Acquire the lease if it is free. A cancelled caller releases it."""
    archive = journal.archive
    asking = asyncio.ensure_future(archive.acquire(journal.session, journal.holder, seconds, purpose=PURPOSE))
    try:
        return await asyncio.shield(asking)
    except asyncio.CancelledError:
        await asyncio.wait({asking})
        lease = None if asking.cancelled() or asking.exception() else asking.result()
        if lease is not None:
            await archive.release(lease)
        raise


async def _renewed(journal: ArchiveJournal, lease: Lease, seconds: float) -> None:
    # If the lease was taken over, the next write fails.
    with suppress(StaleLease, UnknownSession):
        while True:
            await asyncio.sleep(seconds / _RENEWALS)
            with suppress(ArchiveError):  # the store is briefly unavailable; there are more renewals
                lease = await journal.archive.renew(lease, seconds)
