"""Every golden file, both directions, to the byte."""

import json
from pathlib import Path

import pytest

from plimsoll.dialects import ChatRequest, Reply, SseParser, Thinking, Usage, anthropic, collect, openai
from plimsoll.dialects.anthropic import EXACT

GOLDEN = Path(__file__).parent / "golden"
DIALECTS = {"anthropic": anthropic, "openai": openai}


def files(pattern):
    found = sorted(GOLDEN.glob(f"*/{pattern}"))
    assert found
    return [pytest.param(path, id=f"{path.parent.name}-{path.stem}") for path in found]


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def request_from(fields):
    fields = {
        key: tuple(value) if key in ("messages", "tools", "stop") else value for key, value in fields.items()
    }
    if "thinking" in fields:
        fields["thinking"] = Thinking(**fields["thinking"])
    return ChatRequest(**fields)


def reply_from(fields):
    return Reply(**{**fields, "usage": Usage(**fields["usage"])})


@pytest.mark.parametrize("path", files("request_*.json"))
def test_a_request_is_read_as_its_golden_file_says(path):
    golden = load(path)
    assert DIALECTS[path.parent.name].decode_request(golden["wire"]) == request_from(golden["canonical"])


@pytest.mark.parametrize("path", files("request_*.json"))
def test_a_request_is_written_as_its_golden_file_says(path):
    golden = load(path)
    request = request_from(golden["canonical"])
    if path.parent.name == "anthropic":
        body = anthropic.encode_request(request, EXACT)
    else:
        body = openai.encode_request(request, openai.EXACT)
    assert json.dumps(body, indent=1) == json.dumps(golden["wire"], indent=1)


@pytest.mark.parametrize("path", files("reply_*.json"))
def test_a_reply_is_read_as_its_golden_file_says(path):
    golden = load(path)
    assert DIALECTS[path.parent.name].decode_reply(golden["wire"]) == reply_from(golden["canonical"])


@pytest.mark.parametrize("path", files("reply_*.json"))
def test_a_reply_is_written_as_its_golden_file_says(path):
    golden = load(path)
    reply = reply_from(golden["canonical"])
    if path.parent.name == "anthropic":
        body = anthropic.encode_reply(reply)
    else:
        body = openai.encode_reply(reply, created=1790000000)
    assert body == golden["wire"]


def events(path):
    return SseParser().feed(path.read_bytes())


@pytest.mark.parametrize("path", files("stream_*.sse"))
def test_a_stream_amounts_to_the_reply_of_its_golden_file(path):
    decoder = DIALECTS[path.parent.name].StreamDecoder()
    deltas = [delta for event in events(path) for delta in decoder.feed(event.event, event.decoded())]
    expected = reply_from(load(path.with_suffix(".json")))
    assert decoder.reply() == expected
    assert collect(deltas) == expected
    assert decoder.complete


@pytest.mark.parametrize("path", files("stream_*.sse"))
def test_a_stream_cut_before_its_last_events_is_not_complete(path):
    decoder = DIALECTS[path.parent.name].StreamDecoder()
    last = 1 if path.parent.name == "anthropic" else 3
    for event in events(path)[:-last]:
        decoder.feed(event.event, event.decoded())
    assert not decoder.complete
    assert decoder.reply().message["content"]


@pytest.mark.parametrize("path", files("stream_*.sse"))
@pytest.mark.parametrize("target", ["anthropic", "openai"])
def test_a_stream_passed_on_in_either_dialect_amounts_to_the_same_reply(path, target):
    decoder = DIALECTS[path.parent.name].StreamDecoder()
    encoder = DIALECTS[target].StreamEncoder()
    sent = b""
    for event in events(path):
        for delta in decoder.feed(event.event, event.decoded()):
            sent += b"".join(out.encode() for out in encoder.encode(delta))
    sent += b"".join(out.encode() for out in encoder.finish())
    reader = DIALECTS[target].StreamDecoder()
    for event in SseParser().feed(sent):
        reader.feed(event.event, event.decoded())
    assert reader.complete
    given, got = decoder.reply(), reader.reply()
    assert got.finish_reason == given.finish_reason
    assert got.usage.prompt_tokens == given.usage.prompt_tokens
    assert got.usage.completion_tokens == given.usage.completion_tokens
    assert (got.id, got.model) == (given.id, given.model)
    if "server_tool" not in path.stem or target == "anthropic":
        assert got.message == given.message


@pytest.mark.parametrize("path", files("stream_*.sse"))
def test_a_stream_passed_on_in_its_own_dialect_has_the_events_it_came_with(path):
    dialect = DIALECTS[path.parent.name]
    decoder = dialect.StreamDecoder()
    encoder = dialect.StreamEncoder(**({"created": 1790000000} if dialect is openai else {}))
    sent = []
    for event in events(path):
        for delta in decoder.feed(event.event, event.decoded()):
            sent += encoder.encode(delta)
    sent += encoder.finish()
    came = [event for event in events(path) if event.event != "ping"]
    assert [event.event for event in sent] == [event.event for event in came]
    if path.stem != "stream_server_tool":  # its arguments and its usage are spelt in another way
        assert [event.decoded() for event in sent] == [event.decoded() for event in came]
