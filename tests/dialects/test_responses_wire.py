"""OpenAI's Responses API: items, requests, replies and streams, both ways."""

import asyncio
import json
from typing import Any

import pytest
from dialect_strategies import NAMES, TEXTS, quick
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.dialects import RESPONSES, ChatRequest, Reply, SseEvent, Usage, anthropic, collect, openai
from plimsoll.dialects.responses.items import assistant_message, grouped, items_of, message_of, ungrouped
from plimsoll.dialects.responses.request import decode_request, encode_request
from plimsoll.dialects.translation import for_anthropic, for_openai
from plimsoll.gateway.dropin.relay import ReplyReader
from plimsoll.testing.scripted_server.replies import steps_of

IDS = st.none() | st.integers(0, 99)


def _with_id(item: dict[str, Any], prefix: str, number: int | None) -> dict[str, Any]:
    return item if number is None else {**item, "id": f"{prefix}_{number}"}


@st.composite
def parts(draw: st.DrawFn, output: bool) -> dict[str, Any]:
    text = {"type": "output_text" if output else "input_text", "text": draw(TEXTS)}
    if output:
        more = st.sampled_from(
            [{}, {"annotations": []}, {"annotations": [{"type": "url_citation"}], "logprobs": []}]
        )
        return draw(st.sampled_from([{**text, **draw(more)}, {"type": "refusal", "refusal": "No."}]))
    image = {"type": "input_image", "image_url": "data:image/png;base64,AA=="}
    others = (
        text,
        {**text, "prompt_cache_breakpoint": {"mode": "explicit"}},
        image,
        {**image, "detail": "high"},
        {"type": "input_image", "file_id": "file_1", "detail": "auto"},
        {"type": "input_file", "file_data": "data:application/pdf;base64,AA==", "filename": "a.pdf"},
        {"type": "encrypted_content", "encrypted_content": "gAAAA"},
        {"type": "something_new", "x": 1},
    )
    return draw(st.sampled_from(others))


@st.composite
def spoken(draw: st.DrawFn) -> dict[str, Any]:
    content = draw(TEXTS | st.lists(parts(output=False), max_size=3))
    item = {"role": draw(st.sampled_from(["user", "developer", "system"])), "content": content}
    if draw(st.booleans()):
        item = {"type": "message", **item}
    return _with_id(item, "msg", draw(IDS)) if "type" in item else item


@st.composite
def calls(draw: st.DrawFn, number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A call and its output."""
    call_id, arguments = f"call_{number}", json.dumps({"a": draw(TEXTS)})
    call, output = draw(
        st.sampled_from(
            [
                (
                    {"type": "function_call", "name": draw(NAMES), "arguments": arguments},
                    "function_call_output",
                ),
                (
                    {"type": "function_call", "name": "x", "namespace": "mcp", "arguments": "{}"},
                    "function_call_output",
                ),
                (
                    {"type": "custom_tool_call", "name": "patch", "input": draw(TEXTS)},
                    "custom_tool_call_output",
                ),
                (
                    {"type": "local_shell_call", "action": {"type": "exec", "command": ["ls"]}},
                    "function_call_output",
                ),
                ({"type": "shell_call", "action": {"commands": ["ls"]}}, "shell_call_output"),
                ({"type": "tool_search_call", "execution": "client", "arguments": {}}, "tool_search_output"),
            ]
        )
    )
    call = {**call, "call_id": call_id}
    if draw(st.booleans()):
        call = {**_with_id(call, "fc", draw(IDS)), "status": "completed"}
    given = {"shell_call_output": [{"stdout": "x"}], "tool_search_output": None}.get(output, "")
    said = draw(TEXTS | st.lists(parts(output=False), min_size=1, max_size=2)) if given == "" else given
    answered = {"type": output, "call_id": call_id, **({"tools": []} if said is None else {"output": said})}
    return call, _with_id(answered, "fco", draw(IDS))


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for turn in range(draw(st.integers(0, 3))):
        items.append(draw(spoken()))
        made = [draw(calls(turn * 10 + n)) for n in range(draw(st.integers(0, 2)))]
        if draw(st.booleans()):
            thought = {
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "hm"}],
                "content": None,
            }
            items.append({**_with_id(thought, "rs", turn), "encrypted_content": "gAAAA"})
        if draw(st.booleans()):
            action = {"type": "search", "query": "q"}
            items.append({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": action})
        if draw(st.booleans()) or not made:
            content = draw(TEXTS.filter(bool) | st.lists(parts(output=True), min_size=1, max_size=2))
            said = {"type": "message", "role": "assistant", "content": content}
            items.append({**_with_id(said, "msg", draw(IDS)), "status": "completed"})
        items += [call for call, _ in made]
        items += [output for _, output in made]
    extra = [{"type": "compaction", "encrypted_content": "gAAAA"}, {"type": "agent_message", "author": "a"}]
    return items + draw(st.lists(st.sampled_from(extra), max_size=1))


@given(conversations())
@quick
def test_items_are_the_same_after_a_round_trip_through_canonical_messages(items):
    wire = grouped(dict(item) for item in items)
    assert list(ungrouped(wire)) == items
    messages = [message_of(wire, index) for index in range(len(wire))]
    assert [item for message in messages for item in items_of(message)] == items


TOOLS: list[dict[str, Any]] = [
    {"type": "function", "name": "ls", "parameters": {"type": "object", "properties": {}}, "strict": False},
    {"type": "function", "name": "bare"},
    {"type": "custom", "name": "patch", "format": {"type": "grammar", "syntax": "lark", "definition": "x"}},
    {"type": "web_search", "external_web_access": True},
    {
        "type": "namespace",
        "name": "mcp",
        "tools": [{"type": "function", "name": "a"}, {"type": "function", "name": "b"}],
    },
    {"type": "local_shell"},
]
FIELDS: dict[str, Any] = {
    "instructions": "Be brief.",
    "tool_choice": {"type": "custom", "name": "patch"},
    "parallel_tool_calls": False,
    "reasoning": {"effort": "low", "summary": "auto"},
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "prompt_cache_key": "k",
    "text": {
        "format": {"type": "json_schema", "name": "n", "schema": {}, "strict": True},
        "verbosity": "low",
    },
    "service_tier": "flex",
    "previous_response_id": "resp_1",
    "max_output_tokens": 64,
    "stream": True,
    "something_new": [1],
}


@given(
    conversations(),
    st.sets(st.sampled_from(sorted(FIELDS))),
    st.lists(st.sampled_from(TOOLS), min_size=1, unique_by=str),
)
@quick
def test_a_request_is_the_same_after_a_round_trip(items, names, tools):
    body = {"model": "gpt-5", "input": items, "tools": tools, **{name: FIELDS[name] for name in names}}
    if "tool_choice" in names and TOOLS[2] not in tools:
        body["tool_choice"] = "auto"
    request = decode_request(body)
    assert encode_request(request) == body
    assert decode_request(encode_request(request)) == request


def test_a_reasoning_item_is_dropped_with_the_ids_that_depend_on_it_when_its_answer_is_rewritten():
    items = [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "ls", "arguments": "{}"},
        {"type": "function_call", "id": "fc_2", "call_id": "c2", "name": "ls", "arguments": "{}"},
    ]
    message = assistant_message(items)
    fewer = {**message, "tool_calls": message["tool_calls"][:1]}
    assert items_of(fewer) == [{"type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}"}]


def test_a_readable_compaction_item_is_sent_upstream_as_a_message_and_an_encrypted_one_unchanged():
    ours = {
        "type": "compaction",
        "id": "cmp_1",
        "encrypted_content": "[CONTEXT COMPACTION] Ship 7 lies at pier 4.",
    }
    theirs = {"type": "compaction", "id": "cmp_2", "encrypted_content": "gAAAA"}
    body = {"model": "gpt-5", "input": [ours, theirs]}
    sent = RESPONSES.outgoing(body)["input"]
    text = {"type": "input_text", "text": ours["encrypted_content"]}
    assert sent == [{"type": "message", "role": "user", "content": [text]}, theirs]
    assert items_of(message_of([ours], 0)) == sent[:1]
    untouched = {"model": "gpt-5", "input": [theirs]}
    assert RESPONSES.outgoing(untouched) is untouched


REPLIES = [
    {"role": "assistant", "content": "Hello."},
    {"role": "assistant", "reasoning_content": "hm", "content": "Hello."},
    {
        "role": "assistant",
        "content": "Two.",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"a": 1}'}},
            {
                "id": "c2",
                "type": "function",
                "function": {"name": "patch", "arguments": '{"input": "a\\nb"}'},
            },
            {"id": "c3", "type": "function", "function": {"name": "mcp__a", "arguments": "{}"}},
        ],
    },
]
ASKED = {"model": "gpt-5", "tools": TOOLS}


def _events(message: dict[str, Any], finish: Any = "stop") -> list[SseEvent]:
    reply = Reply(message, finish, Usage(9, 3, 12, cache_read_tokens=4), "resp_1", "gpt-5")
    encoder = RESPONSES.encoder(ASKED, 7)
    return [event for step in steps_of(reply) for event in encoder.encode(step)] + encoder.finish()


@pytest.mark.parametrize("message", REPLIES)
def test_a_streamed_reply_is_the_reply_that_comes_whole(message):
    decoder = RESPONSES.decoder()
    events = _events(message)
    deltas = [step for event in events for step in decoder.feed(event.event, event.decoded())]
    assert decoder.complete
    ended = events[-1].decoded()["response"]
    reply = Reply(message, "stop", Usage(9, 3, 12, cache_read_tokens=4), "resp_1", "gpt-5")
    assert ended == RESPONSES.encode_reply(reply, ASKED, 7)
    assert decoder.reply().message == RESPONSES.decode_reply(ended).message
    told = collect(deltas)
    assert told.message.get("tool_calls") == message.get("tool_calls")
    assert told.usage.cache_read_tokens == 4
    whole = RESPONSES.decoder()
    assert collect(whole.feed_whole(ended)).message.get("tool_calls") == message.get("tool_calls")


@pytest.mark.parametrize("chunks", ["events", "whole", "crlf", "parts"])
@pytest.mark.parametrize("message", REPLIES)
def test_the_events_that_are_read_for_a_stored_reply_contain_all_of_it(message, chunks):
    kept: list[Reply] = []

    async def keep(reply: Reply) -> None:
        kept.append(reply)

    events, decoder = _events(message), RESPONSES.decoder()
    for event in events:
        decoder.feed(event.event, event.decoded())
    encoded = [event.encode() for event in events]
    stream = b"".join(encoded)
    pieces = {
        "events": encoded,
        "whole": [stream],
        "crlf": [stream.replace(b"\n", b"\r\n")],
        "parts": [stream[start : start + 50] for start in range(0, len(stream), 50)],
    }
    reader = ReplyReader(RESPONSES, keep)
    for piece in pieces[chunks]:
        asyncio.run(reader.feed(piece))
    assert kept == [decoder.reply()]


def test_events_are_numbered_and_every_delta_follows_what_it_belongs_to():
    events = [event.decoded() for event in _events(REPLIES[2])]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    kinds = [event["type"].removeprefix("response.") for event in events]
    assert kinds[:2] == ["created", "in_progress"]
    assert kinds[-1] == "completed"
    added: set[int] = set()
    for event in events[2:-1]:
        if event["type"] == "response.output_item.added":
            added.add(event["output_index"])
        assert event["output_index"] in added
    assert kinds.count("output_item.added") == kinds.count("output_item.done") == 4


def test_calls_of_custom_tools_and_of_namespaces_come_back_as_the_client_offered_them():
    output = _events(REPLIES[2])[-1].decoded()["response"]["output"]
    assert [item["type"] for item in output] == [
        "message",
        "function_call",
        "custom_tool_call",
        "function_call",
    ]
    assert output[2]["input"] == "a\nb"
    assert (output[3]["namespace"], output[3]["name"]) == ("mcp", "a")


@pytest.mark.parametrize(
    ("finish", "ending"), [("length", "max_output_tokens"), ("content_filter", "content_filter")]
)
def test_an_answer_that_was_cut_off_is_incomplete(finish, ending):
    ended = _events(REPLIES[0], finish)[-1]
    assert ended.event == "response.incomplete"
    assert ended.decoded()["response"]["incomplete_details"] == {"reason": ending}
    assert RESPONSES.decode_reply(ended.decoded()["response"]).finish_reason == finish


def test_a_server_that_sends_only_whole_items_is_read():
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]}
    decoder = RESPONSES.decoder()
    decoder.feed(None, {"type": "response.output_item.done", "output_index": 0, "item": item})
    assert not decoder.complete
    decoder.feed(None, {"type": "response.completed", "response": {"id": "resp_1"}})
    assert decoder.complete
    assert decoder.reply().message["content"] == "Hi."


@pytest.mark.parametrize(
    "event",
    [
        {
            "type": "response.failed",
            "response": {"error": {"code": "rate_limit_exceeded", "message": "Slow down."}},
        },
        {"type": "error", "code": "rate_limit_exceeded", "message": "Slow down."},
    ],
)
def test_a_failed_response_is_a_failure(event):
    decoder = RESPONSES.decoder()
    decoder.feed(event["type"], event)
    assert (decoder.failure.kind, decoder.failure.message) == ("rate_limit_exceeded", "Slow down.")
    assert not decoder.complete


def test_signed_thinking_of_another_provider_comes_back_through_the_client():
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "s1"},
        {"type": "redacted_thinking", "data": "d"},
    ]
    message = {**REPLIES[2], "thinking_blocks": blocks}
    reply = Reply(message, "tool_calls", None, "msg_1", "claude-opus-4-6")
    streamed = _events(message)[-1].decoded()["response"]["output"]
    for output in (RESPONSES.encode_reply(reply, ASKED, 7)["output"], streamed):
        assert assistant_message(output)["thinking_blocks"] == blocks
        body = {"model": "gpt-5", "input": output}
        assert not any(item["type"] == "reasoning" for item in RESPONSES.outgoing(body)["input"])


def _conversation() -> dict[str, Any]:
    call = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "patch", "input": "x"}
    return {
        "model": "m",
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": "Hello"},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"},
            call,
            {"type": "custom_tool_call_output", "call_id": "c1", "output": "done"},
        ],
        "tools": TOOLS,
        "max_output_tokens": 100,
        "text": {
            "format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": True}
        },
        "store": False,
    }


def test_nothing_of_the_dialect_reaches_an_upstream_of_another():
    request = RESPONSES.decode_request({**_conversation(), "model": "claude-opus-4-6"})
    for body in (
        openai.encode_request(for_openai(request)),
        anthropic.encode_request(for_anthropic(request)),
    ):
        text = json.dumps(body)
        assert '"responses"' not in text
        assert "gAAAA" not in text
        assert "web_search" not in text
    chat = openai.encode_request(for_openai(request))
    assert chat["response_format"]["json_schema"]["name"] == "n"
    assert [tool["function"]["name"] for tool in chat["tools"]] == ["ls", "bare", "patch", "mcp__a", "mcp__b"]
    assert chat["messages"][2]["tool_calls"][0]["function"] == {
        "name": "patch",
        "arguments": '{"input": "x"}',
    }


def test_a_chat_request_in_the_words_of_the_dialect():
    body = {
        "model": "gpt-5",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}}},
        "max_tokens": 4,
        "stop": ["x"],
        "user": "u1",
    }
    request: ChatRequest = openai.decode_request(body)
    sent = RESPONSES.encode_request(RESPONSES.adapted(request))
    assert sent["text"] == {"format": {"type": "json_schema", "name": "n", "schema": {}}}
    assert (sent["max_output_tokens"], sent["store"], sent["user"]) == (16, False, "u1")
    assert RESPONSES.unwritten(request, sent) == ["stop"]
