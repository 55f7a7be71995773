"""Reports a summary model's progress from the thread that reads its stream to the observer of the turn."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from plimsoll.agent.events import SummaryProgress
from plimsoll.agent.model_connection import Emit


def progress_to(emit: Emit) -> Callable[[int], None]:
    """A function for any thread that emits the characters written so far on the running loop."""
    loop = asyncio.get_running_loop()

    def progress(characters: int) -> None:
        with suppress(RuntimeError):  # the loop is closed, and with it the turn
            loop.call_soon_threadsafe(emit, SummaryProgress(characters))

    return progress
