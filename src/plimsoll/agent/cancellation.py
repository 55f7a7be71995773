"""Work that completes before a cancellation takes effect.

A message that is stored must also stand in the view, and the other way round, whenever
a person presses Ctrl-C.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def run_to_completion(work: Coroutine[Any, Any, T]) -> T:
    """The result of the work; where the caller is cancelled meanwhile, the work ends before the caller does."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done():
            await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # seen: what matters now is that the caller stops
        raise
