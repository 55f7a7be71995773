"""A writing process is killed at random moments, hundreds of times; nothing that it was told is stored is lost."""

import multiprocessing
import os
import signal
import tempfile
import time
from multiprocessing.context import ForkServerContext
from pathlib import Path
from random import Random

import pytest
from archive_driver import MEMORY, Driver
from killed_writer import message, write

from plimsoll.messages import Message

KILLS = 240
ROUNDS_PER_FILE = 30  # so that checking a file stays cheap
LONGEST = 0.06  # seconds until a kill


@pytest.mark.slow
def test_every_acknowledged_message_survives_a_kill_exactly_once():
    context = multiprocessing.get_context("forkserver")
    # Loaded once; only what is installed can be named here.
    context.set_forkserver_preload(["asyncio", "plimsoll.archive", "plimsoll.archive.sqlite"])
    dice = Random(11)
    acknowledged = sum(_rounds(context, dice, first) for first in range(0, KILLS, ROUNDS_PER_FILE))
    assert acknowledged > KILLS  # the kills did not all come before the first write


def _rounds(context: ForkServerContext, dice: Random, first: int) -> int:
    """Kill after kill on one file; how many turns were acknowledged in all."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        folder, acknowledged = Path(name), 0
        driver = Driver(folder)
        id = driver.begin()
        driver.close()
        before: list[Message] = []
        for number in range(first, first + ROUNDS_PER_FILE):
            turns = _killed(context, folder / "archive.db", id, number, dice.uniform(0, LONGEST))
            acknowledged += turns
            driver = Driver(folder)
            assert driver.check() == []
            said = driver.said(id)
            driver.close()
            expected = [message(number, turn, part) for turn in range(turns + 1) for part in range(3)]
            # The turn that was being written when the kill came is there as a whole or not at all.
            assert said in ([*before, *expected], [*before, *expected[:-3]])
            before = said
    return acknowledged


def _killed(context: ForkServerContext, path: Path, id: str, number: int, seconds: float) -> int:
    """Let a process write for some time, kill it, and say how many turns it was told are stored."""
    told, telling = context.Pipe(duplex=False)
    writer = context.Process(target=write, args=(str(path), id, number, telling))
    writer.start()
    telling.close()
    assert told.recv() == -1
    time.sleep(seconds)
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    turns = 0
    try:
        while told.poll():
            turns = told.recv() + 1
    except (EOFError, OSError):
        pass  # the rest of a word that was cut off
    told.close()
    return turns
