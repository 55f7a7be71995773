"""A process that does two of a person's actions, says so, and waits to be killed."""

import asyncio
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from plimsoll.archive import OPERATOR, Archive
from plimsoll.archive.sqlite import SqliteStore
from plimsoll.sessions.actions import open_actions
from plimsoll.sessions.view_edits import summary_item

EDITED = "## Goal\nfix the loader\n## Critical Context\n- The port is secret."
STEPS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("edit_summary", (EDITED,)),
    ("drop", ([6],)),
    ("pin", (4,)),
    ("undo", ()),
    ("redo", ()),
    ("drop", ([7],)),
)


async def summary_node(archive: Archive, id: str) -> str:
    """The node of the summary that the model sees."""
    return summary_item(await archive.session(id), await archive.items(id), None).node


async def steps(home: Path, id: str, first: int, count: int) -> None:
    """Some of the actions, one after the other."""
    store = await SqliteStore.open(home / "archive.db")
    for name, arguments in STEPS[first : first + count]:
        async with open_actions(store.for_owner(OPERATOR), id, OPERATOR) as actions:
            if name == "edit_summary":
                await actions.edit_summary(*arguments, node=await summary_node(actions.archive, id))
            else:
                await getattr(actions, name)(*arguments)
    if first + count >= len(STEPS):
        await store.close()


def act(home: Path, id: str, first: int, told: Connection) -> None:
    """Two actions, acknowledged; the archive is still open when the kill comes."""
    with asyncio.Runner() as runner:
        runner.run(steps(home, id, first, 2))
        told.send("done")
        time.sleep(3600)
