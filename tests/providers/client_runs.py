"""A client of a scripted server, and one request that it sends."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from plimsoll.dialects import ChatRequest, Reply
from plimsoll.providers import Client, Endpoint, Timeouts
from plimsoll.testing.scripted_server import ScriptedServer

KEY = "plk-7f3a9c51d2e84b60a1b2"
MODEL = "claude-sonnet-4.5"
ASK = ChatRequest(MODEL, ({"role": "user", "content": "Good morning."},), max_tokens=1_000)
Mode = Callable[[Client, ChatRequest], Awaitable[Reply]]


class Waits:
    """A sleep that only notes how long it was."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


async def completed(client: Client, request: ChatRequest) -> Reply:
    return await client.complete(request)


async def streamed(client: Client, request: ChatRequest) -> Reply:
    async with client.stream(request) as stream:
        async for _ in stream:
            pass
        return stream.reply


def client_for(server: ScriptedServer, dialect: str, waits: Waits | None = None, **options: Any) -> Client:
    timeouts = options.pop("timeouts", Timeouts(connect=5, first_byte=5, between_chunks=5, whole_reply=5))
    return Client(
        endpoint_of(server, dialect), sleep=waits or Waits(), chance=lambda: 0.0, timeouts=timeouts, **options
    )


def endpoint_of(server: ScriptedServer, dialect: str) -> Endpoint:
    if dialect == "openai":
        return Endpoint("openai", server.openai_url, "openai", KEY, MODEL)
    headers = (("anthropic-version", "2023-06-01"),)
    return Endpoint("anthropic", server.anthropic_url, "anthropic", KEY, MODEL, headers, "x-api-key")


def run(
    script: list[Any], dialect: str, mode: Mode, waits: Waits | None = None, **options: Any
) -> tuple[Reply, int]:
    """The reply, and how many requests it took."""

    async def exchange(server: ScriptedServer) -> Reply:
        async with client_for(server, dialect, waits, **options) as client:
            return await mode(client, ASK)

    with ScriptedServer(script) as server:
        reply = asyncio.run(exchange(server))
        return reply, len(server.requests)
