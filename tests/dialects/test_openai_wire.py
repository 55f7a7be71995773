"""The chat completions wire and the habits of the servers that speak it."""

import copy
import re

import pytest
from dialect_strategies import normal, quick, wild
from hypothesis import given

from plimsoll.dialects import ChatRequest, Reply, Usage, openai
from plimsoll.dialects.reply import BlockEnd, Finish, Start, TextDelta, ToolCallDelta, UsageReport
from plimsoll.errors import InvalidConversation, MalformedReply

FOREIGN = {"thinking_blocks", "block_order", "is_error", "anthropic"}
SEALED = {"type": "thinking", "thinking": "hm", "signature": "s"}


def stream(*chunks):
    decoder = openai.StreamDecoder()
    deltas = [delta for chunk in chunks for delta in decoder.feed(None, chunk)]
    return decoder, deltas


def chunk(finish=None, **delta):
    return {"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def call(index, call_id, name, arguments):
    entry = {"function": {"arguments": arguments}}
    if index is not None:
        entry["index"] = index
    if call_id is not None:
        entry["id"] = call_id
    if name is not None:
        entry["function"]["name"] = name
    return entry


@quick
@given(normal())
def test_messages_without_foreign_parts_come_back_exactly(messages):
    plain = [
        {key: value for key, value in message.items() if key not in FOREIGN}
        for message in messages
        if "server_tool_use" not in str(message.get("content"))
        if message["role"] != "tool" or isinstance(message.get("content"), str)
        if "'file'" not in str(message.get("content"))
    ]
    request = ChatRequest("anthropic/claude-opus-5", tuple(plain))
    assert openai.decode_request(openai.encode_request(request)).messages == tuple(plain)


@quick
@given(wild())
def test_nothing_that_only_another_provider_knows_is_sent(messages):
    before = copy.deepcopy(messages)
    sent = openai.encode_request(ChatRequest("gpt-5.6", tuple(messages)))["messages"]
    assert messages == before
    for message in sent:
        assert not FOREIGN & message.keys()
        assert "cache_control" not in str(message)
        assert "server_tool_use'" not in str(message)


@quick
@given(normal())
def test_each_request_extends_the_one_before(messages):
    whole = openai.encode_request(ChatRequest("m", tuple(messages)))["messages"]
    for cut in range(len(messages)):
        if messages[cut]["role"] == "tool":
            continue  # results come together, so that what they hold besides text can follow them
        sent = openai.encode_request(ChatRequest("m", tuple(messages[:cut])))["messages"]
        assert sent == whole[: len(sent)]


def test_markers_go_along_for_claude_models_only():
    marked = {
        "role": "user",
        "content": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}],
    }
    for model, count in (("anthropic/claude-opus-5", 1), ("gpt-5.6", 0), ("qwen3", 0)):
        sent = openai.encode_request(ChatRequest(model, (marked,)))
        assert str(sent).count("cache_control") == count


@pytest.mark.parametrize(
    ("model", "key"),
    [
        ("gpt-4o", "max_tokens"),
        ("gpt-5.6-mini", "max_completion_tokens"),
        ("openai/o4-mini", "max_completion_tokens"),
        ("gpt-oss-20b", "max_tokens"),
        ("qwen3", "max_tokens"),
    ],
)
def test_the_limit_has_the_name_that_the_model_takes(model, key):
    body = openai.encode_request(ChatRequest(model, (), max_tokens=7))
    assert body[key] == 7


def test_what_only_anthropic_was_asked_is_not_sent():
    server_tool = {"type": "web_search_20250305", "name": "web_search"}
    request = ChatRequest(
        "m", (), tools=(server_tool,), tool_choice="auto", extra={"anthropic": {"top_k": 3}}
    )
    assert openai.encode_request(request) == {"model": "m", "messages": []}


def test_messages_that_are_none_are_refused():
    for messages in (None, "hi", ["hi"], [{"content": "x"}]):
        with pytest.raises(InvalidConversation):
            openai.decode_request({"model": "m", "messages": messages})


def test_a_reply_without_a_message_is_malformed():
    for body in (None, {}, {"choices": []}, {"choices": [None]}, {"error": {"message": "x"}}):
        with pytest.raises(MalformedReply):
            openai.decode_reply(body)


def test_empty_fields_of_a_reply_are_dropped_and_a_stop_after_a_call_is_a_call():
    message = {"role": "assistant", "content": None, "refusal": None, "annotations": [], "audio": None}
    asked = {
        **message,
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }
    reply = openai.decode_reply({"choices": [{"message": asked, "finish_reason": "stop"}], "usage": None})
    assert reply.message.keys() == {"role", "content", "tool_calls"}
    assert (reply.finish_reason, reply.native_finish_reason, reply.usage) == ("tool_calls", "stop", None)
    empty = openai.decode_reply({"choices": [{"message": message, "finish_reason": "stop"}]})
    assert empty.message == {"role": "assistant", "content": ""}


def test_a_client_is_shown_thinking_and_can_hand_it_back():
    reply = Reply({"role": "assistant", "content": "x", "thinking_blocks": [SEALED]}, "stop")
    shown = openai.encode_reply(reply)["choices"][0]["message"]
    assert shown["reasoning_content"] == "hm"
    assert openai.decode_request({"messages": [shown]}).messages[0]["thinking_blocks"] == [SEALED]


def test_a_client_gets_text_even_between_server_tools():
    searched = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    parts = [{"type": "text", "text": "I look. "}, searched, {"type": "text", "text": "Found."}]
    shown = openai.encode_reply(Reply({"role": "assistant", "content": parts}, "stop"))["choices"][0][
        "message"
    ]
    assert shown["content"] == "I look. Found."


def test_unsigned_thinking_blocks_are_sent_as_reasoning():
    blocks = [{"type": "thinking", "thinking": "a"}, {"type": "thinking", "thinking": "b", "signature": ""}]
    message = {"role": "assistant", "content": "x", "thinking_blocks": blocks}
    assert openai.encode_request(ChatRequest("m", (message,)))["messages"][0]["reasoning_content"] == "a\n\nb"


def test_calls_that_all_claim_the_same_index_are_distinguished_by_their_ids():
    decoder, _ = stream(
        chunk(tool_calls=[call(0, "a", "f", "{}")]),
        chunk(tool_calls=[call(0, "b", "g", "{}")]),
        chunk("stop"),
    )
    calls = decoder.reply().message["tool_calls"]
    assert [(c["id"], c["function"]["name"]) for c in calls] == [("a", "f"), ("b", "g")]
    assert decoder.reply().finish_reason == "tool_calls"


def test_calls_without_an_index_or_an_id_are_put_together():
    decoder, _ = stream(
        chunk(tool_calls=[call(None, "a", "f", '{"x":')]),
        chunk(tool_calls=[call(None, None, None, "1}")]),
        chunk(tool_calls=[call(None, "b", "g", "")]),
    )
    calls = decoder.reply().message["tool_calls"]
    assert [c["function"]["arguments"] for c in calls] == ['{"x":1}', "{}"]
    nameless, _ = stream(chunk(tool_calls=[call(0, None, "f", {"x": 1})]))
    made = nameless.reply().message["tool_calls"][0]
    assert made["function"] == {"name": "f", "arguments": '{"x": 1}'}


@pytest.mark.parametrize("streamed", [True, False])
def test_calls_that_come_without_an_id_get_one_that_no_other_call_has(streamed):
    ids = []
    for _ in range(3):
        calls = [call(0, None, "f", "{}"), call(1, None, "g", "{}")]
        if streamed:
            reply = stream(chunk(tool_calls=calls))[0].reply()
        else:
            reply = openai.decode_reply(
                {"choices": [{"message": {"role": "assistant", "tool_calls": calls}}]}
            )
        ids += [made["id"] for made in reply.message["tool_calls"]]
    assert len(set(ids)) == 6
    assert all(re.fullmatch(r"call_[0-9a-f]{24}", made) for made in ids)


def test_a_name_that_comes_late_or_again_and_again_is_read_once():
    decoder, deltas = stream(
        chunk(tool_calls=[call(0, "a", None, "")]),
        chunk(tool_calls=[call(0, "a", "f", "{")]),
        chunk(tool_calls=[call(0, "a", "f", "}")]),
    )
    assert decoder.reply().message["tool_calls"][0]["function"] == {"name": "f", "arguments": "{}"}
    assert [delta.name for delta in deltas if isinstance(delta, ToolCallDelta)] == [None, "f", None]


def test_thinking_is_read_from_every_place_where_servers_put_it():
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "c"}]}, {"type": "text", "text": "x"}]
    decoder, _ = stream(
        chunk(reasoning_content="a"), chunk(reasoning="b"), chunk(content=parts), chunk("stop")
    )
    assert decoder.reply().message == {"role": "assistant", "reasoning_content": "abc", "content": "x"}


def test_reasoning_details_of_a_router_are_put_together_and_kept():
    pieces = [
        {"type": "reasoning.text", "index": 0, "text": "a"},
        {"type": "reasoning.text", "index": 0, "text": "b", "signature": "s"},
        {"type": "reasoning.encrypted", "index": 1, "data": "E"},
    ]
    decoder, _ = stream(*[chunk(reasoning_details=[piece]) for piece in pieces], chunk("stop", content="x"))
    assert decoder.reply().message["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "ab", "signature": "s"},
        pieces[2],
    ]


def test_signed_thinking_passed_on_by_a_gateway_is_whole_again():
    decoder, _ = stream(
        chunk(reasoning_content="hm"), chunk(thinking_blocks=[SEALED]), chunk(content="x"), chunk("stop")
    )
    assert decoder.reply().message["thinking_blocks"] == [SEALED]


def test_other_choices_and_odd_chunks_are_skipped():
    second = {"choices": [{"index": 1, "delta": {"content": "no"}}]}
    decoder, _ = stream(
        second, {"choices": None}, {}, {"choices": [{"index": 0, "delta": None}]}, chunk(content="x")
    )
    assert decoder.reply().message["content"] == "x"
    assert not decoder.complete


def test_an_error_inside_a_stream_is_a_failure_and_never_complete():
    decoder, _ = stream(chunk(content="x"), {"error": {"message": "overloaded", "code": 529}})
    decoder.feed(None, None)
    assert not decoder.complete
    assert (decoder.failure.kind, decoder.failure.message) == ("529", "overloaded")
    assert decoder.reply().message["content"] == "x"


def test_the_end_mark_completes_a_stream_whose_reason_never_came():
    decoder, _ = stream(chunk(content="x"))
    decoder.feed(None, None)
    assert decoder.complete
    assert decoder.reply().finish_reason is None


def test_usage_is_sent_only_where_the_client_asked_for_it():
    for asked in (True, False):
        encoder = openai.StreamEncoder(include_usage=asked)
        deltas = [Start(), TextDelta("x"), BlockEnd(), Finish("stop"), UsageReport(Usage(1, 2, 3))]
        events = [event for delta in deltas for event in encoder.encode(delta)] + encoder.finish()
        assert sum("usage" in event.data for event in events) == asked
        assert events[-1].is_done
