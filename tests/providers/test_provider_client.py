"""The client against a real server that misbehaves on request, in both dialects."""

import asyncio
from typing import Any

import pytest
from client_runs import ASK, MODEL, Mode, Waits, client_for, run

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
    QuotaExhausted,
    RateLimited,
    ServerFailed,
)
from plimsoll.providers import Retries
from plimsoll.testing.scripted_server import ScriptedServer, call, fault, say, think


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
    assert waits.seconds == [_stated_wait(trouble, dialect) or 0.5]


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
    assert waits.seconds == [_stated_wait(trouble, dialect) or 0.5, 1.0]


def _stated_wait(trouble: Any, dialect: str) -> float | None:
    """OpenAI's refusal names the time in its words: "Please try again in 1s."."""
    return 1.0 if (trouble.kind, dialect) == ("rate_limit", "openai") else None


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


def test_a_wait_beyond_the_limit_or_deadline_is_an_error_at_once(dialect: str, waits: Waits):
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
