"""The client against servers with ways of their own: answers in one piece, in drops, secrets in the address."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from plimsoll.dialects import ChatRequest, Reply, TextDelta, anthropic, openai
from plimsoll.errors import BrokenReply, ContextOverflow, NetworkFailed, ProviderTimeout, ServerFailed
from plimsoll.providers import Client, Endpoint, Retries, Timeouts

T = TypeVar("T")
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
ASK = ChatRequest("m", ({"role": "user", "content": "Good morning."},), max_tokens=100)
SHORT = Timeouts(connect=0.3, first_byte=5, between_chunks=5, whole_reply=5)
CALLS = [
    {"type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}},
    {"type": "function", "function": {"name": "look", "arguments": '{"at": 2}'}},
]
WHOLE: dict[str, dict[str, Any]] = {
    "openai": {
        "id": "c1",
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "content": "hello",
                    "reasoning_content": "hm",
                    "tool_calls": CALLS,
                },
            }
        ],
        "usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6},
    },
    "anthropic": {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s1"},
            {"type": "text", "text": "hello"},
            {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": 1}},
            {"type": "tool_use", "id": "t2", "name": "look", "input": {"at": 2}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 5, "output_tokens": 1},
    },
}


def meet(
    handler: Handler, what: Callable[[Client], Awaitable[T]], dialect: str = "openai", **options: Any
) -> T:
    """What comes of a client that asks a server with this handler."""

    talks: list[asyncio.Task[Any]] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talks.append(asyncio.current_task())  # type: ignore[arg-type]
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await handler(reader, writer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def exchange() -> T:
        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        base = f"http://127.0.0.1:{port}" + ("/v1" if dialect == "openai" else "")
        endpoint = Endpoint("custom", base, "openai" if dialect == "openai" else "anthropic", model="m")
        options.setdefault("retries", Retries(attempts=1))
        try:
            async with server, Client(endpoint, timeouts=SHORT, **options) as client, asyncio.timeout(60):
                return await what(client)
        finally:
            await asyncio.gather(*talks)

    return asyncio.run(exchange())


def answering(body: object, status: str = "200 OK", seen: list[int] | None = None) -> Handler:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if seen is not None:
            seen.append(1)
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n"
        writer.write(f"{head}content-length: {len(raw)}\r\n\r\n".encode() + raw)
        await writer.drain()

    return handle


async def completed(client: Client) -> Reply:
    return await client.complete(ASK)


async def streamed(client: Client) -> tuple[list[Any], Reply]:
    async with client.stream(ASK) as stream:
        return [step async for step in stream], stream.reply


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_a_stream_that_comes_in_one_piece_is_the_reply_all_the_same(dialect: str):
    seen: list[int] = []
    steps, reply = meet(answering(WHOLE[dialect], seen=seen), streamed, dialect)
    assert len(seen) == 1
    assert TextDelta("hello") in steps
    whole = (openai if dialect == "openai" else anthropic).decode_reply(WHOLE[dialect])
    assert reply.message["content"] == "hello"
    assert [call["function"] for call in reply.message["tool_calls"]] == [call["function"] for call in CALLS]
    assert len({call["id"] for call in reply.message["tool_calls"]}) == 2
    assert (reply.finish_reason, reply.usage, reply.id) == (whole.finish_reason, whole.usage, whole.id)
    if dialect == "anthropic":
        assert reply.message == whole.message


def test_an_error_in_place_of_a_stream_is_that_error():
    body = {"error": {"message": "maximum context length is 100 tokens", "code": "context_length_exceeded"}}
    with pytest.raises(ContextOverflow):
        meet(answering(body), streamed)


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"choices": []}'])
def test_a_piece_that_is_no_reply_is_broken(body: bytes):
    with pytest.raises(BrokenReply):
        meet(answering(body), streamed)


@pytest.mark.parametrize("ask", [completed, streamed])
def test_an_error_whose_body_trickles_is_not_waited_for(ask: Callable[[Client], Awaitable[object]]):
    async def trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 500 X\r\ncontent-type: text/plain\r\ncontent-length: 60000\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)

    with pytest.raises(ServerFailed, match="xx"):
        meet(trickle, ask)


def test_the_time_for_a_whole_reply_is_granted_once():
    now = [0.0]

    async def late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        now[0] += 6.0  # more than all the time there is, before the body has begun
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 600\r\n\r\n")
        await writer.drain()
        await reader.read()

    with pytest.raises(ProviderTimeout, match="incomplete after 5 s"):
        meet(late, completed, clock=lambda: now[0])


def test_only_host_and_port_of_an_address_are_in_errors():
    async def exchange() -> None:
        endpoint = Endpoint("custom", "http://bob:hunter2@127.0.0.1:9/v1?api_key=hidden", "openai", model="m")
        async with Client(endpoint, retries=Retries(attempts=1)) as client:
            await client.complete(ASK)

    with pytest.raises(NetworkFailed, match=r"http://127\.0\.0\.1:9: ") as raised:
        asyncio.run(exchange())
    assert not any(secret in str(raised.value) for secret in ("bob", "hunter2", "hidden"))
