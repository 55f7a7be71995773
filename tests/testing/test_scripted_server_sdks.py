"""The official SDKs take the scripted server for the real thing."""

import base64
import json

import anthropic
import openai
import pytest
from scripted_clients import ANTHROPIC_TOOL, BOUND, CLAUDE, GPT, HI, OPENAI_TOOL, ask, sdks

from plimsoll.testing.scripted_server import ScriptedServer, call, fault, redacted, say, think

PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
        "1f15c4890000000d49444154789c6360000002000100ffff03000006000557bfabd40000000049454e44ae426082"
    )
).decode()


@pytest.fixture
def served():
    with ScriptedServer([]) as server, sdks(server) as (o, a):
        yield server, o, a


def test_a_plain_answer(served):
    server, o, a = served
    server.extend(say("Hello from here."), say("Hello from there."))
    spoken = ask(o)
    assert spoken.choices[0].message.content == "Hello from here."
    assert (spoken.choices[0].finish_reason, spoken.object, spoken.model) == ("stop", "chat.completion", GPT)
    assert spoken.usage.total_tokens == spoken.usage.prompt_tokens + spoken.usage.completion_tokens > 0
    message = ask(a)
    assert message.content[0].text == "Hello from there."
    assert (message.stop_reason, message.type, message.role) == ("end_turn", "message", "assistant")
    assert message.usage.input_tokens > 0 < message.usage.output_tokens
    assert message._request_id.startswith("req_")
    assert spoken._request_id.startswith("req_")


def test_a_streamed_answer(served):
    server, o, a = served
    text = "A somewhat longer answer, in several pieces, with ümläuts and 漢字."
    server.extend(say(text), say(text))
    chunks = list(ask(o, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == text
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert len(chunks) > 4
    assert all(chunk.usage is None for chunk in chunks), "usage comes only when it is asked for"
    with a.messages.stream(model=CLAUDE, max_tokens=100, messages=HI) as stream:
        assert "".join(stream.text_stream) == text
        final = stream.get_final_message()
    assert final.stop_reason == "end_turn"
    assert final.usage.output_tokens > 1


def test_the_sdks_helper_for_streams_puts_the_same_completion_together(served):
    server, o, _ = served
    server.extend(say("Look.") + call("terminal", command="ls -la /tmp") + call("terminal", command="pwd"))
    with o.chat.completions.stream(model=GPT, messages=HI, tools=[OPENAI_TOOL]) as stream:
        final = stream.get_final_completion()
    first, second = final.choices[0].message.tool_calls
    assert json.loads(first.function.arguments) == {"command": "ls -la /tmp"}
    assert json.loads(second.function.arguments) == {"command": "pwd"}
    assert first.id != second.id
    assert final.choices[0].finish_reason == "tool_calls"


def test_streamed_usage_comes_in_a_chunk_of_its_own_when_asked_for(served):
    server, o, _ = served
    server.extend(say("ok"))
    last = list(ask(o, stream=True, stream_options={"include_usage": True}))[-1]
    assert last.choices == []
    assert last.usage.prompt_tokens > 0
    assert last.usage.prompt_tokens_details.cached_tokens == 0


def test_a_tools_round_trip_on_openais_wire(served):
    server, o, _ = served
    server.extend(call("terminal", command="ls"), say("Two files."))
    asked = ask(o, tools=[OPENAI_TOOL]).choices[0].message
    assert (asked.content, asked.tool_calls[0].function.name) == (None, "terminal")
    result = {"role": "tool", "tool_call_id": asked.tool_calls[0].id, "content": "a b"}
    again = [*HI, asked.model_dump(exclude_none=True), result]
    assert ask(o, messages=again, tools=[OPENAI_TOOL]).choices[0].message.content == "Two files."
    assert [m["role"] for m in server.requests[1].request.messages] == ["user", "assistant", "tool"]


@pytest.mark.parametrize("streamed", [False, True])
def test_a_tools_round_trip_on_anthropics_wire(served, streamed):
    server, _, a = served
    server.extend(say("Let me look.") + call("terminal", command="ls"), say("Two files."))
    if streamed:
        with a.messages.stream(model=CLAUDE, max_tokens=100, messages=HI, tools=[ANTHROPIC_TOOL]) as stream:
            asked = stream.get_final_message()
    else:
        asked = ask(a, tools=[ANTHROPIC_TOOL])
    text, use = asked.content
    assert (text.text, use.name, use.input, asked.stop_reason) == (
        "Let me look.",
        "terminal",
        {"command": "ls"},
        "tool_use",
    )
    result = {"type": "tool_result", "tool_use_id": use.id, "content": "a b"}
    again = [*HI, {"role": "assistant", "content": asked.content}, {"role": "user", "content": [result]}]
    assert ask(a, messages=again, tools=[ANTHROPIC_TOOL]).content[0].text == "Two files."


def test_images_arrive_and_are_counted(served):
    server, o, a = served
    server.extend(say("A pixel."), say("A pixel."), say("Nothing."))
    part = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    text = {"type": "text", "text": "What is it?"}
    with_image = ask(o, messages=[{"role": "user", "content": [text, part]}])
    ask(a, messages=[{"role": "user", "content": [text, block]}])
    without = ask(o, messages=[{"role": "user", "content": [text]}])
    assert [request.request.messages[0]["content"] for request in server.requests[:2]] == [[text, part]] * 2
    assert with_image.usage.prompt_tokens > without.usage.prompt_tokens


@pytest.mark.parametrize("streamed", [False, True])
def test_thinking_is_signed_and_accepted_again(served, streamed):
    server, _, a = served
    server.extend(redacted() + think("Let me see.") + call("terminal", command="ls"), say("Done."))
    asked = {"model": BOUND, "max_tokens": 100, "messages": HI, "tools": [ANTHROPIC_TOOL]}
    asked["thinking"] = {"type": "adaptive"}
    if streamed:
        with a.messages.stream(**asked) as stream:
            message = stream.get_final_message()
    else:
        message = a.messages.create(**asked)
    hidden, thought, use = message.content
    assert (hidden.type, thought.thinking) == ("redacted_thinking", "Let me see.")
    assert thought.signature
    assert message.usage.output_tokens_details.thinking_tokens > 0
    result = {"type": "tool_result", "tool_use_id": use.id, "content": "a b"}
    history = [*HI, {"role": "assistant", "content": message.content}, {"role": "user", "content": [result]}]
    assert a.messages.create(**{**asked, "messages": history}).content[0].text == "Done."


def test_thinking_that_is_not_to_be_shown_is_a_signature_alone(served):
    server, _, a = served
    server.extend(think("secret") + say("ok"))
    thinking = {"type": "adaptive", "display": "omitted"}
    thought, _ = ask(a, thinking=thinking).content
    assert thought.thinking == ""
    assert thought.signature


def test_reasoning_of_other_models_has_no_signature(served):
    server, o, _ = served
    server.extend(think("Let me see.") + say("ok"))
    message = ask(o, model="deepseek-reasoner").choices[0].message
    assert message.reasoning_content == "Let me see."
    assert getattr(message, "thinking_blocks", None) is None


def test_counting_tokens_says_what_the_request_is_billed(served):
    server, _, a = served
    server.extend(say("ok"))
    asked = {"model": CLAUDE, "system": "Be brief.", "messages": HI, "tools": [ANTHROPIC_TOOL]}
    counted = a.messages.count_tokens(**asked).input_tokens
    assert counted == a.messages.create(max_tokens=100, **asked).usage.input_tokens
    assert (len(server.requests), len(server.lookups)) == (1, 1)


def test_the_list_of_models_in_either_shape():
    with ScriptedServer(model=CLAUDE, models=("gpt-4o",)) as server, sdks(server) as (o, a):
        assert [model.id for model in o.models.list()] == [CLAUDE, "gpt-4o"]
        assert [model.id for model in a.models.list()] == [CLAUDE, "gpt-4o"]
        assert a.models.retrieve(CLAUDE).display_name == "Claude Sonnet 5"
        assert o.models.retrieve("gpt-4o").object == "model"
        with pytest.raises(openai.NotFoundError):
            o.models.retrieve("gpt-9")
        with pytest.raises(anthropic.NotFoundError):
            a.models.retrieve("claude-9")


def test_a_finish_reason_can_be_scripted(served):
    server, o, a = served
    server.extend(say("cut o").ending("length"), say("no").ending("stop", native="pause_turn"))
    assert ask(o).choices[0].finish_reason == "length"
    assert ask(a).stop_reason == "pause_turn"


def test_errors_are_the_exceptions_that_the_sdks_have_for_them(served):
    server, o, a = served
    cases = [
        (fault(400), openai.BadRequestError, anthropic.BadRequestError),
        (fault(401), openai.AuthenticationError, anthropic.AuthenticationError),
        (fault(403), openai.PermissionDeniedError, anthropic.PermissionDeniedError),
        (fault(404), openai.NotFoundError, anthropic.NotFoundError),
        (fault("rate_limit"), openai.RateLimitError, anthropic.RateLimitError),
        (fault("server_error"), openai.InternalServerError, anthropic.InternalServerError),
        (fault("unavailable"), openai.InternalServerError, anthropic.APIStatusError),
    ]
    for item, of_openai, of_anthropic in cases:
        server.extend(item, item)
        with pytest.raises(of_openai):
            ask(o)
        with pytest.raises(of_anthropic) as raised:
            ask(a)
        assert raised.value.body["type"] == "error"
        assert raised.value.request_id.startswith("req_")


def test_an_overloaded_server_is_a_529(served):
    server, o, a = served
    server.extend(fault("overloaded", times=2))
    with pytest.raises(anthropic.APIStatusError) as raised:
        ask(a)
    assert (raised.value.status_code, raised.value.type, raised.value.api_message) == (
        529,
        "overloaded_error",
        "Overloaded",
    )
    with pytest.raises(openai.APIStatusError) as raised:
        ask(o)
    assert raised.value.status_code == 529


def test_the_sdks_wait_as_long_as_retry_after_says_and_succeed():
    limited, overloaded = (
        fault("rate_limit", retry_after=0.02),
        fault("overloaded", times=2, retry_after=0.02),
    )
    script = [limited, say("1"), overloaded, say("2")]
    with ScriptedServer(script) as server, sdks(server, retries=2) as (o, a):
        assert ask(o).choices[0].message.content == "1"
        assert ask(a).content[0].text == "2"
        assert [request.status for request in server.requests] == [429, 200, 529, 529, 200]


@pytest.mark.parametrize("kind", ["cut", "reset"])
def test_a_lost_connection_is_a_connection_error(served, kind):
    server, o, a = served
    server.extend(fault(kind, times=2))
    with pytest.raises(openai.APIConnectionError):
        ask(o)
    with pytest.raises(anthropic.APIConnectionError):
        ask(a)


def test_silence_is_a_timeout(served):
    server, o, a = served
    server.extend(fault("hang", times=2))
    with pytest.raises(openai.APITimeoutError):
        ask(o, timeout=0.1)
    with pytest.raises(anthropic.APITimeoutError):
        ask(a, timeout=0.1)
    assert server.wait_until(lambda: all(request.is_abandoned for request in server.requests))


def test_an_error_in_the_middle_of_a_stream_is_raised_with_the_provider_s_words(served):
    server, o, a = served
    server.extend(fault("stream_error", times=2))
    with pytest.raises(openai.APIError, match="The server had an error"):
        list(ask(o, stream=True))
    with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
        list(ask(a, stream=True))


@pytest.mark.parametrize("kind", ["malformed_sse", "truncated_json"])
def test_events_that_are_not_json_cannot_be_read(served, kind):
    server, o, a = served
    server.extend(fault(kind, times=2))
    for client in (o, a):
        with pytest.raises(json.JSONDecodeError):
            list(ask(client, stream=True))


def test_claude_on_openais_wire_hands_its_thinking_along(served):
    server, o, _ = served
    server.extend(think("Hm.") + say("ok"))
    message = ask(o, model="anthropic/claude-sonnet-5").choices[0].message
    assert message.thinking_blocks[0]["signature"]
    assert message.reasoning_content == "Hm."
