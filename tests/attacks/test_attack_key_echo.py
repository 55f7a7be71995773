"""Upstreams that quote the gateway's key: no client receives it, at any position."""

import json
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from clients import http
from gateway_keys import ASK, PATHS
from gateway_server import RunningGateway
from hostile_upstream import HostileUpstream, Reply
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.gateway.dropin.relay import _whole_events
from plimsoll.gateway.http.masking import without

KEY = "sk-gw-0123456789abcdefghijklmnopqrstuv"
BASE64 = "Zm9v+YmFy/cXV4+Zm9vYmFy/cXV4Zm9vYmFycXV4cQ=="
KEYS = {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}
REPLIES = {
    "openai": {"id": "1", "object": "chat.completion", "model": KEY, "choices": [
        {"index": 0, "message": {"role": "assistant", "content": f"You sent {KEY}."}, "finish_reason": "stop"}]},
    "anthropic": {"id": KEY, "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": f"You sent {KEY[:30]}…"}],
        "usage": {"input_tokens": 1, "output_tokens": 1}},
}  # fmt: skip
EVENTS = {
    "openai": f'data: {{"error":{{"message":"bad key {KEY}","type":"x"}}}}\n\ndata: [DONE]\n\n',
    "anthropic": f'event: error\ndata: {{"type":"error","error":{{"type":"x","message":"bad key {KEY}"}}}}\n\n',
}


def answered(home: Path, upstream: str, client: str, reply: Reply, stream: bool = False) -> str:
    """All that a client of one dialect receives from an upstream of another."""
    with (
        HostileUpstream(lambda _sent: reply) as server,
        RunningGateway(server.settings(upstream), home, environ=KEYS) as gateway,
    ):
        body = {"model": "m", "stream": stream, **ASK}
        answer = http().post(gateway.url + PATHS[client], json=body, headers={"x-api-key": "client"})
        assert KEY in str(server.requests[0].headers)
    return str(answer.headers) + answer.text


@pytest.mark.parametrize("client", ["openai", "anthropic"])
@pytest.mark.parametrize("upstream", ["openai", "anthropic"])
def test_a_key_in_a_reply_is_masked(tmp_path: Path, upstream: str, client: str) -> None:
    received = answered(tmp_path, upstream, client, Reply(body=json.dumps(REPLIES[upstream]).encode()))
    assert "[key]" in received
    assert KEY[:16] not in received


@pytest.mark.parametrize("client", ["openai", "anthropic"])
@pytest.mark.parametrize("upstream", ["openai", "anthropic"])
def test_a_key_in_an_event_of_a_stream_is_masked(tmp_path: Path, upstream: str, client: str) -> None:
    reply = Reply(body=EVENTS[upstream].encode(), content_type="text/event-stream")
    assert KEY[:16] not in answered(tmp_path, upstream, client, reply, stream=True)


@pytest.mark.parametrize("status", [200, 400, 500])
def test_a_key_in_a_header_is_masked(tmp_path: Path, status: int) -> None:
    body = json.dumps(REPLIES["anthropic"]).encode()
    headers = {"x-request-key": f"Bearer {KEY}", "request-id": KEY}
    received = answered(tmp_path, "anthropic", "anthropic", Reply(status, body, headers=headers))
    assert "[key]" in received
    assert KEY[:16] not in received


WRITERS = {
    "plain": lambda text: text,
    "slashes": lambda text: text.replace("/", "\\/"),
    "upper case": lambda text: text.replace("+", "\\u002B"),
    "lower case": lambda text: text.replace("=", "\\u003d"),
    "url": lambda text: text.replace(BASE64, quote(BASE64, safe="")),
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("writer", WRITERS)
def test_a_key_is_masked_however_the_upstream_writes_it(tmp_path: Path, writer: str, stream: bool) -> None:
    """JSON writers escape other characters than the gateway does; a client decodes them all to the key."""
    said = WRITERS[writer](json.dumps({**REPLIES["openai"], "model": BASE64}))
    reply = Reply(body=said.encode())
    if stream:
        event = WRITERS[writer](json.dumps({"error": {"message": f"bad {BASE64}", "type": "x"}}))
        reply = Reply(body=f"data: {event}\n\n".encode(), content_type="text/event-stream")
    with (
        HostileUpstream(lambda _sent: reply) as server,
        RunningGateway(server.settings("openai"), tmp_path, environ={"OPENAI_API_KEY": BASE64}) as gateway,
    ):
        body = {"model": "m", "stream": stream, **ASK}
        answer = http().post(gateway.url + PATHS["openai"], json=body)
    (sent,) = {line for line in answer.text.splitlines() if BASE64[:3] in line or "[key]" in line}
    received = unquote(str(json.loads(sent.removeprefix("data: "))))
    assert "[key]" in received
    assert BASE64 not in received


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_key_in_an_answer_to_a_session_is_neither_sent_nor_stored(tmp_path: Path, stream: bool) -> None:
    part = {"index": 0, "delta": {"content": f"You sent {BASE64}."}, "finish_reason": "stop"}
    event = json.dumps({"id": "1", "object": "chat.completion.chunk", "model": "m", "choices": [part]})
    whole = {"index": 0, "message": {"role": "assistant", "content": f"You sent {BASE64}."}}
    body = json.dumps({**REPLIES["openai"], "choices": [{**whole, "finish_reason": "stop"}]})
    streamed = Reply(body=f"data: {event}\n\ndata: [DONE]\n\n".encode(), content_type="text/event-stream")
    with (
        HostileUpstream(lambda _sent: streamed if stream else Reply(body=body.encode())) as server,
        RunningGateway(
            server.settings("openai", model={"name": "m", "context_length": 32_000}),
            tmp_path,
            environ={"OPENAI_API_KEY": BASE64},
        ) as gateway,
    ):
        session = f"{gateway.url}/sessions/" + http().post(f"{gateway.url}/sessions", json={}).json()["id"]
        answer = http().post(f"{session}/messages", json={"content": "Which key?"})
        log = http().get(f"{session}/messages")
    assert "You sent [key]." in answer.text
    assert BASE64 not in answer.text + log.text


@given(st.binary(max_size=40), st.integers(16, len(KEY)), st.booleans(), st.binary(max_size=40))
def test_a_long_start_or_end_of_a_key_is_masked_at_the_same_length(
    before: bytes, length: int, from_start: bool, after: bytes
) -> None:
    key = KEY.encode()
    data = before + (key[:length] if from_start else key[-length:]) + after
    masked = without(data, [key])
    assert len(masked) == len(data)
    assert key[:16] not in masked
    assert key[-16:] not in masked


@given(st.binary(max_size=200))
def test_other_bytes_are_left_alone(data: bytes) -> None:
    assert without(data, [KEY.encode()]) == data


@pytest.mark.parametrize("arrived", range(8, 16))
def test_a_key_in_an_event_that_is_too_long_to_wait_for_is_masked(arrived: int) -> None:
    """The gateway passes such an event on in parts; a key of which only the start has come must not slip through."""
    key = b"sk-short-0123456789abcd"  # no half of it is long enough to be recognised by itself
    event = b'data: {"text":"' + b"x" * 1_000_000 + key + b'"}\n\n'
    cut = event.index(key) + arrived
    first, rest = _whole_events(event[:cut], [key])
    second, rest = _whole_events(rest + event[cut:], [key])
    assert rest == b""
    received = without(first, [key]) + without(second, [key])
    assert key not in received
    assert len(received) == len(event)
