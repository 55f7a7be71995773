"""Work that completes before a cancellation takes effect.

A stored message must also be in the view, and vice versa, whenever the user presses Ctrl-C.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def run_to_completion(work: Coroutine[Any, Any, T]) -> T:
    """The result of the work. If the caller is cancelled, the work still completes first."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if not task.done():
            await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # retrieved; the cancellation takes precedence
        raise
