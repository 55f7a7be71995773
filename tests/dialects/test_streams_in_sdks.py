"""Streams of every dialect, translated to every other, as the providers' own SDKs read them."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import RawMessageStreamEvent
from dialect_strategies import quick
from hypothesis import given
from hypothesis import strategies as st
from openai import omit
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter

from plimsoll.dialects import (
    ANTHROPIC,
    GEMINI,
    OPENAI,
    RESPONSES,
    BlockEnd,
    Delta,
    Dialect,
    Failure,
    Finish,
    ReasoningDelta,
    SignatureDelta,
    SseEvent,
    Start,
    TextDelta,
    ToolCallDelta,
    Usage,
    UsageReport,
    dialects,
)
from plimsoll.dialects.reply import BlockDelta
from plimsoll.dialects.responses.reply import envelope

Calls = dict[str, tuple[str, Any]]
_RESPONSE_EVENTS: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
_MESSAGE_EVENTS: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)


def encoded(dialect: Dialect, deltas: Iterable[Delta]) -> list[SseEvent]:
    encoder = dialect.encoder({}, 7)
    return [event for delta in deltas for event in encoder.encode(delta)] + encoder.finish()


def decoded(dialect: Dialect, events: Iterable[dict[str, Any]]) -> list[Delta]:
    decoder = dialect.decoder()
    deltas = [delta for event in events for delta in decoder.feed(event.get("type"), event)]
    assert decoder.complete or decoder.failure
    return deltas


def in_openai(events: Sequence[SseEvent]) -> Any:
    """The message of a chat completion."""
    state = ChatCompletionStreamState()
    for event in events:
        if not event.is_done:
            state.handle_chunk(ChatCompletionChunk.model_validate(event.decoded()))
    return state.current_completion_snapshot.choices[0].message


def in_anthropic(events: Sequence[SseEvent]) -> Any:
    """The message; its blocks must not overlap."""
    message, arguments, is_open = None, dict[int, bytes](), -1
    for one in events:
        event = _MESSAGE_EVENTS.validate_python(one.decoded())
        if event.type == "content_block_start":
            assert is_open == -1
            is_open = event.index
        elif event.type in ("content_block_delta", "content_block_stop"):
            assert event.index == is_open
            is_open = is_open if event.type == "content_block_delta" else -1
        message = accumulate_event(event=event, current_snapshot=message, json_bufs=arguments)
    assert is_open == -1
    return message


def in_responses(events: Iterable[SseEvent]) -> tuple[Any, list[Any]]:
    """The completed response, and the items that were completed one by one."""
    state: ResponseStreamState[Any] = ResponseStreamState(input_tools=omit, text_format=omit)
    response, items = None, []
    for one in events:
        for event in state.handle_event(_RESPONSE_EVENTS.validate_python(one.decoded())):
            if event.type in ("response.completed", "response.incomplete", "response.failed"):
                response = event.response
            elif event.type == "response.output_item.done":
                items.append(event.item)
    return response, items


def _in_gemini(events: Sequence[SseEvent]) -> list[dict[str, Any]]:
    """All parts."""
    candidates = (one["candidates"][0] for event in events if (one := event.decoded()))
    return [part for candidate in candidates for part in candidate["content"]["parts"]]


def said_in(dialect: Dialect, events: Sequence[SseEvent]) -> tuple[str, Calls]:
    """The text and the calls that a client reads."""
    if dialect is GEMINI:
        parts = _in_gemini(events)
        text = "".join(part.get("text", "") for part in parts if not part.get("thought"))
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        return text, {one["id"]: (one["name"], one["args"]) for one in calls}
    if dialect is ANTHROPIC:
        content = in_anthropic(events).content
        text = "".join(block.text for block in content if block.type == "text")
        return text, {one.id: (one.name, one.input) for one in content if one.type == "tool_use"}
    if dialect is OPENAI:
        message = in_openai(events)
        found = [(one.id, one.function) for one in message.tool_calls or ()]
        return message.content or "", {key: (one.name, json.loads(one.arguments)) for key, one in found}
    response, items = in_responses(events)
    assert [one.id for one in items] == [one.id for one in response.output]
    texts = (part.text for one in items if one.type == "message" for part in one.content)
    own = [one for one in items if one.type == "function_call"]
    return "".join(texts), {one.call_id: (one.name, json.loads(one.arguments)) for one in own}


@st.composite
def mixed_up(draw: st.DrawFn) -> list[Delta]:
    """A reply with text, thinking and calls; the deltas of each are in order, and nothing else is."""
    texts = st.lists(st.sampled_from(["a", "b ", ""]), max_size=3)
    streams: list[list[Delta]] = [
        [TextDelta(text) for text in draw(texts)],
        [ReasoningDelta(text) for text in draw(texts)],
    ]
    for number in range(draw(st.integers(0, 3))):
        arguments = draw(st.sampled_from(["", '{"key": "value"}']))
        cut = draw(st.integers(0, len(arguments)))
        first = ToolCallDelta(number, f"call_{number}", f"tool_{number}")
        pieces = [ToolCallDelta(number, arguments=one) for one in (arguments[:cut], arguments[cut:])]
        streams.append([first, *pieces])
    order = draw(st.permutations([n for n, stream in enumerate(streams) for _ in stream]))
    found = [streams[n].pop(0) for n in order]
    numbers = list(dict.fromkeys(one.index for one in found if isinstance(one, ToolCallDelta)))
    return [
        Start("resp_1", "a-model"),
        *(
            ToolCallDelta(numbers.index(one.index), one.id, one.name, one.arguments)
            if isinstance(one, ToolCallDelta)
            else one
            for one in found
        ),
        Finish("tool_calls" if numbers else "stop"),
        UsageReport(Usage(9, 3, 12)),
    ]


@quick
@given(mixed_up())
def test_deltas_in_any_order_are_the_same_reply_in_every_sdk(deltas):
    text = "".join(one.text for one in deltas if isinstance(one, TextDelta))
    calls: dict[int, list[ToolCallDelta]] = {}
    for one in deltas:
        if isinstance(one, ToolCallDelta):
            calls.setdefault(one.index, []).append(one)
    wanted = {
        str(pieces[0].id): (pieces[0].name, json.loads("".join(one.arguments for one in pieces) or "{}"))
        for pieces in calls.values()
    }
    for dialect in dialects():
        assert said_in(dialect, encoded(dialect, deltas)) == (text, wanted), dialect


def test_text_after_a_complete_call_is_passed_on_at_once():
    call = [ToolCallDelta(0, "call_0", "look", "{}"), BlockEnd()]
    for dialect in (ANTHROPIC, GEMINI, RESPONSES):
        encoder = dialect.encoder({}, 7)
        for delta in (Start("resp_1", "a-model"), *call):
            encoder.encode(delta)
        assert any("After." in event.data for event in encoder.encode(TextDelta("After.")))


CREATED = {
    "type": "response.created",
    "response": envelope("resp_1", "gpt-5", {}, 7, [], None, None, status="in_progress"),
}
CALL = {"type": "function_call", "id": "fc_a", "call_id": "call_a", "name": "look", "arguments": '{"key": 3}'}
MESSAGE = {
    "type": "message",
    "id": "msg_a",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Hello.", "annotations": [], "logprobs": []}],
}
EMPTY_PART = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
REASONING = {
    "type": "reasoning",
    "id": "rs_a",
    "summary": [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}],
    "encrypted_content": "gAAAA",
}
SEARCH = {
    "type": "web_search_call",
    "id": "ws_a",
    "status": "completed",
    "action": {"type": "search", "query": "x"},
}


def item_event(kind: str, index: int, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": f"response.output_item.{kind}", "output_index": index, "item": item}


def text_event(index: int, delta: str) -> dict[str, Any]:
    at = {"item_id": "msg_a", "output_index": index, "content_index": 0}
    return {"type": "response.output_text.delta", **at, "delta": delta, "logprobs": []}


def thought_event(index: int, part: int, delta: str) -> dict[str, Any]:
    at = {"item_id": "rs_a", "output_index": index, "summary_index": part}
    return {"type": "response.reasoning_summary_text.delta", **at, "delta": delta}


def completed(*output: dict[str, Any]) -> dict[str, Any]:
    response = {**CREATED["response"], "status": "completed", "output": list(output)}
    return {"type": "response.completed", "response": response}


@pytest.mark.parametrize("dialect", [OPENAI, ANTHROPIC, GEMINI, RESPONSES], ids=repr)
def test_what_a_responses_server_did_not_stream_is_taken_from_its_completed_items(dialect):
    events = [
        CREATED,
        item_event("added", 0, {**MESSAGE, "content": []}),
        text_event(0, "Hel"),
        item_event("done", 0, MESSAGE),
        item_event("added", 1, {**CALL, "arguments": ""}),
        item_event("done", 1, CALL),
        completed(MESSAGE, CALL),
    ]
    said = said_in(dialect, encoded(dialect, decoded(RESPONSES, events)))
    assert said == ("Hello.", {"call_a": ("look", {"key": 3})})


def test_the_parts_of_a_reasoning_summary_stay_apart():
    events = [
        CREATED,
        item_event("added", 0, {**REASONING, "summary": []}),
        thought_event(0, 0, "O"),
        thought_event(0, 0, "ne."),
        thought_event(0, 1, "Two."),
        item_event("done", 0, REASONING),
        item_event("done", 1, MESSAGE),
        completed(REASONING, MESSAGE),
    ]
    content = in_anthropic(encoded(ANTHROPIC, decoded(RESPONSES, events))).content
    assert [block.thinking for block in content if block.type == "thinking"] == ["One.\n\nTwo."]


@pytest.mark.parametrize("raw", [0, 1, 3, 5, 9])
def test_items_that_are_encoded_again_keep_their_ids_and_their_encrypted_content(raw):
    # The first events reach the client as bytes, and the others are encoded.
    events = [
        CREATED,
        item_event("added", 0, {**REASONING, "summary": []}),
        item_event("done", 0, REASONING),
        item_event("added", 1, SEARCH),
        item_event("done", 1, SEARCH),
        item_event("added", 2, {**MESSAGE, "content": []}),
        {**text_event(2, ""), "type": "response.content_part.added", "part": EMPTY_PART},
        text_event(2, "Hello."),
        item_event("done", 2, MESSAGE),
        completed(REASONING, SEARCH, MESSAGE),
    ]
    decoder, encoder = RESPONSES.decoder(), RESPONSES.encoder({}, 7)
    sent: list[SseEvent] = []
    for number, event in enumerate(events):
        own = [one for delta in decoder.feed(None, event) for one in encoder.encode(delta)]
        sent += [SseEvent(None, json.dumps({"sequence_number": 0, **event}))] if number < raw else own
    response, items = in_responses([*sent, *encoder.finish()])
    assert [one.id for one in items] == ["rs_a", "ws_a", "msg_a"]
    assert [one.id for one in response.output] == ["rs_a", "ws_a", "msg_a"]
    assert response.output[0].encrypted_content == "gAAAA"


def test_a_call_without_arguments_reaches_openai_clients_with_an_empty_object():
    events = [
        {"type": "message_start", "message": {"id": "msg_1", "model": "claude-sonnet-4-5", "content": []}},
        {
            "type": "content_block_start",
            "content_block": {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}},
        },
        {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": ""}},
        {"type": "content_block_stop"},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]
    message = in_openai(encoded(OPENAI, decoded(ANTHROPIC, events)))
    assert message.tool_calls[0].function.arguments == "{}"


def test_several_thinking_blocks_are_read_by_openais_sdk_and_come_back_as_they_were():
    signed = [
        {"type": "thinking", "thinking": "One.", "signature": "a"},
        {"type": "redacted_thinking", "data": "b"},
    ]
    deltas = [
        Start("msg_1", "claude-sonnet-4-5"),
        ReasoningDelta("One."),
        SignatureDelta("a"),
        BlockEnd(),
        BlockDelta(signed[1]),
        TextDelta("Hello."),
        Finish("stop"),
    ]
    events = encoded(OPENAI, deltas)
    returned = in_openai(events).to_dict()
    messages = [
        {"role": "user", "content": "Hi."},
        {"role": "assistant", **returned},
        {"role": "user", "content": "?"},
    ]
    request = OPENAI.decode_request({"model": "claude-sonnet-4-5", "messages": messages})
    sent = ANTHROPIC.encode_request(ANTHROPIC.adapted(request))
    assert sent["messages"][1]["content"][:2] == signed
    decoder = OPENAI.decoder()
    for event in events:
        decoder.feed(event.event, event.decoded())
    assert decoder.reply().message["thinking_blocks"] == signed


def test_usage_in_a_response_has_every_field_that_openais_sdk_requires():
    deltas = [Start("resp_1", "gpt-5"), TextDelta("Hi."), Finish("stop"), UsageReport(Usage(9, 3, 12))]
    response, _ = in_responses(encoded(RESPONSES, deltas))
    assert response.usage.input_tokens_details.cache_write_tokens == 0


@pytest.mark.parametrize(
    ("status", "kinds"),
    [
        ("UNAVAILABLE", ["server_error", "overloaded_error", "server_is_overloaded"]),
        ("RESOURCE_EXHAUSTED", ["rate_limit_error", "rate_limit_error", "rate_limit_exceeded"]),
        ("INVALID_ARGUMENT", ["invalid_request_error", "invalid_request_error", "invalid_prompt"]),
    ],
)
def test_an_error_of_a_google_stream_has_the_type_that_each_client_knows(status, kinds):
    event = {"error": {"code": 503, "message": "No.", "status": status}}
    (failure,) = GEMINI.decoder().feed(None, event)
    told = [one.encoder({}, 7).encode(failure)[-1].decoded() or {} for one in (OPENAI, ANTHROPIC, RESPONSES)]
    assert [told[0]["error"]["type"], told[1]["error"]["type"]] == kinds[:2]
    assert told[2]["response"]["error"]["code"] == kinds[2]


@pytest.mark.parametrize(
    ("kind", "code"), [("tokens", 429), ("529", 503), ("server_is_overloaded", 503), ("x", 500)]
)
def test_an_error_of_another_stream_reaches_google_clients_with_its_status(kind, code):
    (event,) = GEMINI.encoder({}, 7).encode(Failure(kind, "No."))
    assert (event.decoded() or {})["error"]["code"] == code


def test_a_stream_that_breaks_off_ends_with_the_failure_of_the_response_that_began():
    begun = SseEvent("response.created", json.dumps({"sequence_number": 0, **CREATED}))
    response, _ = in_responses([begun, RESPONSES.failure_event(500, "Cut off.", begun)])
    assert (response.id, response.status, response.error.message) == ("resp_1", "failed", "Cut off.")
