"""What one dialect's clients ask for, in the words of the other."""

import json

import pytest

from plimsoll.dialects import (
    ANTHROPIC,
    OPENAI,
    ChatRequest,
    Finish,
    Reply,
    Start,
    ToolCallDelta,
    anthropic,
    openai,
)
from plimsoll.dialects.efforts import BUDGETS, effort_of, nearest_effort
from plimsoll.dialects.request import Thinking
from plimsoll.dialects.schemas import closed, is_strict
from plimsoll.dialects.translation import for_anthropic, for_openai
from plimsoll.errors import InvalidConversation

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}},
    "required": ["a"],
}
HELLO = {"role": "user", "content": "Hello"}
LOOK = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


def to_anthropic(model="claude-opus-4-6", **body):
    body = {"model": model, "messages": [HELLO], "max_tokens": 9_000, **body}
    return anthropic.encode_request(for_anthropic(openai.decode_request(body)))


def to_openai(model="gpt-5", **body):
    body = {"model": model, "messages": [HELLO], "max_tokens": 9_000, **body}
    return openai.encode_request(for_openai(anthropic.decode_request(body)))


def use(call_id):
    return {"type": "tool_use", "id": call_id, "name": "look", "input": {}}


def result(call_id, *content, **more):
    return {"type": "tool_result", "tool_use_id": call_id, "content": list(content), **more}


def test_images_in_tool_results_follow_the_results_as_a_message_of_the_user():
    text = {"type": "text", "text": "seen"}
    messages = [
        HELLO,
        {"role": "assistant", "content": [use("a"), use("b")]},
        {
            "role": "user",
            "content": [result("a", text, IMAGE), result("b", IMAGE), {"type": "text", "text": "So?"}],
        },
    ]
    sent = to_openai(messages=messages)["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "tool", "user", "user"]
    assert "image_url" not in str(sent[2:4])
    assert sent[2]["content"] == [text]
    assert [part["type"] for part in sent[4]["content"]] == ["text", "image_url", "image_url"]
    assert sent[5]["content"] == "So?"


def test_a_failed_result_says_so_in_its_text():
    messages = [
        HELLO,
        {"role": "assistant", "content": [use("a"), use("b"), use("c")]},
        {
            "role": "user",
            "content": [
                result("a", {"type": "text", "text": "no such file"}, is_error=True),
                result("b", {"type": "text", "text": "Error: denied"}, is_error=True),
                result("c", IMAGE, is_error=True),
            ],
        },
    ]
    sent = to_openai(messages=messages)["messages"]
    assert [message["content"] for message in sent[2:5]] == [
        "Error: no such file",
        "Error: denied",
        "Error: [1 image below]",
    ]


def test_documents_and_search_results_are_read_by_the_model():
    inner = [{"type": "text", "text": "inner", "citations": []}, IMAGE]
    blocks = [
        {
            "type": "document",
            "title": "Log",
            "source": {"type": "text", "media_type": "text/plain", "data": "one"},
        },
        {"type": "document", "source": {"type": "content", "content": inner}, "context": "About it."},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"}},
        {
            "type": "search_result",
            "source": "https://x",
            "title": "T",
            "content": [{"type": "text", "text": "hit"}],
        },
    ]
    parts = to_openai(messages=[{"role": "user", "content": blocks}])["messages"][0]["content"]
    assert [part["text"] for part in parts if part["type"] == "text"] == [
        "Log\none",
        "About it.",
        "inner",
        "T\nhttps://x\nhit",
    ]
    assert [part["file"]["filename"] for part in parts if part["type"] == "file"] == ["document.pdf"]


def test_structured_output_converts_both_ways():
    wanted = {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA, "description": "D"}}
    sent = to_anthropic(response_format=wanted, reasoning_effort="low")
    assert sent["output_config"]["effort"] == "low"
    assert sent["output_config"]["format"]["schema"] == {"description": "D", **closed(SCHEMA)}
    back = to_openai(output_config=sent["output_config"])["response_format"]
    assert back["json_schema"]["strict"] is True
    assert back["json_schema"]["schema"] == sent["output_config"]["format"]["schema"]
    loose = to_openai(output_config={"format": {"type": "json_schema", "schema": SCHEMA}})["response_format"]
    assert loose["json_schema"]["strict"] is False
    with pytest.raises(InvalidConversation, match="response_format"):
        to_anthropic("claude-3-haiku-20240307", response_format=wanted)


def test_a_schema_is_strict_where_objects_are_closed_and_all_properties_required():
    assert not is_strict(SCHEMA)
    assert is_strict(closed(SCHEMA))
    assert not is_strict(closed({"type": "object", "properties": {"a": {"type": "string"}}}))


def test_json_mode_becomes_an_instruction_after_the_system_prompt():
    messages = [{"role": "system", "content": "Be brief."}, HELLO]
    sent = to_anthropic(messages=messages, response_format={"type": "json_object"})
    assert [block["text"][:9] for block in sent["system"]] == ["Be brief.", "Answer wi"]


def test_functions_of_the_first_protocol_become_tools_and_their_calls_come_back_in_it():
    sent = to_anthropic(functions=[LOOK["function"]], function_call={"name": "look"})
    assert sent["tools"][0]["name"] == "look"
    assert sent["tool_choice"] == {"type": "tool", "name": "look", "disable_parallel_tool_use": True}
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    reply = Reply({"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls")
    choice = openai.encode_reply(reply, legacy=True)["choices"][0]
    assert choice["finish_reason"] == "function_call"
    assert choice["message"]["function_call"] == {"name": "look", "arguments": "{}"}
    assert "tool_calls" not in choice["message"]
    encoder = openai.StreamEncoder(legacy=True)
    deltas = [Start("r", "m"), ToolCallDelta(0, "c", "look", "{}"), Finish("tool_calls")]
    events = [event for delta in deltas for event in encoder.encode(delta)] + encoder.finish()
    told = json.dumps([event.data for event in events])
    assert "tool_calls" not in told
    assert told.count("function_call") == 2


def test_allowed_tools_are_the_only_tools():
    other = {"type": "function", "function": {"name": "other"}}
    choice = {"mode": "required", "tools": [{"type": "function", "function": {"name": "look"}}]}
    sent = to_anthropic(tools=[LOOK, other], tool_choice={"type": "allowed_tools", "allowed_tools": choice})
    assert [tool["name"] for tool in sent["tools"]] == ["look"]
    assert sent["tool_choice"] == {"type": "any"}


@pytest.mark.parametrize("effort", sorted(BUDGETS))
def test_an_effort_comes_back_from_its_budget(effort):
    assert effort_of(Thinking(mode="enabled", budget_tokens=BUDGETS[effort])) == effort


@pytest.mark.parametrize(
    ("effort", "accepted", "nearest"),
    [
        ("max", ["low", "high"], "high"),
        ("none", ["minimal", "low"], "minimal"),
        ("medium", ["low", "high"], "low"),
        ("high", [], None),
        ("odd", ["low"], None),
    ],
)
def test_an_effort_that_a_model_does_not_know_becomes_the_nearest(effort, accepted, nearest):
    assert nearest_effort(effort, accepted) == nearest


def test_effort_is_a_budget_for_models_that_know_no_word_for_it():
    assert to_anthropic("claude-sonnet-4-5", reasoning_effort="low")["thinking"]["budget_tokens"] == 2_048
    assert to_anthropic("claude-sonnet-4-5", reasoning_effort="high")["thinking"]["budget_tokens"] == 4_500
    answered = [
        HELLO,
        {"role": "assistant", "content": None, "tool_calls": [{"id": "a", **LOOK}]},
        {"role": "tool", "tool_call_id": "a", "content": "ok"},
    ]
    for refused in (
        {"messages": answered},
        {"temperature": 0.5},
        {"tools": [LOOK], "tool_choice": "required"},
        {"max_tokens": 100},
        {"model": "claude-3-5-haiku"},
    ):
        body = {"model": "claude-sonnet-4-5", "reasoning_effort": "low", **refused}
        sent = to_anthropic(**body)
        assert "thinking" not in sent
        asked = openai.decode_request({"messages": [HELLO], **body})
        assert "thinking" in ANTHROPIC.unwritten(asked, sent)
        assert OPENAI.field_name("thinking", asked) == "reasoning_effort"


def test_what_a_model_does_not_take_is_named():
    asked = ChatRequest("gpt-5", (HELLO,), temperature=0.5, top_p=0.9, stop=("a", "b", "c", "d", "e"))
    body = openai.encode_request(for_openai(asked))
    left_out = [ANTHROPIC.field_name(field, asked) for field in OPENAI.unwritten(asked, body)]
    assert left_out == ["temperature", "top_p", "stop_sequences"]
    many = openai.encode_request(for_openai(ChatRequest("gpt-4o", (HELLO,), stop=("a", "b", "c", "d", "e"))))
    assert many["stop"] == ["a", "b", "c", "d"]
