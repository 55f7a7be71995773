"""A process that writes to an archive until it is killed, and says what it was told is stored."""

import asyncio
from multiprocessing.connection import Connection
from pathlib import Path

from archive_driver import EVENT, summary

from plimsoll.archive import OPERATOR, draft_of
from plimsoll.archive.open_archive import open_archive
from plimsoll.messages import Message


def message(round_number: int, turn: int, part: int) -> Message:
    """What was said, so that it can be told apart from everything else that was said."""
    text = f"r{round_number} t{turn} p{part} " + "a sentence to fill some pages " * (turn % 40)
    return {"role": "user" if part % 2 == 0 else "assistant", "content": text}


def write(url: str, id: str, round_number: int, told: Connection) -> None:
    """Turns of three messages without end, every seventh followed by a compaction, now and then an undo."""
    asyncio.run(_write(url, id, round_number, told))


async def _write(url: str, id: str, round_number: int, told: Connection) -> None:
    archive = (await open_archive(url, Path())).for_owner(OPERATOR)
    told.send(-1)
    turn = 0
    while True:
        said = [message(round_number, turn, part) for part in range(3)]
        await archive.append(id, said, turn=f"r{round_number} t{turn}")
        told.send(turn)
        turn += 1
        if turn % 7 == 0:
            view = await archive.view(id)
            items = await archive.items(id, view)
            after = [summary(f"r{round_number} t{turn}"), *(item.message for item in items[-4:])]
            await archive.commit_compaction(id, draft_of(id, view, items, after), EVENT)
        if turn % 23 == 0:
            await archive.undo(id)
