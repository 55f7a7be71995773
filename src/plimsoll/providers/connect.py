"""Creates a client for an endpoint; starts the server first if the model runs on this machine."""

from pathlib import Path
from typing import Any

from plimsoll.providers.client import Client
from plimsoll.providers.endpoint import Endpoint
from plimsoll.providers.local.model import DEFAULT_CONTEXT
from plimsoll.providers.local.server import shared_server


async def connect(
    endpoint: Endpoint, *, home: Path, context_length: int | None = None, **options: Any
) -> Client:
    """A client for the endpoint; `context_length` is the window for a model on this machine.

    `options` are those of `Client`. Closing the client leaves the server running for the next one.
    """
    if endpoint.embedded:
        server = await shared_server(
            Path(endpoint.model), context_length=context_length or DEFAULT_CONTEXT, home=home
        )
        endpoint = server.endpoint()
    return Client(endpoint, **options)
