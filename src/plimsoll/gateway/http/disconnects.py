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
    disconnect_task = asyncio.create_task(disconnected(receive))

    def cancel_request(ended: "asyncio.Task[None]") -> None:
        if not ended.cancelled():
            task.cancel()

    disconnect_task.add_done_callback(cancel_request)
    try:
        await serving
    except asyncio.CancelledError:
        if not disconnect_task.done() or disconnect_task.cancelled():
            raise  # the gateway itself is stopping
        task.uncancel()
    finally:
        disconnect_task.remove_done_callback(cancel_request)
        disconnect_task.cancel()
