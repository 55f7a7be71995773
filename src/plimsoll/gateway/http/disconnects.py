"""Cancels the request of a client that disconnects."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from plimsoll.gateway.asgi import Receive
from plimsoll.gateway.http.body import disconnected


async def until_disconnect(serving: Coroutine[Any, Any, None], receive: Receive) -> None:
    """Serve until the answer is complete or the client disconnects, whichever comes first."""
    task = asyncio.current_task()
    assert task is not None
    leaving = asyncio.create_task(disconnected(receive))

    def gone(left_task: "asyncio.Task[None]") -> None:
        if not left_task.cancelled():
            task.cancel()

    leaving.add_done_callback(gone)
    try:
        await serving
    except asyncio.CancelledError:
        if not leaving.done() or leaving.cancelled():
            raise  # the gateway itself is stopping
        task.uncancel()
    finally:
        leaving.remove_done_callback(gone)
        leaving.cancel()
