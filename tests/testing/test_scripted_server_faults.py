"""Each fault does on the wire what its name says, in both dialects, streamed and not."""

import contextlib
import json
import socket

import httpx
import pytest
from scripted_clients import ANTHROPIC_TOOL, DIALECTS, OPENAI_TOOL, body_for, error_of, plain_client, post

from plimsoll.dialects import SseParser, anthropic, openai
from plimsoll.testing.scripted_server import KINDS, ScriptedServer, fault, say

BOTH = pytest.mark.parametrize("dialect", DIALECTS)
STREAMED = pytest.mark.parametrize("stream", [False, True])
DECODERS = {"openai": openai.StreamDecoder, "anthropic": anthropic.StreamDecoder}
DECODED = {"openai": openai.decode_reply, "anthropic": anthropic.decode_reply}


@contextlib.contextmanager
def streaming(server, dialect, **more):
    """A streamed response whose bytes the test reads itself."""
    path = "/v1/messages" if dialect == "anthropic" else "/v1/chat/completions"
    headers = {"anthropic-version": "2023-06-01"} if dialect == "anthropic" else {}
    body = body_for(dialect, stream=True, **more)
    with (
        plain_client() as client,
        client.stream("POST", server.url + path, json=body, headers=headers) as response,
    ):
        yield response


def events_in(response):
    """The events that arrive, and what ended them: None, or the error of the connection."""
    parser, events = SseParser(), []
    try:
        for chunk in response.iter_raw():
            events += parser.feed(chunk)
    except httpx.HTTPError as error:
        return events, error
    return events, None


def decoded(dialect, events):
    decoder = DECODERS[dialect]()
    for event in events:
        decoder.feed(event.event, event.decoded())
    return decoder


def raw_request(server, dialect, stream):
    """The bytes of a request, for a client that is nothing but a socket."""
    path = "/v1/messages" if dialect == "anthropic" else "/v1/chat/completions"
    body = json.dumps(body_for(dialect, stream=stream)).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nanthropic-version: 2023-06-01\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def received(server, dialect, stream):
    """Every byte until the server closes."""
    port = int(server.url.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port), timeout=60) as plain:
        plain.sendall(raw_request(server, dialect, stream))
        data = b""
        while chunk := plain.recv(65536):
            data += chunk
        return data


def leave_without_an_answer(server, dialect, stream):
    """Ask, and leave as soon as the server has the request; nothing came until then."""
    port, before = int(server.url.rsplit(":", 1)[1]), len(server.requests)
    with socket.create_connection(("127.0.0.1", port), timeout=60) as plain:
        plain.sendall(raw_request(server, dialect, stream))
        assert server.wait_until(lambda: len(server.requests) > before)
        plain.setblocking(False)
        with pytest.raises(BlockingIOError):
            plain.recv(1)


@BOTH
def test_a_whole_stream_is_well_formed_to_the_last_byte(dialect):
    with ScriptedServer([say("Two\nlines of text, and then some more.")]) as server:
        with streaming(server, dialect) as response:
            assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
            raw = b"".join(response.iter_raw())
        assert raw.endswith(b"\n\n")
        blocks = [block.split(b"\n") for block in raw.removesuffix(b"\n\n").split(b"\n\n")]
        if dialect == "openai":
            assert all(len(lines) == 1 and lines[0].startswith(b"data: ") for lines in blocks)
            assert blocks[-1] == [b"data: [DONE]"]
            assert all(json.loads(lines[0][6:])["object"] == "chat.completion.chunk" for lines in blocks[:-1])
        else:
            assert all(lines[0].startswith(b"event: ") and lines[1].startswith(b"data: ") for lines in blocks)
            assert all(json.loads(data[6:])["type"] == name[7:].decode() for name, data in blocks)
            names = [name[7:].decode() for name, _ in blocks]
            assert names[:3] == ["message_start", "content_block_start", "ping"]
            assert names[-3:] == ["content_block_stop", "message_delta", "message_stop"]


@BOTH
@STREAMED
@pytest.mark.parametrize(
    ("item", "status", "kinds"),
    [
        (fault("rate_limit", retry_after=7), 429, ("tokens", "rate_limit_error")),
        (fault("server_error"), 500, ("server_error", "api_error")),
        (fault("unavailable"), 503, ("server_error", "api_error")),
        (fault("overloaded"), 529, ("overloaded_error", "overloaded_error")),
        (fault(403), 403, ("invalid_request_error", "permission_error")),
        (fault(404), 404, ("invalid_request_error", "not_found_error")),
        (fault(418, message="I am a teapot", type="tea", code="pot"), 418, ("tea", "tea")),
    ],
)
def test_a_status_comes_with_the_provider_s_type_of_error(dialect, stream, item, status, kinds):
    with ScriptedServer([item, say("and on")]) as server:
        response = post(server, dialect, stream=stream)
        assert response.status_code == status
        assert error_of(response)["type"] == kinds[DIALECTS.index(dialect)]
        assert response.headers["content-type"] == "application/json"
        assert response.headers.get("retry-after") == ("7" if status == 429 else None)
        if item.message:
            assert error_of(response)["message"] == item.message
        assert server.requests[0].fault == item
        assert post(server, dialect).status_code == 200


def test_an_empty_account_is_reported_in_each_providers_way():
    with ScriptedServer([fault("quota", times=2)]) as server:
        of_openai, of_anthropic = post(server, "openai"), post(server, "anthropic")
    assert (of_openai.status_code, error_of(of_openai)["code"]) == (429, "insufficient_quota")
    assert of_anthropic.status_code == 400
    assert error_of(of_anthropic)["message"].startswith("Your credit balance is too low")


@BOTH
@STREAMED
def test_hang_sends_nothing_until_the_client_leaves(dialect, stream):
    with ScriptedServer([fault("hang", times=2), say("here again")]) as server:
        for _ in range(2):
            leave_without_an_answer(server, dialect, stream)
        assert post(server, dialect).status_code == 200
        assert server.wait_until(lambda: all(request.is_done for request in server.requests))
        assert [request.is_abandoned for request in server.requests] == [True, True, False]
        assert [request.bill is None for request in server.requests] == [True, True, False]


@BOTH
@STREAMED
def test_reset_ends_the_connection_before_a_byte_was_sent(dialect, stream):
    with ScriptedServer([fault("reset")]) as server, pytest.raises(ConnectionResetError):
        received(server, dialect, stream)


@BOTH
@STREAMED
def test_slow_answers_late_but_whole(dialect, stream):
    script = [fault("slow", seconds=60), fault("slow", seconds=0.01, then=say("late"))]
    with ScriptedServer(script) as server:
        leave_without_an_answer(server, dialect, stream)
        assert "late" in post(server, dialect, stream=stream).text


@BOTH
def test_a_client_that_leaves_in_the_middle_of_a_stream_is_noticed(dialect):
    trickle = fault("slow", seconds=0, between=0.02, then=say("word " * 100))
    with ScriptedServer([trickle]) as server:
        with streaming(server, dialect) as response:
            next(response.iter_raw())
        assert server.wait_until(lambda: server.requests[0].is_done)
        assert server.requests[0].is_abandoned


@BOTH
def test_cut_closes_in_the_middle_of_an_event(dialect):
    with ScriptedServer([fault("cut")]) as server:
        with streaming(server, dialect) as response:
            events, error = events_in(response)
        assert isinstance(error, httpx.RemoteProtocolError)
        decoder = decoded(dialect, events)
        assert not decoder.complete
        assert decoder.reply().message["content"].startswith("This answer is long")


@BOTH
def test_cut_can_happen_after_the_first_event(dialect):
    with ScriptedServer([fault("cut", after=1)]) as server, streaming(server, dialect) as response:
        assert len(events_in(response)[0]) == 1


@BOTH
def test_cut_ends_a_body_before_its_promised_length(dialect):
    with ScriptedServer([fault("cut")]) as server:
        head, _, body = received(server, dialect, stream=False).partition(b"\r\n\r\n")
        promised = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if b"content-length" in line)
        assert 0 < len(body) < promised


@BOTH
def test_malformed_sse_puts_garbage_among_the_events(dialect):
    with ScriptedServer([fault("malformed_sse")]) as server:
        with streaming(server, dialect) as response:
            events, error = events_in(response)
        assert error is None
        broken = [event for event in events if not event.is_done and not _is_json(event.data)]
        assert len(broken) == 1


@BOTH
@STREAMED
@pytest.mark.parametrize("kind", ["malformed_sse", "truncated_json"])
def test_a_broken_body_has_status_200_and_is_no_json(dialect, stream, kind):
    with ScriptedServer([fault(kind)]) as server:
        response = post(server, dialect, stream=stream)
    assert response.status_code == 200
    if stream:
        events = SseParser().feed(response.content)
        assert [_is_json(event.data) for event in events if not event.is_done].count(False) == 1
        if kind == "truncated_json":
            assert not _is_json(events[-1].data)
    else:
        assert not _is_json(response.text)


@BOTH
def test_stream_error_breaks_a_stream_off_with_the_provider_s_event(dialect):
    with ScriptedServer(
        [fault("stream_error"), fault("stream_error", message="Sorry", type="odd")]
    ) as server:
        with streaming(server, dialect) as response:
            events, error = events_in(response)
        assert (response.status_code, error) == (200, None)
        decoder = decoded(dialect, events)
        assert decoder.failure.kind == ("overloaded_error" if dialect == "anthropic" else "server_error")
        assert not decoder.complete
        with streaming(server, dialect) as response:
            failure = decoded(dialect, events_in(response)[0]).failure
        assert (failure.kind, failure.message) == ("odd", "Sorry")


@BOTH
def test_stream_error_without_a_stream_is_a_status(dialect):
    with ScriptedServer([fault("stream_error")]) as server:
        assert post(server, dialect).status_code == (529 if dialect == "anthropic" else 500)


@BOTH
@STREAMED
def test_html_is_a_web_page_instead_of_an_answer(dialect, stream):
    with ScriptedServer([fault("html"), fault("html", status=200)]) as server:
        for status in (502, 200):
            response = post(server, dialect, stream=stream)
            assert (response.status_code, response.headers["content-type"]) == (status, "text/html")
            assert response.text.startswith("<html>")
        assert [request.status for request in server.requests] == [502, 200]


def whole_reply(server, dialect, stream, **more):
    response = post(server, dialect, stream=stream, **more)
    if not stream:
        return DECODED[dialect](response.json())
    decoder = decoded(dialect, SseParser().feed(response.content))
    assert decoder.complete
    return decoder.reply()


@BOTH
@STREAMED
def test_an_empty_answer_is_whole_and_says_nothing(dialect, stream):
    with ScriptedServer([fault("empty")]) as server:
        reply = whole_reply(server, dialect, stream)
        assert (reply.message["content"], reply.finish_reason) == ("", "stop")
        assert server.requests[0].usage.prompt_tokens > 0


@BOTH
@STREAMED
def test_a_long_answer_has_100_000_characters(dialect, stream):
    with ScriptedServer([fault("long")]) as server:
        assert len(whole_reply(server, dialect, stream).message["content"]) == 100_000


@BOTH
@STREAMED
def test_tool_call_calls_a_tool_instead_of_answering(dialect, stream):
    tool = ANTHROPIC_TOOL if dialect == "anthropic" else OPENAI_TOOL
    with ScriptedServer([fault("tool_call", times=2)]) as server:
        for tools in ({}, {"tools": [tool]}):
            reply = whole_reply(server, dialect, stream, **tools)
            assert reply.message["content"] is None
            assert reply.message["tool_calls"][0]["function"]["name"] == "terminal"
            assert reply.finish_reason == "tool_calls"


def test_a_fault_for_ever_never_ends_and_an_unknown_one_is_an_error():
    with ScriptedServer([fault(500, times=None)]) as server:
        assert {post(server, "openai").status_code for _ in range(5)} == {500}
    with pytest.raises(ValueError, match="'explode' is not a fault; use a status or one of cut, empty, hang"):
        fault("explode")


def test_every_fault_is_in_the_readme():
    from importlib.resources import files

    text = files("plimsoll.testing.scripted_server").joinpath("README.md").read_text("utf-8")
    assert [kind for kind in KINDS - {"status"} if f"`{kind}`" not in text] == []


def _is_json(text):
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
