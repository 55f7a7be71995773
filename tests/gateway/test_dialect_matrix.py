"""Every client dialect on every upstream dialect: answers, images, tools, thinking, usage, and every fault."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from clients import FILLER, http
from gateway_server import RunningGateway, settings_for

from plimsoll.dialects import ChatRequest, Dialect, Reply, SseParser, dialect_named, dialects
from plimsoll.dialects.blocks.assistant import thinking_of
from plimsoll.dialects.interfaces import ReplyDecoder
from plimsoll.messages import call_name, text_of, tool_calls
from plimsoll.testing.scripted_server import CapturedRequest, ScriptedServer, call, fault, say, think

NAMES = tuple(dialect.name for dialect in dialects())
MODELS = {"anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-pro"}
WINDOW = 12_000
KEY = "right-key"
TOOL = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Look.",
        "parameters": {"type": "object", "properties": {"key": {"type": "string"}}},
    },
}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"key": "Anna"}'}}
MESSAGES: tuple[dict[str, Any], ...] = (
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "What is this?"}, IMAGE]},
    {"role": "assistant", "content": "Let me look.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "call_1", "name": "look", "content": "The Anna at pier 4."},
)
HELLO: tuple[dict[str, Any], ...] = ({"role": "user", "content": "Hello"},)


class Upstream:
    """A scripted server of one dialect with a gateway in front of it."""

    def __init__(self, name: str, server: ScriptedServer, gateway: RunningGateway) -> None:
        self.name, self.server, self.gateway = name, server, gateway
        self.model = MODELS.get(name, "gpt-4.1")

    def ask(
        self, client: Dialect, messages: tuple[dict[str, Any], ...], stream: bool, key: str = KEY, **more: Any
    ) -> httpx.Response:
        """One request of a client of this dialect."""
        request = ChatRequest(self.model, messages, max_tokens=500, stream=stream, **more)
        url = client.url(client.local_url(self.gateway.url), self.model, stream)
        own = {"anthropic-version": "2023-06-01"} if client.needs_limit else {}
        name, value = client.auth(key)
        return http().post(url, json=client.encode_request(request), headers={name: value, **own})


@pytest.fixture(scope="module", params=NAMES)
def upstream(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upstream]:
    name = request.param
    home = tmp_path_factory.mktemp(f"upstream-{name}")
    model = MODELS.get(name, "gpt-4.1")
    with (
        ScriptedServer(lambda _request: say("Yes."), model=model, window=WINDOW, api_key=KEY) as server,
        RunningGateway(settings_for(server, name, model={"context_length": WINDOW}), home) as gateway,
    ):
        yield Upstream(name, server, gateway)


def decoded(client: Dialect, text: str) -> ReplyDecoder:
    """A stream as a client of this dialect reads it."""
    decoder = client.decoder()
    for event in SseParser().feed(text.encode()):
        if event.data.strip():
            decoder.feed(event.event, event.decoded())
    return decoder


def reply_of(client: Dialect, response: httpx.Response, stream: bool) -> Reply:
    assert response.status_code == 200, response.text
    if not stream:
        return client.decode_reply(response.json())
    decoder = decoded(client, response.text)
    assert decoder.complete, response.text
    return decoder.reply()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("client", NAMES)
def test_answers_images_tools_thinking_usage_and_reasons(
    upstream: Upstream, client: str, stream: bool
) -> None:
    dialect = dialect_named(client)
    first = think("Hm.") + say("She is here.") + call("look", key="Bertha") + call("look", key="Clara")
    upstream.server.inject(first, say("It was cut").ending("length"))
    reply = reply_of(dialect, upstream.ask(dialect, MESSAGES, stream, tools=(TOOL,)), stream)
    assert text_of(reply.message) == "She is here."
    assert "".join(str(block.get("thinking")) for block in thinking_of(reply.message)) == "Hm."
    calls = [(call_name(one), json.loads(one["function"]["arguments"])) for one in tool_calls(reply.message)]
    assert calls == [("look", {"key": "Bertha"}), ("look", {"key": "Clara"})]
    assert len({one["id"] for one in tool_calls(reply.message)}) == 2
    assert reply.finish_reason == "tool_calls"
    assert reply.usage is not None
    assert reply.usage.prompt_tokens > 20
    assert reply.usage.completion_tokens > 0
    arrived(upstream.server.requests[-1], upstream.name)
    # The calls go back with their results, and the next answer ends for another reason.
    results = tuple(
        {"role": "tool", "tool_call_id": one["id"], "name": "look", "content": f"Result {n}."}
        for n, one in enumerate(tool_calls(reply.message))
    )
    asked = (*MESSAGES, reply.message, *results)
    ended = reply_of(dialect, upstream.ask(dialect, asked, stream, tools=(TOOL,)), stream)
    assert (text_of(ended.message), ended.finish_reason) == ("It was cut", "length")


def arrived(seen: CapturedRequest, dialect: str) -> None:
    """What must be in a request, whichever dialect it came in."""
    assert (seen.dialect, seen.status, seen.refusal) == (dialect, 200, None)
    assert seen.request is not None
    said = seen.request.messages
    assert text_of(said[0]) == "Be brief."
    assert IMAGE["image_url"]["url"] in str(said)
    (called,) = [one for message in said for one in tool_calls(message)]
    (result,) = [message for message in said if message["role"] == "tool"]
    assert (called["id"], text_of(result)) == (result["tool_call_id"], "The Anna at pier 4.")
    assert [tool["function"]["name"] for tool in seen.request.tools] == ["look"]
    assert seen.request.max_tokens == 500


def client_error(client: Dialect, response: httpx.Response) -> dict[str, Any]:
    """The error as a client of this dialect reads it."""
    error: dict[str, Any] = client.error_fields(response.json())["error"]
    return error


FAULTS = {
    "429 with a time": (fault("rate_limit", retry_after=7), {429}),
    "500": (fault("server_error"), {500}),
    "503": (fault("unavailable"), {503}),
    "413": (fault(413), {413}),
    "error in the stream": (fault("stream_error"), {500, 503, 529}),
    "dropped in the middle": (fault("cut"), {502}),
    "dropped before the start": (fault("reset", times=2), {502}),
    "not JSON": (fault("malformed_sse"), {502}),
}
BREAK_STREAMS = ("error in the stream", "dropped in the middle", "not JSON")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("client", NAMES)
def test_every_fault_is_reported_in_the_clients_dialect(
    upstream: Upstream, client: str, name: str, stream: bool
) -> None:
    dialect, (broken, statuses) = dialect_named(client), FAULTS[name]
    if broken.times == 2:
        # It leaves a connection that the next request uses; a request that is reset there is sent once more.
        assert upstream.ask(dialect, HELLO, False).status_code == 200
    upstream.server.inject(replace(broken, then=say(FILLER)))
    response = upstream.ask(dialect, HELLO, stream)
    if name == "not JSON" and client == upstream.name:
        assert "not JSON" in response.text  # within one dialect the bytes are passed on as they are
        return
    if stream and name in BREAK_STREAMS:
        decoder = decoded(dialect, response.text)
        assert (response.status_code, decoder.complete) == (200, False)
        assert decoder.failure is not None
        assert decoder.failure.message
        return
    assert response.status_code in statuses, response.text
    assert dialect.is_error(response.json())
    assert response.headers.get("retry-after") == ("7" if "time" in name else None)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("client", NAMES)
def test_an_overflow_and_a_wrong_key_are_reported_in_the_clients_dialect(
    upstream: Upstream, client: str, stream: bool
) -> None:
    dialect = dialect_named(client)
    long: tuple[dict[str, Any], ...] = ({"role": "user", "content": FILLER * 900},)
    overflow = upstream.ask(dialect, long, stream)
    if client == "responses" and stream:  # Codex compacts only if the stream says it
        [failed] = [event.decoded() for event in SseParser().feed(overflow.content)]
        assert (overflow.status_code, failed["type"]) == (200, "response.failed"), overflow.text
        assert failed["response"]["error"]["code"] == "context_length_exceeded"
        told = failed["response"]["error"]["message"]
    else:
        assert (overflow.status_code, dialect.is_error(overflow.json())) == (400, True), overflow.text
        told = str(client_error(dialect, overflow))
    assert re.search(r"maximum|exceeds|too long", told), told
    refused = upstream.ask(dialect, HELLO, stream, key="wrong-key")
    same_words = client == upstream.name  # Google says 400 for a wrong key
    assert refused.status_code in ({400, 401} if same_words else {401}), refused.text
    assert dialect.is_error(refused.json())
    assert KEY not in refused.text


@pytest.mark.parametrize("client", NAMES)
def test_a_time_to_wait_that_is_only_in_the_words_of_an_upstream_is_a_header_for_other_dialects(
    upstream: Upstream, client: str
) -> None:
    upstream.server.inject(fault(429, message="Please retry in 34.07s."))
    refused = upstream.ask(dialect_named(client), HELLO, False)
    assert refused.headers.get("retry-after") == (None if client == upstream.name else "35")


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
@pytest.mark.parametrize("client", NAMES)
def test_a_number_that_json_cannot_write_is_refused_in_the_clients_dialect(
    upstream: Upstream, client: str, number: str
) -> None:
    dialect = dialect_named(client)
    body = dialect.encode_request(ChatRequest(upstream.model, HELLO, max_tokens=500))
    odd = json.dumps({**body, "temperature": "odd"}).replace('"odd"', number)
    name, value = dialect.auth(KEY)
    before = len(upstream.server.requests)
    refused = http().post(
        dialect.url(dialect.local_url(upstream.gateway.url), upstream.model, False),
        content=odd,
        headers={name: value, "content-type": "application/json"},
    )
    assert (refused.status_code, dialect.is_error(refused.json())) == (400, True), refused.text
    assert number in str(client_error(dialect, refused))
    assert len(upstream.server.requests) == before
