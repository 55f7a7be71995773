"""A writing process is killed at random moments, again and again; nothing that it was told is stored is lost."""

import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext
from pathlib import Path
from random import Random

import pytest
from archive_driver import Driver
from killed_writer import message, write
from postgres_server import MEMORY, server

from plimsoll.messages import Message

NAME = "plimsoll-to-be-killed"
MAX_TURNS = 26  # acknowledged before a kill; compactions and an undo are among them


@dataclass(frozen=True)
class Trial:
    """How a store is tried. `url` is of the archive in a folder, `settled` waits until a killed process is gone."""

    kills: int
    rounds: int  # on one archive, so that checking it stays cheap
    longest: float  # seconds that a turn takes at most, roughly: the kill comes within them
    url: Callable[[Path], str]
    settled: Callable[[], None]


def backends_gone() -> None:
    """A server notices a dead client only after the statement that it is about; a COMMIT may be among these."""
    while server().run(f"SELECT 1 FROM pg_stat_activity WHERE application_name = '{NAME}'"):
        time.sleep(0.005)


TRIALS = {
    "sqlite": Trial(120, 30, 0.004, lambda folder: f"sqlite://{folder}/archive.db", lambda: None),
    "postgres": Trial(
        40, 20, 0.03, lambda folder: f"{server().url_for(folder)}&application_name={NAME}", backends_gone
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("store", TRIALS)
def test_every_acknowledged_message_survives_a_kill_exactly_once(store: str):
    trial = TRIALS[store]
    context = multiprocessing.get_context("forkserver")
    # Loaded once; only what is installed can be named here.
    context.set_forkserver_preload(["asyncio", "plimsoll.archive.open_archive", "plimsoll.archive.postgres"])
    dice = Random(11)
    acknowledged = sum(_rounds(context, dice, store, first) for first in range(0, trial.kills, trial.rounds))
    assert acknowledged > trial.kills  # the kills did not all come before the first write


def _rounds(context: ForkServerContext, dice: Random, store: str, first: int) -> int:
    """Kill after kill on one archive; how many turns were acknowledged in all."""
    trial = TRIALS[store]
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        folder, acknowledged = Path(name), 0
        driver = Driver(folder, store)
        id = driver.begin()
        driver.close()
        before: list[Message] = []
        for number in range(first, first + trial.rounds):
            url, moment = trial.url(folder), (dice.randrange(MAX_TURNS), dice.uniform(0, trial.longest))
            turns = _killed(context, url, id, number, moment)
            trial.settled()
            acknowledged += turns
            driver = Driver(folder, store)
            assert driver.check() == []
            said = driver.said(id)
            driver.close()
            expected = [message(number, turn, part) for turn in range(turns + 1) for part in range(3)]
            # The turn that was being written when the kill came is there as a whole or not at all.
            assert said in ([*before, *expected], [*before, *expected[:-3]])
            before = said
    return acknowledged


def _killed(context: ForkServerContext, url: str, id: str, number: int, moment: tuple[int, float]) -> int:
    """Let a process write, kill it in a turn after `moment`; the number of turns that it knew were stored."""
    told, telling = context.Pipe(duplex=False)
    writer = context.Process(target=write, args=(url, id, number, telling))
    writer.start()
    telling.close()
    acknowledged, seconds = moment
    # Counted and not timed: a slow machine does not kill all of them before their first write.
    while told.recv() + 1 < acknowledged:
        pass
    time.sleep(seconds)  # any moment of the next turn will do
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    turns = acknowledged
    try:
        while told.poll():
            turns = told.recv() + 1
    except (EOFError, OSError):
        pass  # the rest of a word that was cut off
    told.close()
    return turns
