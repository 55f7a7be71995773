"""What the real providers refuse, the scripted server refuses, in their words. One test for each documented 400."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refused_by_anthropic import ANTHROPIC, MARK, OLD, assistant, result, text, use, user
from refused_by_openai import OPENAI
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

VERSION = {"anthropic-version": "2023-06-01"}


@pytest.fixture(scope="module")
def server():
    with ScriptedServer(lambda request: say("accepted")) as running:
        yield running


@pytest.mark.parametrize("case", ANTHROPIC)
def test_anthropic_refuses(server, case):
    changes, message = ANTHROPIC[case]
    body = {"model": CLAUDE, "max_tokens": 500, "messages": HI} | changes
    response = post(server, "anthropic", {key: value for key, value in body.items() if value is not None})
    assert (response.status_code, response.json()["type"]) == (400, "error")
    assert response.json()["request_id"] == response.headers["request-id"]
    assert error_of(response) == {"type": "invalid_request_error", "message": message}


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

    def test_the_conversation_continues(self, talk):
        server, body = talk
        assert post(server, "anthropic", body).status_code == 200

    def test_another_system_prompt_is_refused(self, talk):
        server, body = talk
        self.refused(server, {**body, "system": "Help more."}, "messages.1.content.0")

    def test_another_tool_is_refused(self, talk):
        server, body = talk
        more = [ANTHROPIC_TOOL, {**ANTHROPIC_TOOL, "name": "browser"}]
        self.refused(server, {**body, "tools": more}, "messages.1.content.0")

    def test_a_shortened_result_is_refused_for_the_thinking_after_it(self, talk):
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


def test_extended_thinking_must_not_be_removed_while_its_calls_are_being_answered():
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
