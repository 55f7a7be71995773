"""Requests, replies and streams on Anthropic's wire beyond the golden files."""

import copy

import pytest
from dialect_strategies import normal, quick, wild
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.dialects import ChatRequest, Reply, SseParser, Thinking, Usage, anthropic, collect, openai
from plimsoll.dialects.anthropic import EXACT, rules_for
from plimsoll.dialects.finish import finish_from_anthropic, finish_from_openai, finish_to_anthropic
from plimsoll.dialects.reply import (
    BlockEnd,
    Finish,
    ReasoningDelta,
    SignatureDelta,
    Start,
    TextDelta,
    ToolCallDelta,
)
from plimsoll.errors import InvalidConversation, MalformedReply

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
HI = ({"role": "user", "content": "hi"},)
REASONS = ["end_turn", "stop_sequence", "pause_turn", "max_tokens", "model_context_window_exceeded"]
REASONS += ["tool_use", "refusal"]


def sent(deltas, dialect=anthropic):
    encoder = dialect.StreamEncoder()
    events = [
        event for delta in [Start("msg_1", "m"), *deltas] for event in encoder.encode(delta)
    ] + encoder.finish()
    return SseParser().feed(b"".join(event.encode() for event in events))


def read(events, dialect=anthropic):
    decoder = dialect.StreamDecoder()
    for event in events:
        decoder.feed(event.event, event.decoded())
    return decoder


@quick
@given(normal())
def test_a_request_is_unchanged_after_encoding_and_decoding(messages):
    request = ChatRequest("m", tuple(messages), tools=(TOOL,), max_tokens=9, tool_choice="auto", stop=("x",))
    assert anthropic.decode_request(anthropic.encode_request(request, EXACT)) == request


@quick
@given(wild())
def test_a_request_of_any_shape_is_a_fixed_point_on_the_wire(messages):
    before = copy.deepcopy(messages)
    wire = anthropic.encode_request(ChatRequest("m", tuple(messages)), EXACT)
    assert messages == before
    assert anthropic.encode_request(anthropic.decode_request(wire), EXACT) == wire


@pytest.mark.parametrize("parallel", [None, False])
@pytest.mark.parametrize(
    ("choice", "wire"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ({"type": "function", "function": {"name": "f"}}, {"type": "tool", "name": "f"}),
    ],
)
def test_every_tool_choice_converts_both_ways(choice, wire, parallel):
    request = ChatRequest("m", HI, tools=(TOOL,), tool_choice=choice, parallel_tool_calls=parallel)
    body = anthropic.encode_request(request)
    if parallel is False and choice != "none":
        wire = {**wire, "disable_parallel_tool_use": True}
    assert body["tool_choice"] == wire
    back = anthropic.decode_request(body)
    assert back.tool_choice == choice
    assert back.parallel_tool_calls == (None if choice == "none" else parallel)


def test_a_tool_choice_without_tools_is_not_sent():
    assert "tool_choice" not in anthropic.encode_request(ChatRequest("m", HI, tool_choice="auto"))


def test_a_limit_is_always_sent():
    assert anthropic.encode_request(ChatRequest("m", HI))["max_tokens"] == anthropic.DEFAULT_MAX_TOKENS


@pytest.mark.parametrize(
    ("model", "sampling", "effort"),
    [
        ("claude-haiku-4-5-20251001", True, False),
        ("claude-sonnet-4-20250514", True, False),
        ("claude-3-5-sonnet-20241022", True, False),
        ("claude-opus-4-5", True, True),
        ("anthropic.claude-opus-4-7-v1:0", False, True),
        ("anthropic/claude-opus-4.8", False, True),
        ("claude-opus-5-5", False, True),
        ("claude-fable-5.1", False, True),
        ("claude-sonnet-5", False, True),
    ],
)
def test_a_claude_model_gets_only_the_fields_that_its_version_accepts(model, sampling, effort):
    rules = rules_for(model)
    assert (rules.sampling, rules.effort) == (sampling, effort)
    request = ChatRequest(model, HI, temperature=1.7, top_p=0.9, thinking=Thinking(effort="minimal"))
    body = anthropic.encode_request(request)
    assert body.get("temperature") == (1.0 if sampling else None)
    assert body.get("output_config") == ({"effort": "low"} if effort else None)


def test_a_thinking_budget_becomes_adaptive_where_budgets_are_refused():
    thinking = Thinking("enabled", budget_tokens=2048)
    old = anthropic.encode_request(ChatRequest("claude-haiku-4-5", HI, thinking=thinking))
    new = anthropic.encode_request(ChatRequest("claude-opus-5-5", HI, thinking=thinking))
    assert old["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert new["thinking"] == {"type": "adaptive"}


def test_a_body_without_messages_is_refused_and_a_reply_without_content_is_malformed():
    with pytest.raises(InvalidConversation):
        anthropic.decode_request({"model": "m"})
    for body in (None, {}, {"content": "x"}, {"type": "error"}):
        with pytest.raises(MalformedReply):
            anthropic.decode_reply(body)


@pytest.mark.parametrize("native", REASONS)
def test_every_stop_reason_of_anthropic_survives_both_ways(native):
    reason = finish_from_anthropic(native)
    assert reason in ("stop", "length", "tool_calls", "content_filter")
    assert finish_to_anthropic(reason, native) == native
    # On the other wire the canonical word is used, and the way back gives a word that means the same.
    assert finish_from_anthropic(finish_to_anthropic(finish_from_openai(reason), reason)) == reason


def test_unknown_finish_reasons_count_as_a_stop_and_no_reason_as_none():
    assert finish_from_anthropic("something_new") == finish_from_openai("eos") == "stop"
    assert finish_from_anthropic(None) is finish_from_openai(None) is None
    assert finish_from_openai("MAX_TOKENS") == "length"


def test_a_reply_of_an_openai_upstream_keeps_its_reasoning():
    reply = Reply(
        {"role": "assistant", "content": "x", "reasoning_content": "hm"}, "stop", Usage(1, 2, 3), "i", "m"
    )
    body = anthropic.encode_reply(reply)
    assert body["content"][0] == {"type": "thinking", "thinking": "hm", "signature": ""}
    assert body["stop_reason"] == "end_turn"
    # The client sends it back, and the provider that wrote it gets its reasoning again.
    request = anthropic.decode_request({"messages": [{"role": "assistant", "content": body["content"]}]})
    assert openai.encode_request(request)["messages"][0]["reasoning_content"] == "hm"


STEPS = st.lists(
    st.one_of(
        st.sampled_from("abc").map(TextDelta),
        st.sampled_from("abc").map(ReasoningDelta),
        st.uuids().map(lambda seal: SignatureDelta(str(seal))),
        st.just(BlockEnd()),
    ),
    max_size=8,
)


@quick
@given(STEPS, st.integers(0, 3), st.randoms(use_true_random=False))
def test_any_stream_is_the_same_reply_after_either_wire(steps, calls, shuffle):
    pieces = [ToolCallDelta(n, arguments=piece) for n in range(calls) for piece in ('{"x"', ": 1}")]
    order = sorted(range(len(pieces)), key=lambda _: shuffle.random())
    by_call = {n: iter([p for p in pieces if p.index == n]) for n in range(calls)}
    mixed = [next(by_call[pieces[at].index]) for at in order]
    opened = [ToolCallDelta(n, f"call_{n}", "f") for n in range(calls)]
    deltas = [Start("msg_1", "m"), *steps, *opened, *mixed, Finish("tool_calls" if calls else "stop")]
    reply = collect(deltas)
    decoder = read(sent(deltas))
    assert decoder.complete
    assert decoder.reply().message == reply.message
    names = [event.event for event in sent(deltas)]
    assert names.count("content_block_start") == names.count("content_block_stop")
    assert names[0] == "message_start"
    assert names[-2:] == ["message_delta", "message_stop"]


@quick
@given(normal())
def test_a_reply_is_unchanged_after_encoding_and_decoding(messages):
    for message in messages:
        if message["role"] == "assistant":
            reply = Reply(message, "stop", None, "i", "m")
            back = anthropic.decode_reply(anthropic.encode_reply(reply))
            assert (back.message, back.finish_reason) == (message, "stop")


def test_an_error_event_ends_the_stream():
    decoder = anthropic.StreamDecoder()
    decoder.feed("message_start", {"type": "message_start", "message": {"id": "m", "usage": None}})
    error = {"type": "overloaded_error", "message": "Overloaded"}
    (failure,) = decoder.feed("error", {"type": "error", "error": error})
    assert (failure.kind, failure.message) == ("overloaded_error", "Overloaded")
    decoder.feed("message_stop", {"type": "message_stop"})
    assert not decoder.complete
    for dialect in (anthropic, openai):
        (event,) = dialect.StreamEncoder().encode(failure)
        assert "Overloaded" in event.data


def test_unknown_events_are_skipped():
    decoder = anthropic.StreamDecoder()
    assert decoder.feed("ping", {"type": "ping"}) == []
    assert decoder.feed(None, None) == []
    assert decoder.feed("content_block_delta", {"type": "content_block_delta", "delta": None}) == []
    assert decoder.feed("later_invention", {"type": "later_invention"}) == []


def test_arguments_that_arrive_in_one_event_are_read():
    decoder = anthropic.StreamDecoder()
    block = {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}}
    decoder.feed(None, {"type": "content_block_start", "index": 0, "content_block": block})
    decoder.feed(None, {"type": "content_block_stop", "index": 0})
    assert decoder.reply().message["tool_calls"][0]["function"]["arguments"] == '{"x": 1}'


def test_an_unknown_block_is_collected_and_passed_on():
    decoder = anthropic.StreamDecoder()
    start = {"type": "compaction", "content": ""}
    decoder.feed(None, {"type": "content_block_start", "index": 0, "content_block": start})
    for piece in ("so ", "far"):
        delta = {"type": "compaction_delta", "content": piece}
        decoder.feed(None, {"type": "content_block_delta", "index": 0, "delta": delta})
    decoder.feed(None, {"type": "content_block_stop", "index": 0})
    assert decoder.reply().message["content"] == [{"type": "compaction", "content": "so far"}]
