"""The client against a real server that misbehaves on request, in both dialects."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from plimsoll.dialects import ChatRequest, Delta, Finish, Reply, Start, TextDelta, Thinking, UsageReport
from plimsoll.errors import (
    AuthenticationFailed,
    BadRequest,
    BrokenReply,
    ContextOverflow,
    EmptyReply,
    NetworkFailed,
    Overloaded,
    PayloadTooLarge,
    ProviderError,
    ProviderTimeout,
    QuotaExhausted,
    RateLimited,
    ServerFailed,
    UserError,
)
from plimsoll.providers import Client, Endpoint, Retries, Timeouts
from plimsoll.testing.scripted_server import ScriptedServer, call, fault, say, think

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


@pytest.fixture(params=["openai", "anthropic"])
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[completed, streamed])
def mode(request: pytest.FixtureRequest) -> Mode:
    found: Mode = request.param
    return found


@pytest.fixture
def waits() -> Waits:
    return Waits()


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


def test_an_answer_arrives_with_its_usage(dialect: str, mode: Mode):
    reply, requests = run([say("Good morning to you.")], dialect, mode)
    assert reply.message["content"] == "Good morning to you."
    assert reply.finish_reason == "stop"
    assert reply.usage is not None
    assert reply.usage.prompt_tokens > 0
    assert requests == 1


def test_an_answer_cut_short_by_its_own_limit_is_no_empty_answer(dialect: str, mode: Mode):
    reply, requests = run([say("").ending("length")], dialect, mode)
    assert reply.finish_reason == "length"
    assert requests == 1


def test_a_tool_call_and_thinking_arrive(dialect: str, mode: Mode):
    tool = {"type": "function", "function": {"name": "terminal", "parameters": {"type": "object"}}}
    request = ChatRequest(
        MODEL, ASK.messages, (tool,), max_tokens=4_000, thinking=Thinking("enabled", budget_tokens=1_024)
    )

    async def exchange(server: ScriptedServer) -> Reply:
        async with client_for(server, dialect) as client:
            return await mode(client, request)

    with ScriptedServer([think("Let me look.") + call("terminal", command="ls")]) as server:
        reply = asyncio.run(exchange(server))
    assert reply.finish_reason == "tool_calls"
    assert reply.message["tool_calls"][0]["function"]["name"] == "terminal"
    assert "Let me look." in str(reply.message)


@pytest.mark.parametrize(
    "trouble",
    [
        fault("rate_limit"), fault("server_error"), fault("unavailable"), fault("overloaded"), fault(408), fault(409),
        fault(502), fault(504), fault("reset"), fault("cut", after=0), fault("malformed_sse", after=0),
        fault("truncated_json", after=0), fault("stream_error", after=0), fault("html"), fault("empty"),
    ],
    ids=lambda trouble: f"{trouble.kind}-{trouble.status}",
)  # fmt: skip
def test_what_passes_is_asked_again_and_succeeds(trouble: Any, dialect: str, mode: Mode, waits: Waits):
    reply, requests = run([trouble, say("Now it works.")], dialect, mode, waits)
    assert reply.message["content"] == "Now it works."
    assert requests == 2
    assert waits.seconds == [0.5]


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        (fault("rate_limit", times=None), RateLimited),
        (fault("server_error", times=None), ServerFailed),
        (fault("overloaded", times=None), Overloaded),
        (fault("unavailable", times=None), Overloaded),
        (fault("reset", times=None), NetworkFailed),
        (fault("cut", times=None, after=0), BrokenReply),
        (fault("malformed_sse", times=None, after=0), BrokenReply),
        (fault("truncated_json", times=None, after=0), BrokenReply),
        (fault("html", times=None), ServerFailed),
        (fault("empty", times=None), EmptyReply),
    ],
    ids=lambda value: getattr(value, "kind", getattr(value, "__name__", "")),
)
def test_what_does_not_pass_is_a_typed_error(
    trouble: Any, kind: type[ProviderError], dialect: str, mode: Mode, waits: Waits
):
    with pytest.raises(kind) as raised:
        run([trouble], dialect, mode, waits, retries=Retries(attempts=3))
    assert (raised.value.provider, raised.value.model) == (dialect, MODEL)
    assert waits.seconds == [0.5, 1.0]


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        (fault("quota"), QuotaExhausted),
        (fault(400), BadRequest),
        (fault(401), AuthenticationFailed),
        (fault(402), QuotaExhausted),
        (fault(403), AuthenticationFailed),
        (fault(404), BadRequest),
        (fault(413), PayloadTooLarge),
    ],
    ids=lambda value: str(getattr(value, "status", getattr(value, "__name__", ""))),
)
def test_what_stays_is_asked_once(
    trouble: Any, kind: type[ProviderError], dialect: str, mode: Mode, waits: Waits
):
    with pytest.raises(kind):
        run([trouble, say("never")], dialect, mode, waits)
    assert waits.seconds == []


def test_an_overflow_carries_the_window(dialect: str, mode: Mode):
    async def exchange(server: ScriptedServer) -> Reply:
        long = ChatRequest(MODEL, ({"role": "user", "content": "word " * 6_000},), max_tokens=100)
        async with client_for(server, dialect) as client:
            return await mode(client, long)

    with ScriptedServer(window=4_096) as server, pytest.raises(ContextOverflow) as raised:
        asyncio.run(exchange(server))
    assert raised.value.limit == 4_096
    assert raised.value.requested is not None
    assert raised.value.requested > 4_096


def test_retry_after_is_waited_for(dialect: str, mode: Mode, waits: Waits):
    run([fault("rate_limit", retry_after=7), say("There.")], dialect, mode, waits)
    assert waits.seconds == [7.0]


def test_a_wait_beyond_patience_or_deadline_is_an_error_at_once(dialect: str, waits: Waits):
    async def exchange(server: ScriptedServer, deadline: float | None) -> Reply:
        async with client_for(server, dialect, waits) as client:
            return await client.complete(ASK, deadline=deadline)

    for wait, deadline in ((3_600, None), (30, 20.0)):
        with (
            ScriptedServer([fault("rate_limit", retry_after=wait), say("never")]) as server,
            pytest.raises(RateLimited) as raised,
        ):
            asyncio.run(exchange(server, deadline))
        assert raised.value.retry_after == wait
    assert waits.seconds == []


@pytest.mark.parametrize("kind", ["cut", "malformed_sse", "truncated_json", "stream_error"])
def test_a_stream_that_breaks_after_text_was_given_out_is_never_asked_again(
    kind: str, dialect: str, waits: Waits
):
    given: list[Delta] = []

    async def exchange(server: ScriptedServer) -> None:
        async with client_for(server, dialect, waits) as client, client.stream(ASK) as stream:
            async for delta in stream:
                given.append(delta)

    text = "One word after the other, " * 40
    with ScriptedServer([fault(kind, then=say(text)), say("never")]) as server:
        with pytest.raises((BrokenReply, ServerFailed, Overloaded)):
            asyncio.run(exchange(server))
        assert len(server.requests) == 1
    said = "".join(delta.text for delta in given if isinstance(delta, TextDelta))
    assert said
    assert text.startswith(said)
    assert waits.seconds == []


def test_steps_come_as_they_arrive_and_the_reply_is_whole_at_the_end(dialect: str):
    async def exchange(server: ScriptedServer) -> None:
        async with client_for(server, dialect) as client:
            stream = client.stream(ASK)
            steps = [step async for step in stream]
            assert isinstance(steps[0], Start)
            assert any(isinstance(step, Finish) for step in steps)
            assert any(isinstance(step, UsageReport) for step in steps)
            assert stream.reply.message["content"] == "one two three four five"
            assert stream.reply.finish_reason == "stop"

    with ScriptedServer([say("one two three four five")]) as server:
        asyncio.run(exchange(server))


def test_an_answer_of_100_000_characters_arrives_whole(dialect: str, mode: Mode):
    reply, _ = run([fault("long")], dialect, mode)
    assert len(reply.message["content"]) == 100_000


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


def test_nobody_at_the_address_is_a_network_error_that_names_it(dialect: str, waits: Waits):
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
