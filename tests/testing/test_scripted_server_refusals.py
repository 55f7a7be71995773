"""What the real providers refuse, the scripted server refuses, in their words. One test for each documented 400."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_clients import (
    ANTHROPIC_TOOL,
    BOUND,
    CLAUDE,
    DIALECTS,
    GPT,
    HI,
    OPENAI_TOOL,
    error_of,
    plain_client,
    post,
)

from plimsoll.dialects import ChatRequest, anthropic, openai
from plimsoll.messages import validate
from plimsoll.testing import conversations
from plimsoll.testing.scripted_server import ScriptedServer, call, say, think

MARK = {"cache_control": {"type": "ephemeral"}}
LONG_MARK = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
VERSION = {"anthropic-version": "2023-06-01"}
OLD = "claude-sonnet-4-5"


def text(words="hello", **more):
    return {"type": "text", "text": words, **more}


def use(call_id="toolu_1", name="terminal", arguments=None):
    return {"type": "tool_use", "id": call_id, "name": name, "input": {} if arguments is None else arguments}


def result(call_id="toolu_1", content="ok"):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def called(call_id="call_1"):
    function = {"name": "terminal", "arguments": "{}"}
    calls = [{"id": call_id, "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def answered(call_id="call_1"):
    return {"role": "tool", "tool_call_id": call_id, "content": "ok"}


@pytest.fixture(scope="module")
def server():
    with ScriptedServer(lambda request: say("accepted")) as running:
        yield running


ANTHROPIC = {
    "missing model": ({"model": None}, "model: Field required"),
    "missing max_tokens": ({"max_tokens": None}, "max_tokens: Field required"),
    "max_tokens of zero": ({"max_tokens": 0}, "max_tokens: Input should be greater than or equal to 1"),
    "missing messages": ({"messages": None}, "messages: Field required"),
    "empty messages": ({"messages": []}, "messages: at least one message is required"),
    "opens with the assistant": (
        {"messages": [{"role": "assistant", "content": "hi"}, *HI]},
        'messages: first message must use the "user" role',
    ),
    "unknown role": (
        {"messages": [{"role": "tool", "content": "hi"}]},
        "messages.0.role: Input should be 'user' or 'assistant'",
    ),
    "system role on an older model": (
        {"model": OLD, "messages": [*HI, {"role": "system", "content": "be brief"}]},
        'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" '
        "as an input message role.",
    ),
    "empty user message": (
        {"messages": [{"role": "user", "content": ""}]},
        "messages.0: user messages must have non-empty content",
    ),
    "empty assistant message": (
        {"messages": [*HI, {"role": "assistant", "content": ""}, *HI]},
        "messages.1: all messages must have non-empty content except for the optional final assistant message",
    ),
    "empty text block": (
        {"messages": [user(text(""), text())]},
        "messages: text content blocks must be non-empty",
    ),
    "empty text block in a result": (
        {"messages": [*HI, assistant(use()), user(result(content=[text("")]))]},
        "messages: text content blocks must be non-empty",
    ),
    "white space alone": (
        {"messages": [user(text("  \n"))]},
        "messages: text content blocks must contain non-whitespace text",
    ),
    "empty system block": ({"system": [text("")]}, "system: text content blocks must be non-empty"),
    "prefill on a newer model": (
        {"messages": [*HI, {"role": "assistant", "content": "Sure"}]},
        "This model does not support assistant message prefill. The conversation must end with a user message.",
    ),
    "prefill that ends in white space": (
        {"model": OLD, "messages": [*HI, {"role": "assistant", "content": "Sure "}]},
        "messages: final assistant content cannot end with trailing whitespace",
    ),
    "orphaned result": (
        {"messages": [user(result())]},
        "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. Each `tool_result` "
        "block must have a corresponding `tool_use` block in the previous message.",
    ),
    "missing result": (
        {"messages": [*HI, assistant(use(), use("toolu_2")), user(result())]},
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_2. Each "
        "`tool_use` block must have a corresponding `tool_result` block in the next message.",
    ),
    "result behind a text": (
        {"messages": [*HI, assistant(use()), user(text(), result())]},
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. Each "
        "`tool_use` block must have a corresponding `tool_result` block in the next message.",
    ),
    "two results": (
        {"messages": [*HI, assistant(use()), user(result(), result())]},
        "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: "
        "toolu_1",
    ),
    "one id for two calls": (
        {"messages": [*HI, assistant(use()), user(result()), assistant(use()), user(result())]},
        "messages.3.content.0: `tool_use` ids must be unique",
    ),
    "illegal call id": (
        {"messages": [*HI, assistant(use("call:1")), user(result("call:1"))]},
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    "illegal name of a call": (
        {"messages": [*HI, assistant(use(name="my tool")), user(result())]},
        "messages.1.content.0.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ),
    "arguments that are no object": (
        {"messages": [*HI, assistant(use(arguments="{}")), user(result())]},
        "messages.1.content.0.tool_use.input: Input should be an object",
    ),
    "illegal tool name": (
        {"tools": [{**ANTHROPIC_TOOL, "name": "my.tool"}]},
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ),
    "tool without schema": (
        {"tools": [{"name": "terminal"}]},
        "tools.0.custom.input_schema: Field required",
    ),
    "two tools of one name": (
        {"tools": [ANTHROPIC_TOOL, ANTHROPIC_TOOL]},
        "tools: Tool names must be unique.",
    ),
    "unknown tool choice": (
        {"tools": [ANTHROPIC_TOOL], "tool_choice": {"type": "required"}},
        "tool_choice: Input tag 'required' found using 'type' does not match any of the expected tags: 'auto', "
        "'any', 'tool', 'none'",
    ),
    "tool choice as a word": (
        {"tools": [ANTHROPIC_TOOL], "tool_choice": "auto"},
        "tool_choice: Input should be an object",
    ),
    "choice of an unknown tool": (
        {"tools": [ANTHROPIC_TOOL], "tool_choice": {"type": "tool", "name": "browser"}},
        "Tool 'browser' not found in provided tools",
    ),
    "tool choice without tools": (
        {"tool_choice": {"type": "auto"}},
        "tool_choice may only be specified while providing tools.",
    ),
    "forced tool while thinking": (
        {
            "model": OLD,
            "max_tokens": 4000,
            "tools": [ANTHROPIC_TOOL],
            "tool_choice": {"type": "any"},
            "thinking": {"type": "enabled", "budget_tokens": 2000},
        },
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
    "marker on an empty text": (
        {"messages": [user(text("", **MARK))]},
        "messages.0.content.0.text: cache_control cannot be set for empty text blocks",
    ),
    "marker on thinking": (
        {"messages": [*HI, assistant({"type": "thinking", "thinking": "", "signature": "x", **MARK}), *HI]},
        "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
    ),
    "five markers": (
        {"system": [text(**MARK)], "messages": [user(*[text(**MARK)] * 4)]},
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "five markers, one of them automatic": (
        {**MARK, "messages": [user(*[text(**MARK)] * 4)]},
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "an hour behind five minutes": (
        {"system": [text(**MARK)], "messages": [user(text(**LONG_MARK))]},
        "messages.0.content.0.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
        "cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.",
    ),
    "unknown lifetime": (
        {"system": [text(cache_control={"type": "ephemeral", "ttl": "2h"})]},
        "system.0.cache_control.ephemeral.ttl: Input should be '5m' or '1h'",
    ),
    "forged signature": (
        {"messages": [*HI, assistant({"type": "thinking", "thinking": "a", "signature": "x"}, text()), *HI]},
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    "unsigned thinking": (
        {"messages": [*HI, assistant({"type": "thinking", "thinking": "a"}, text()), *HI]},
        "messages.1.content.0.thinking.signature: Field required",
    ),
    "temperature on a model that takes none": (
        {"model": "claude-opus-4-8", "temperature": 0.5},
        "`temperature` is deprecated for this model.",
    ),
    "thinking budget on a model that takes none": (
        {
            "model": "claude-opus-4-8",
            "max_tokens": 4000,
            "thinking": {"type": "enabled", "budget_tokens": 2000},
        },
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
        '"output_config.effort" to control thinking behavior.',
    ),
    "too small a thinking budget": (
        {"model": OLD, "thinking": {"type": "enabled", "budget_tokens": 100}},
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    ),
    "a budget as large as the limit": (
        {"model": OLD, "max_tokens": 2000, "thinking": {"type": "enabled", "budget_tokens": 2000}},
        "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
        "https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size",
    ),
    "a top-level hour behind five minutes": (
        {"messages": [user(text(**MARK))], **LONG_MARK},
        "cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note "
        "that blocks are processed in the following order: `tools`, `system`, `messages`.",
    ),
    "a top-level lifetime that does not exist": (
        {"cache_control": {"type": "ephemeral", "ttl": "2h"}},
        "cache_control.ephemeral.ttl: Input should be '5m' or '1h'",
    ),
    "a marker inside a result": (
        {
            "tools": [ANTHROPIC_TOOL],
            "messages": [*HI, assistant(use()), user(result(content=[text(**MARK)]))],
        },
        "messages.2.content.0.tool_result.content.0.text.cache_control: Extra inputs are not permitted",
    ),
    "a system message with the user's words behind it": (
        {
            "model": "claude-opus-4-8",
            "messages": [user(text()), {"role": "system", "content": "note"}, user(text())],
        },
        'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" '
        "as an input message role.",
    ),
    "more output than the model has": (
        {"model": OLD, "max_tokens": 100_000},
        f"max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for {OLD}",
    ),
}


@pytest.mark.parametrize("case", ANTHROPIC)
def test_anthropic_refuses(server, case):
    changes, message = ANTHROPIC[case]
    body = {"model": CLAUDE, "max_tokens": 500, "messages": HI} | changes
    response = post(server, "anthropic", {key: value for key, value in body.items() if value is not None})
    assert (response.status_code, response.json()["type"]) == (400, "error")
    assert response.json()["request_id"] == response.headers["request-id"]
    assert error_of(response) == {"type": "invalid_request_error", "message": message}


OPENAI = {
    "missing model": ({"model": None}, "you must provide a model parameter", None, None),
    "missing messages": (
        {"messages": None},
        "Missing required parameter: 'messages'.",
        "messages",
        "missing_required_parameter",
    ),
    "empty messages": (
        {"messages": []},
        "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        "messages",
        "empty_array",
    ),
    "unknown role": (
        {"messages": [{"role": "robot", "content": "hi"}]},
        "Invalid value: 'robot'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and "
        "'developer'.",
        "messages[0].role",
        "invalid_value",
    ),
    "no content": (
        {"messages": [{"role": "user", "content": None}]},
        "Invalid value for 'content': expected a string, got null.",
        "messages.[0].content",
        None,
    ),
    "empty content": (
        {"messages": [{"role": "user", "content": []}]},
        "Invalid 'messages[0].content': empty array. Expected an array with minimum length 1, but got an empty array "
        "instead.",
        "messages[0].content",
        "empty_array",
    ),
    "orphaned result": (
        {"messages": [*HI, answered()]},
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        "messages.[1].role",
        None,
    ),
    "result for another call": (
        {"messages": [*HI, called(), answered(), answered("call_9")]},
        "Invalid parameter: 'tool_call_id' of 'call_9' not found in 'tool_calls' of previous message.",
        "messages.[3].tool_call_id",
        None,
    ),
    "missing result": (
        {"messages": [*HI, called(), *HI]},
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        "The following tool_call_ids did not have response messages: call_1",
        "messages.[2].role",
        None,
    ),
    "arguments that are no text": (
        {
            "messages": [
                *HI,
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "call_1", "type": "function", "function": {"name": "x", "arguments": {}}}
                    ],
                },
                answered(),
            ]
        },
        "Invalid type for 'messages[1].tool_calls[0].function.arguments': expected a string, but got an "
        "object instead.",
        "messages[1].tool_calls[0].function.arguments",
        "invalid_type",
    ),
    "no tools in the list": (
        {"tools": []},
        "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        "tools",
        "empty_array",
    ),
    "illegal tool name": (
        {"tools": [{"type": "function", "function": {"name": "my.tool"}}]},
        "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches the pattern "
        "'^[a-zA-Z0-9_-]+$'.",
        "tools[0].function.name",
        "invalid_value",
    ),
    "long tool name": (
        {"tools": [{"type": "function", "function": {"name": "x" * 65}}]},
        "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64, but got a "
        "string with length 65 instead.",
        "tools[0].function.name",
        "string_above_max_length",
    ),
    "unknown tool choice": (
        {"tools": [OPENAI_TOOL], "tool_choice": "any"},
        "Invalid value: 'any'. Supported values are: 'none', 'auto', and 'required'.",
        "tool_choice",
        "invalid_value",
    ),
    "choice of an unknown tool": (
        {"tools": [OPENAI_TOOL], "tool_choice": {"type": "function", "function": {"name": "browser"}}},
        "Tool choice 'browser' not found in 'tools' parameter.",
        "tool_choice",
        None,
    ),
    "tool choice without tools": (
        {"tool_choice": "auto"},
        "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
        "tool_choice",
        None,
    ),
    "stream options without a stream": (
        {"stream_options": {"include_usage": True}},
        "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        "stream_options",
        None,
    ),
    "max_tokens on a reasoning model": (
        {"model": "gpt-5", "max_tokens": 100},
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "max_tokens",
        "unsupported_parameter",
    ),
    "more output than the model has": (
        {"max_tokens": 20480},
        "max_tokens is too large: 20480. This model supports at most 16384 completion tokens, whereas you provided "
        "20480.",
        "max_tokens",
        "invalid_value",
    ),
    "max_tokens of zero": (
        {"max_tokens": 0},
        "Invalid 'max_tokens': integer below minimum value. Expected a value >= 1, but got 0 instead.",
        "max_tokens",
        "integer_below_min_value",
    ),
}


@pytest.mark.parametrize("case", OPENAI)
def test_openai_refuses(server, case):
    changes, message, param, code = OPENAI[case]
    body = {"model": GPT, "messages": HI} | changes
    response = post(server, "openai", {key: value for key, value in body.items() if value is not None})
    assert response.status_code == 400
    assert error_of(response) == {
        "message": message,
        "type": "invalid_request_error",
        "param": param,
        "code": code,
    }


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_body_that_is_not_json_is_refused(server, dialect):
    path = "/v1/messages" if dialect == "anthropic" else "/v1/chat/completions"
    with plain_client() as client:
        response = client.post(server.url + path, content=b'{"model": ', headers=VERSION)
    assert response.status_code == 400
    assert "JSON" in error_of(response)["message"]


def test_anthropic_wants_its_version_in_the_headers(server):
    with plain_client() as client:
        response = client.post(server.url + "/v1/messages", json={})
    assert error_of(response)["message"] == "anthropic-version: header is required"


def test_a_refused_request_takes_nothing_from_the_script():
    with ScriptedServer([say("kept")]) as server:
        assert post(server, "openai", messages=[]).status_code == 400
        assert post(server, "openai").json()["choices"][0]["message"]["content"] == "kept"
        refused, accepted = server.requests
        assert (refused.bill, refused.refusal.code) == (None, "empty_array")
        assert (accepted.bill.plain > 0, accepted.refusal) == (True, None)


class TestOverflow:
    """Each provider states its numbers in its own way."""

    long = ({"role": "user", "content": "many words " * 2000},)

    def message(self, dialect, window=4000, **more):
        with ScriptedServer([], window=window) as server:
            response = post(server, dialect, messages=list(self.long), **more)
        assert response.status_code == 400
        return error_of(response)

    def test_anthropic(self):
        error = self.message("anthropic")
        assert error["type"] == "invalid_request_error"
        assert error["message"].startswith("prompt is too long: ")
        assert error["message"].endswith(" tokens > 4000 maximum")

    def test_anthropic_with_the_room_for_the_answer_on_older_models(self):
        message = self.message("anthropic", window=4600, model="claude-opus-4-1", max_tokens=500)["message"]
        prompt = int(message.split(": ")[1].split(" + ")[0])
        assert message == (
            f"input length and `max_tokens` exceed context limit: {prompt} + 500 > 4600, decrease input length or "
            f"`max_tokens` and try again"
        )

    def test_newer_claude_models_answer_as_far_as_there_is_room(self):
        with ScriptedServer([say("ok")], window=4600) as server:
            assert post(server, "anthropic", messages=list(self.long)).status_code == 200

    def test_openai(self):
        error = self.message("openai")
        assert error["code"] == "context_length_exceeded"
        assert error["message"].startswith(
            "This model's maximum context length is 4000 tokens. However, your messages resulted in "
        )

    def test_openai_with_tools(self):
        message = self.message("openai", tools=[OPENAI_TOOL])["message"]
        assert " in the functions). Please reduce the length of the messages or functions." in message

    def test_openai_with_the_room_for_the_answer(self):
        message = self.message("openai", window=4600, max_tokens=500)["message"]
        assert message.endswith(
            " in the messages, 500 in the completion). Please reduce the length of the messages or completion."
        )

    def test_openai_where_input_is_capped_below_the_window(self):
        huge = [{"role": "user", "content": "many words " * 150_000}]
        with ScriptedServer([]) as server:
            error = error_of(post(server, "openai", model="gpt-5", messages=huge))
        assert error["message"].startswith("Input tokens exceed the configured limit of 272000 tokens. ")

    def test_openrouter(self):
        error = self.message("openai", model="anthropic/claude-sonnet-4.5", max_tokens=100)
        assert error["code"] == 400
        assert error["message"].startswith(
            "This endpoint's maximum context length is 4000 tokens. However, you "
        )
        assert (
            " of text input, 100 in the output). Please reduce the length of either one" in error["message"]
        )

    def test_too_much_output_is_not_called_overflow(self):
        with ScriptedServer([], window=4000, output_cap=1000) as server:
            anthropic_error = error_of(post(server, "anthropic", max_tokens=2000))
            openai_error = error_of(post(server, "openai", max_tokens=2000))
        assert anthropic_error["message"].startswith(
            "max_tokens: 2000 > 1000, which is the maximum allowed number"
        )
        assert openai_error["code"] == "invalid_value"


class TestPreservedThinking:
    """Newer Claude models bind their thinking to everything before it."""

    BOUND_TO_ANOTHER = (
        "Invalid `signature` in `thinking` block. The block is bound to a different conversation."
    )

    @pytest.fixture
    def talk(self):
        """A conversation with two thoughts, ready for its third request."""
        script = [think(f"thought {n}") + call("terminal", command="ls") for n in range(3)]
        with ScriptedServer([*script, say("done")]) as server:
            body = {
                "model": BOUND,
                "max_tokens": 500,
                "system": "Help.",
                "tools": [ANTHROPIC_TOOL],
                "messages": HI,
            }
            for _ in range(2):
                content = post(server, "anthropic", body).json()["content"]
                answers = [result(block["id"]) for block in content if block["type"] == "tool_use"]
                body = {**body, "messages": [*body["messages"], assistant(*content), user(*answers)]}
            yield server, body

    def changed(self, body, index, **change):
        messages = list(body["messages"])
        messages[index] = {**messages[index], **change}
        return {**body, "messages": messages}

    def refused(self, server, body, where):
        response = post(server, "anthropic", body)
        assert response.status_code == 400
        assert error_of(response)["message"].startswith(f"{where}: {self.BOUND_TO_ANOTHER}")

    def test_the_conversation_goes_on(self, talk):
        server, body = talk
        assert post(server, "anthropic", body).status_code == 200

    def test_another_system_prompt_is_refused(self, talk):
        server, body = talk
        self.refused(server, {**body, "system": "Help more."}, "messages.1.content.0")

    def test_another_tool_is_refused(self, talk):
        server, body = talk
        more = [ANTHROPIC_TOOL, {**ANTHROPIC_TOOL, "name": "browser"}]
        self.refused(server, {**body, "tools": more}, "messages.1.content.0")

    def test_a_shortened_result_is_refused_for_the_thinking_behind_it(self, talk):
        server, body = talk
        shortened = user({**body["messages"][2]["content"][0], "content": "…"})
        self.refused(server, self.changed(body, 2, **shortened), "messages.3.content.0")

    def test_counting_tokens_checks_it_too(self, talk):
        server, body = talk
        counted = {key: value for key, value in body.items() if key != "max_tokens"} | {"system": "Other."}
        url = server.url + "/v1/messages/count_tokens"
        with plain_client() as client:
            assert client.post(url, json=counted, headers=VERSION).status_code == 400

    @pytest.mark.rewrites_history("the system prompt changes, which is what is tested")
    def test_removing_all_thinking_is_accepted(self, talk):
        server, body = talk
        kept = [
            {**m, "content": [b for b in m["content"] if b["type"] != "thinking"]}
            if m["role"] == "assistant"
            else m
            for m in body["messages"]
        ]
        assert post(server, "anthropic", {**body, "system": "Other.", "messages": kept}).status_code == 200

    def test_moving_markers_is_accepted(self, talk):
        server, body = talk
        marked = self.changed(body, -1, content=[{**body["messages"][-1]["content"][0], **MARK}])
        assert post(server, "anthropic", marked).status_code == 200

    @pytest.mark.rewrites_history("the system prompt changes, which is what is tested")
    def test_it_is_not_refused_where_the_request_asks_to_drop_such_blocks(self, talk):
        server, body = talk
        drops = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
        assert post(server, "anthropic", {**body, "system": "Other.", "thinking": drops}).status_code == 200

    def test_edited_thinking_is_refused(self, talk):
        server, body = talk
        thought, *rest = body["messages"][3]["content"]
        edited = self.changed(body, 3, content=[{**thought, "thinking": "other"}, *rest])
        assert error_of(post(server, "anthropic", edited))["message"] == (
            "messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot "
            "be modified. These blocks must remain as they were in the original response."
        )


def test_extended_thinking_must_not_be_taken_out_while_its_calls_are_being_answered():
    with ScriptedServer([think("hm") + call("terminal", command="ls"), say("done")]) as server:
        thinking = {"type": "enabled", "budget_tokens": 1024}
        body = {
            "model": OLD,
            "max_tokens": 2000,
            "tools": [ANTHROPIC_TOOL],
            "thinking": thinking,
            "messages": HI,
        }
        thought, asked = post(server, "anthropic", body).json()["content"]
        without = [*HI, assistant(asked), user(result(asked["id"]))]
        message = error_of(post(server, "anthropic", {**body, "messages": without}))["message"]
        assert message.startswith(
            "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When "
            "`thinking` is enabled, a final `assistant` message must start with a thinking block"
        )
        whole = [*HI, assistant(thought, asked), user(result(asked["id"]))]
        assert post(server, "anthropic", {**body, "messages": whole}).status_code == 200


def test_a_message_must_not_end_with_thinking():
    with ScriptedServer([think("hm") + say("ok")]) as server:
        thought, _ = post(server, "anthropic").json()["content"]
        refused = post(server, "anthropic", messages=[*HI, assistant(thought), *HI])
        assert "The final block in an assistant message cannot be `thinking`." in error_of(refused)["message"]


def test_too_many_markers_through_a_router_come_wrapped_in_its_own_error(server):
    marked = [{"role": "user", "content": [text(**MARK)] * 5}]
    error = error_of(post(server, "openai", model="anthropic/claude-sonnet-4.5", messages=marked))
    assert (error["message"], error["code"]) == ("Provider returned error", 400)
    assert "A maximum of 4 blocks with cache_control may be provided. Found 5." in error["metadata"]["raw"]


class TestKeysAndSizes:
    def test_a_wrong_key_is_a_401(self):
        with ScriptedServer([], api_key="sk-right") as server:
            wrong = {"authorization": "Bearer sk-wrong-key"}
            of_openai = post(server, "openai", headers=wrong)
            of_anthropic = post(server, "anthropic", headers={"x-api-key": "sk-wrong-key"})
            missing = post(server, "openai")
        assert (of_openai.status_code, error_of(of_openai)["code"]) == (401, "invalid_api_key")
        assert "sk-wrong-key" not in of_openai.text
        assert error_of(of_anthropic) == {"type": "authentication_error", "message": "invalid x-api-key"}
        assert error_of(missing)["message"].startswith("You didn't provide an API key.")

    def test_the_right_key_is_accepted_and_never_shown(self):
        with ScriptedServer([say("a"), say("b")], api_key="sk-right") as server:
            assert post(server, "openai", headers={"authorization": "Bearer sk-right"}).status_code == 200
            assert post(server, "anthropic", headers={"x-api-key": "sk-right"}).status_code == 200
            assert "sk-right" not in repr(server.requests)

    @pytest.mark.parametrize("dialect", DIALECTS)
    def test_a_body_above_the_limit_is_a_413(self, dialect):
        with ScriptedServer([say("ok")], max_bytes=10_000) as server:
            long = [{"role": "user", "content": "x" * 300_000}]
            refused = post(server, dialect, messages=long)
            assert refused.status_code == 413
            assert post(server, dialect).status_code == 200
        if dialect == "anthropic":
            assert error_of(refused) == {
                "type": "request_too_large",
                "message": "Request exceeds the maximum size",
            }

    def test_an_unknown_model_is_a_404_only_where_models_are_strict(self):
        with ScriptedServer([], model=CLAUDE, strict_models=True) as server:
            of_openai, of_anthropic = post(server, "openai"), post(server, "anthropic", model="claude-9")
        assert (of_openai.status_code, error_of(of_openai)["code"]) == (404, "model_not_found")
        assert error_of(of_anthropic) == {"type": "not_found_error", "message": "model: claude-9"}
        with ScriptedServer([say("ok")]) as server:
            assert post(server, "anthropic", model="claude-9").status_code == 200

    def test_an_unknown_path_is_a_404(self, server):
        with plain_client() as client:
            assert client.post(server.url + "/v1/completions", json={}).status_code == 404


@given(conversations(), st.data())
@settings(max_examples=60, deadline=None)
def test_the_server_refuses_exactly_what_the_validator_refuses(conversation, data):
    gone = data.draw(st.none() | st.integers(0, max(0, len(conversation) - 1)))
    messages = tuple(message for index, message in enumerate(conversation) if index != gone)
    with ScriptedServer(lambda request: say("ok")) as server:
        of_openai = post(server, "openai", openai.encode_request(ChatRequest(GPT, messages)))
        assert (of_openai.status_code == 400) == bool(validate(messages, "openai") or not messages), (
            of_openai.text
        )
        request = anthropic.encode_request(ChatRequest(OLD, messages))
        if request["messages"]:
            of_anthropic = post(server, "anthropic", request)
            expected = validate(anthropic.decode_request(request).messages, "anthropic")
            assert (of_anthropic.status_code == 400) == bool(expected), of_anthropic.text


def test_an_input_that_stands_for_arguments_which_are_no_json_is_accepted():
    broken = use(arguments={"_unparsed_arguments": '{"path": '})
    messages = [user(text()), assistant(broken), user(result())]
    with ScriptedServer([say("Yes.")]) as server:
        body = {"model": CLAUDE, "max_tokens": 9, "messages": messages, "tools": [ANTHROPIC_TOOL]}
        assert post(server, "anthropic", body).status_code == 200
