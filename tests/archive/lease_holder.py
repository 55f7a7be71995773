"""A process that takes a lease, waits as long as the test says, and then tries to write with it."""

import asyncio
from multiprocessing.connection import Connection
from pathlib import Path

from archive_driver import EVENT, summary, user

from plimsoll.archive import OPERATOR, draft_of
from plimsoll.archive.open_archive import open_archive
from plimsoll.errors import StaleLease


def hold(url: str, id: str, purpose: str, pipe: Connection) -> None:
    asyncio.run(_hold(url, id, purpose, pipe))


async def _hold(url: str, id: str, purpose: str, pipe: Connection) -> None:
    async with await open_archive(url, Path()) as store:
        archive = store.for_owner(OPERATOR)
        lease = await archive.acquire(id, "stalled", 0.2, purpose=purpose)
        view, items = await archive.view(id), await archive.items(id)
        draft = draft_of(id, view, items, [summary("late"), items[-1].message])
        pipe.send(lease.fence)
        pipe.recv()
        refusals = []
        for attempt in (
            archive.commit_compaction(id, draft, EVENT, lease=lease),
            archive.append(id, [user("late")], turn="late", lease=lease),
            archive.undo(id, lease=lease),
        ):
            try:
                await attempt
                refusals.append("written")
            except StaleLease:
                refusals.append("stale")
        pipe.send(refusals)
