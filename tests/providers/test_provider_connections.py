"""Timeouts, cancelled requests, connections and keys of the client."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from client_runs import ASK, KEY, MODEL, Mode, Waits, client_for, completed, run, streamed

from plimsoll.dialects import ChatRequest, TextDelta
from plimsoll.errors import (
    AuthenticationFailed,
    NetworkFailed,
    ProviderTimeout,
    UserError,
)
from plimsoll.providers import Client, Endpoint, Retries, Timeouts
from plimsoll.testing.scripted_server import ScriptedServer, fault, say


def test_silence_is_a_timeout(dialect: str, mode: Mode, waits: Waits):
    short = Timeouts(connect=5, first_byte=0.2, between_chunks=0.2, whole_reply=0.2)
    with pytest.raises(ProviderTimeout):
        run([fault("hang", times=None)], dialect, mode, waits, timeouts=short)
    assert len(waits.seconds) == 1


def test_a_pause_between_chunks_is_a_timeout(dialect: str):
    slow = fault("slow", seconds=0.0, between=30.0, then=say("one two three four"))
    with pytest.raises(ProviderTimeout, match="nothing arrived for"):
        run([slow], dialect, streamed, timeouts=Timeouts(between_chunks=0.2), retries=Retries(attempts=1))


def test_the_deadline_covers_everything(dialect: str):
    async def exchange(server: ScriptedServer, through_stream: bool) -> None:
        async with client_for(server, dialect) as client:
            if not through_stream:
                await client.complete(ASK, deadline=0.2)
            async for _ in client.stream(ASK, deadline=0.2):
                pass

    for through_stream in (False, True):
        with (
            ScriptedServer([fault("hang", times=None)]) as server,
            pytest.raises(ProviderTimeout, match="deadline"),
        ):
            asyncio.run(exchange(server, through_stream))


def test_cancelling_closes_the_connection_at_once(dialect: str, mode: Mode):
    async def exchange(server: ScriptedServer) -> None:
        async with client_for(server, dialect, timeouts=Timeouts()) as client:
            task = asyncio.ensure_future(mode(client, ASK))
            await asyncio.to_thread(server.wait_until, lambda: bool(server.requests))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(server.wait_until, lambda: server.requests[0].is_done)

    with ScriptedServer([fault("hang")]) as server:
        asyncio.run(exchange(server))


def test_leaving_a_stream_early_closes_the_connection(dialect: str):
    async def exchange(server: ScriptedServer) -> None:
        async with client_for(server, dialect, timeouts=Timeouts()) as client:
            async with client.stream(ASK) as stream:
                async for delta in stream:
                    if isinstance(delta, TextDelta):
                        break
            assert await asyncio.to_thread(server.wait_until, lambda: server.requests[0].is_done)

    with ScriptedServer([fault("slow", seconds=0.0, between=0.3, then=say("word " * 500))]) as server:
        asyncio.run(exchange(server))


def test_one_connection_serves_a_whole_conversation(dialect: str, monkeypatch: pytest.MonkeyPatch):
    accepted: list[Any] = []
    connected = ScriptedServer._connected
    monkeypatch.setattr(
        ScriptedServer, "_connected", lambda self, *pair: (accepted.append(pair), connected(self, *pair))[1]
    )

    async def exchange(server: ScriptedServer) -> None:
        async with client_for(server, dialect) as client:
            for _ in range(3):
                await completed(client, ASK)
                await streamed(client, ASK)

    with ScriptedServer() as server:
        asyncio.run(exchange(server))
        assert len(server.requests) == 6
    assert len(accepted) == 1


def test_an_address_without_a_server_is_a_network_error_that_names_it(dialect: str, waits: Waits):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    endpoint = Endpoint("openai", f"http://127.0.0.1:{port}", "openai", KEY, MODEL)

    async def exchange() -> None:
        async with Client(endpoint, sleep=waits, chance=lambda: 0.0) as client:
            await client.complete(ASK)

    with pytest.raises(NetworkFailed, match=f"127.0.0.1:{port}"):
        asyncio.run(exchange())
    assert waits.seconds == [0.5, 1.0, 2.0]


def test_extras_of_the_request_are_sent(dialect: str):
    request = ChatRequest(MODEL, ASK.messages, max_tokens=10, extra={dialect: {"metadata": {"user_id": "u"}}})

    async def exchange(server: ScriptedServer) -> None:
        async with client_for(server, dialect) as client:
            await client.complete(request)

    with ScriptedServer() as server:
        asyncio.run(exchange(server))
        assert b'"metadata":{"user_id":"u"}' in server.requests[0].raw


def test_the_key_is_sent_in_its_header_alone(dialect: str):
    with ScriptedServer(api_key=KEY) as server:

        async def exchange() -> None:
            async with client_for(server, dialect) as client:
                await client.complete(ASK)

        asyncio.run(exchange())
        (seen,) = server.requests
        headers = {name: value for name, value in seen.headers.items() if KEY in value}
        expected = {"authorization": f"Bearer {KEY}"} if dialect == "openai" else {"x-api-key": KEY}
        assert headers == expected


@pytest.fixture
def everything_logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.DEBUG):
        yield caplog


def test_the_key_is_in_no_log_no_error_and_no_repr(
    dialect: str, mode: Mode, everything_logged: pytest.LogCaptureFixture
):
    echo = fault(401, message=f"Incorrect API key provided: {KEY}.")
    with ScriptedServer([echo]) as server:
        client = client_for(server, dialect)

        async def exchange() -> None:
            async with client:
                await mode(client, ASK)

        with pytest.raises(AuthenticationFailed) as raised:
            asyncio.run(exchange())
    shown = [
        repr(client),
        repr(client.endpoint),
        str(raised.value),
        repr(raised.value),
        everything_logged.text,
    ]
    assert everything_logged.text
    assert not any(KEY in text for text in shown)
    assert "[key]" in str(raised.value)


def test_a_key_that_cannot_be_a_header_is_refused_without_being_shown():
    for wrong in ("key\nwith-newline", "schlüssel", "two words"):
        with pytest.raises(UserError) as raised:
            Endpoint("openai", "http://127.0.0.1", "openai", wrong)
        assert wrong not in str(raised.value)


def test_lone_surrogates_in_a_message_are_sent_as_escapes(dialect: str):
    request = ChatRequest(MODEL, ({"role": "user", "content": "broken \ud83d text"},), max_tokens=10)

    async def exchange(server: ScriptedServer) -> None:
        async with client_for(server, dialect) as client:
            await client.complete(request)

    with ScriptedServer([say("fine")]) as server:
        asyncio.run(exchange(server))
