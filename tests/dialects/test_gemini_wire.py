"""Google's generateContent wire: what is sent comes back, in either spelling, with and without ids."""

import json
from dataclasses import replace

import pytest
from dialect_strategies import ARGUMENTS, NAMES, UNPARSABLE, WORDS, contents, optional, quick
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.dialects import GEMINI, ChatRequest, Reply, Usage, collect, gemini
from plimsoll.dialects.gemini.signatures import SKIP
from plimsoll.dialects.gemini.spelling import snake
from plimsoll.dialects.request import Thinking
from plimsoll.errors import InvalidConversation, MalformedReply
from plimsoll.messages import tool_calls, validate

TEXT = WORDS.map(lambda text: {"type": "text", "text": text})
MEDIA = st.sampled_from(
    [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
        {"type": "image_url", "image_url": {"url": "https://files/a"}, "gemini": {"mimeType": "image/png"}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBERi0="}},
        {"type": "file", "file": {"file_url": "https://files/b"}, "gemini": {"mimeType": "video/mp4"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
    ]
)
CODE = st.just({"type": "gemini", "gemini": {"executableCode": {"language": "PYTHON", "code": "1"}}})
SEALED = WORDS.map(lambda text: {"type": "text", "text": text, "gemini": {"thoughtSignature": "c2Vl"}})
SEAL = {"extra_content": {"google": {"thought_signature": "c2VhbA=="}}}


@st.composite
def assistants(draw, ids):
    message = {"role": "assistant"}
    if draw(st.booleans()):
        message["reasoning_content"] = draw(WORDS)
    calls = [
        {"id": one, "type": "function", "function": {"name": draw(NAMES), "arguments": draw(ARGUMENTS | UNPARSABLE)}}
        for one in ids
    ]  # fmt: skip
    if calls and draw(st.booleans()):
        calls[0] |= SEAL
    message["content"] = None if calls and draw(st.booleans()) else draw(contents(TEXT | CODE | SEALED))
    return {**message, "tool_calls": calls} if calls else message


@st.composite
def conversations(draw):
    """A conversation in normal form."""
    messages = []
    if draw(st.booleans()):
        messages.append({"role": "system", "content": draw(contents(TEXT))})
    used = 0
    for _ in range(draw(st.integers(1, 3))):
        messages.append({"role": "user", "content": draw(contents(TEXT | MEDIA))})
        for _ in range(draw(st.integers(0, 2))):
            ids = [f"call_{used + n}" for n in range(draw(st.integers(1, 3)))]
            used += len(ids)
            asked = draw(assistants(ids))
            messages.append(asked)
            for call in asked["tool_calls"]:
                result = {"role": "tool", "tool_call_id": call["id"], "name": call["function"]["name"]}
                result["content"] = draw(WORDS | st.tuples(TEXT, MEDIA).map(list))
                messages.append(optional(result, "is_error", draw(st.none() | st.just(True))))
        messages.append(draw(assistants([])))
    return messages


TOOLS = st.lists(
    st.sampled_from(
        [
            {"type": "function", "function": {"name": "a", "description": "A.", "parameters": {"type": "object"}}},
            {"type": "function", "function": {"name": "b", "parameters": {"type": "object", "properties": {}}}},
        ]
    ),
    min_size=1,
    max_size=2,
    unique_by=lambda tool: tool["function"]["name"],
).map(tuple)  # fmt: skip
CHOICES = st.none() | st.sampled_from(
    ["auto", "required", "none", {"type": "function", "function": {"name": "a"}}]
)
THINKING = st.none() | st.sampled_from(
    [
        Thinking(effort="low", display="summarized"),
        Thinking(mode="enabled", budget_tokens=2_048, display="omitted"),
        Thinking(mode="adaptive"),
        Thinking(mode="disabled"),
    ]
)
EXTRA = st.sampled_from(
    [
        {},
        {"gemini": {"cachedContent": "cachedContents/x", "safetySettings": [{"category": "C"}], "new_field": 1}},
        {"gemini": {"generationConfig": {"topK": 3, "responseMimeType": "application/json"}, "labels": {"a_b": "c"}}},
    ]
).map(lambda extra: json.loads(json.dumps(extra).replace("new_field", "newField")))  # fmt: skip
REQUESTS = st.builds(
    ChatRequest,
    model=st.just("exact-model"),
    messages=conversations().map(tuple),
    tools=TOOLS,
    max_tokens=st.none() | st.integers(1, 9_000),
    temperature=st.none() | st.floats(0, 2),
    top_p=st.none() | st.floats(0, 1),
    stop=st.lists(WORDS, max_size=5).map(tuple),
    tool_choice=CHOICES,
    stream=st.booleans(),
    thinking=THINKING,
    extra=EXTRA,
)


def path_of(request):
    return (
        f"/v1beta/models/{request.model}:{'streamGenerateContent' if request.stream else 'generateContent'}"
    )


@quick
@given(REQUESTS)
def test_a_request_comes_back_exactly(request):
    sent = json.loads(json.dumps(GEMINI.encode_request(request)))
    assert GEMINI.decode_request(sent, path_of(request)) == request


def snaked(value):
    """The same body in the spelling of Google's Python SDK, but for what is the client's own."""
    if isinstance(value, list):
        return [snaked(item) for item in value]
    if not isinstance(value, dict):
        return value
    own = ("args", "response", "parametersJsonSchema", "labels")
    return {snake(name): inner if name in own else snaked(inner) for name, inner in value.items()}


@quick
@given(REQUESTS)
def test_both_spellings_mean_the_same(request):
    sent = GEMINI.encode_request(request)
    assert GEMINI.decode_request(snaked(sent), path_of(request)) == request
    assert GEMINI.lead(snaked(sent)) == GEMINI.lead(sent)
    assert GEMINI.limits(snaked(sent)) == GEMINI.limits(sent)
    assert GEMINI.canonical_tools(GEMINI.tools(snaked(sent))) == list(request.tools)


REPLIES = st.builds(
    Reply,
    message=assistants(["a", "b"]) | assistants([]),
    usage=st.none()
    | st.just(Usage(9, 5, 14, input_tokens=5, output_tokens=5, cache_read_tokens=4, reasoning_tokens=2)),
    id=st.just("r"),
    model=st.just("m"),
    extra=st.sampled_from([{}, {"gemini": {"candidate": {"safetyRatings": []}, "promptFeedback": {}}}]),
)


def ended(reply, reason=None, native=None):
    reason = reason or ("tool_calls" if tool_calls(reply.message) else "stop")
    words = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
    return replace(reply, finish_reason=reason, native_finish_reason=native or words[reason])


@quick
@given(REPLIES, st.sampled_from([None, "length", "content_filter"]))
def test_a_reply_comes_back_exactly(reply, reason):
    reply = ended(reply, reason)
    assert gemini.decode_reply(json.loads(json.dumps(gemini.encode_reply(reply)))) == reply


@pytest.mark.parametrize(
    ("native", "reason"),
    [("RECITATION", "content_filter"), ("SPII", "content_filter"), ("MALFORMED_FUNCTION_CALL", "stop")],
)
def test_googles_own_words_for_an_end_are_kept(native, reason):
    reply = gemini.decode_reply({"candidates": [{"content": {"parts": []}, "finishReason": native}]})
    assert (reply.finish_reason, reply.native_finish_reason) == (reason, native)
    assert gemini.encode_reply(reply)["candidates"][0]["finishReason"] == native


def test_a_blocked_prompt_is_a_filtered_reply_and_a_reply_without_candidate_is_malformed():
    for reason in ("SAFETY", "OTHER"):
        blocked = gemini.decode_reply({"promptFeedback": {"blockReason": reason}})
        assert (blocked.finish_reason, blocked.message["content"]) == ("content_filter", "")
    for body in (None, {}, {"candidates": []}, [1], {"error": {"message": "x"}}):
        with pytest.raises(MalformedReply):
            gemini.decode_reply(body)


@quick
@given(conversations())
def test_each_request_extends_the_one_before(messages):
    whole = GEMINI.encode_request(ChatRequest("gemini-3-pro", tuple(messages)))["contents"]
    for cut in range(1, len(messages)):
        if messages[cut]["role"] == "tool":
            continue  # results of one message are in one content
        sent = GEMINI.encode_request(ChatRequest("gemini-3-pro", tuple(messages[:cut])))["contents"]
        assert sent == whole[: len(sent)]


def function_call(name, call_id=None, seal=None, **args):
    call = {"name": name, "args": args, **({"id": call_id} if call_id else {})}
    return {"functionCall": call, **({"thoughtSignature": seal} if seal else {})}


def response(name, output, call_id=None):
    given = {"name": name, "response": {"output": output}}
    return {"functionResponse": {**given, **({"id": call_id} if call_id else {})}}


def user(*parts):
    return {"role": "user", "parts": list(parts)}


def model(*parts):
    return {"role": "model", "parts": list(parts)}


def test_responses_without_ids_answer_the_calls_of_their_names_in_order():
    said = [
        user({"text": "Look."}),
        model(function_call("look", at=1), function_call("read"), function_call("look", at=2)),
        user(response("look", "first"), response("look", "second"), response("read", "third")),
        model({"text": "Done."}),
        user({"text": "Again."}),
        model(function_call("look")),
        user(response("look", "fourth"), {"text": "And go on."}),
    ]
    messages = gemini.decode_contents(None, said)
    assert validate(messages) == []
    assert validate(messages, "anthropic") == []
    calls = [call["id"] for call in messages[1]["tool_calls"]]
    answered = {one["tool_call_id"]: one["content"] for one in messages if one["role"] == "tool"}
    assert [answered[one] for one in calls] == ["first", "third", "second"]
    assert messages[-1] == {"role": "user", "content": "And go on."}
    back = gemini.encode_contents(messages)[1]
    assert "unnamed" not in str(back)
    assert back[:6] == said[:6]


def test_an_assistants_messages_next_to_its_calls_share_one_content_with_them():
    """Google refuses calls that follow a model's content, and a model's content between calls and responses."""
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    other = {**call, "id": "c2"}
    messages = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": "The facts."},
        {"role": "assistant", "content": "The plan.", "tool_calls": [call]},
        {"role": "assistant", "content": None, "tool_calls": [other]},
        {"role": "assistant", "content": "Wait."},
        {"role": "tool", "tool_call_id": "c1", "content": "seen"},
        {"role": "tool", "tool_call_id": "c2", "content": "seen too"},
        {"role": "assistant", "content": "It is there."},
        {"role": "assistant", "content": "Anything else?"},
    ]
    asked = [function_call("look", "c1"), function_call("look", "c2")]
    assert gemini.encode_contents(messages)[1] == [
        user({"text": "Look."}),
        model({"text": "The facts."}, {"text": "The plan."}, *asked, {"text": "Wait."}),
        user(response("look", "seen", "c1"), response("look", "seen too", "c2")),
        model({"text": "It is there."}),
        model({"text": "Anything else?"}),
    ]


def test_an_id_on_one_side_alone_is_matched_by_name():
    by_call = [model(function_call("look", "x1")), user(response("look", "seen"))]
    by_response = [model(function_call("look")), user(response("look", "seen", "x1"))]
    for said in (by_call, by_response):
        messages = gemini.decode_contents(None, [user({"text": "?"}), *said])
        assert messages[2]["tool_call_id"] == messages[1]["tool_calls"][0]["id"]


def test_the_first_call_of_a_step_has_a_signature_where_the_model_needs_one():
    messages = gemini.decode_contents(
        None,
        [
            user({"text": "Look."}),
            model(function_call("a", seal="own"), function_call("b")),
            user(response("a", "1"), response("b", "2")),
            model(function_call("a")),
            user(response("a", "3")),
        ],
    )
    seals = {}
    for name in ("gemini-2.5-pro", "gemini-3-pro", "other"):
        sent = GEMINI.encode_request(ChatRequest(name, tuple(messages)))["contents"]
        parts = [part for one in sent for part in one["parts"] if "functionCall" in part]
        seals[name] = [part.get("thoughtSignature") for part in parts]
    assert seals["gemini-2.5-pro"] == seals["other"] == ["own", None, None]
    assert seals["gemini-3-pro"] == ["own", None, SKIP]
    written = GEMINI.written(messages[1:2], "gemini-3-pro")
    assert written[0]["parts"][0]["thoughtSignature"] == SKIP


def test_a_result_that_is_an_object_is_read_as_json_and_an_error_is_one():
    said = [
        user({"text": "?"}),
        model(function_call("a"), function_call("b")),
        user(
            {"functionResponse": {"name": "a", "response": {"degrees": 21}}},
            {"function_response": {"name": "b", "response": {"error": "denied"}}},
        ),
    ]
    results = gemini.decode_contents(None, said)[2:]
    assert json.loads(results[0]["content"]) == {"degrees": 21}
    assert (results[1]["content"], results[1]["is_error"]) == ("denied", True)


def test_schemas_in_googles_own_form_become_json_schema():
    declared = {
        "name": "look",
        "parameters": {
            "type": "OBJECT",
            "properties": {
                "type": {"type": "STRING", "nullable": True},
                "n": {"type": "ARRAY", "items": {"type": "INTEGER"}},
            },
        },
    }
    (tool,) = GEMINI.canonical_tools([{"function_declarations": [declared]}])
    assert tool["function"]["parameters"] == {
        "type": "object",
        "properties": {
            "type": {"type": ["string", "null"]},
            "n": {"type": "array", "items": {"type": "integer"}},
        },
    }


def test_a_stream_is_read_with_thoughts_calls_and_the_last_usage():
    decoder = gemini.StreamDecoder(make_id=lambda: "made")
    chunks = [
        {"candidates": [{"content": {"parts": [{"text": "Hm.", "thought": True}]}}], "responseId": "r"},
        {"candidates": [{"content": {"parts": [{"text": "Let "}]}}], "usageMetadata": {"promptTokenCount": 7}},
        {"candidates": [{"content": {"parts": [{"text": "me."}]}}]},
        {
            "candidates": [{"content": model(function_call("look", seal="s", key="x")), "finishReason": "STOP"}],
            "usageMetadata": {
                "promptTokenCount": 7, "cachedContentTokenCount": 4, "candidatesTokenCount": 3,
                "thoughtsTokenCount": 2, "totalTokenCount": 12,
            },
        },
    ]  # fmt: skip
    deltas = [delta for chunk in chunks for delta in decoder.feed(None, chunk)]
    assert decoder.complete
    reply = decoder.reply()
    assert reply == collect(deltas)
    assert (reply.message["reasoning_content"], reply.message["content"]) == ("Hm.", "Let me.")
    (call,) = reply.message["tool_calls"]
    assert (call["id"], call["extra_content"]["google"]["thought_signature"]) == ("made", "s")
    assert reply.finish_reason == "tool_calls"
    assert reply.usage == Usage(7, 5, 12, 3, 5, cache_read_tokens=4, reasoning_tokens=2)


def test_a_stream_without_a_finish_reason_is_cut_off_and_an_error_in_it_is_a_failure():
    decoder = gemini.StreamDecoder()
    decoder.feed(None, {"candidates": [{"content": {"parts": [{"text": "Half"}]}}]})
    assert not decoder.complete
    decoder.feed(None, {"error": {"code": 503, "message": "gone", "status": "UNAVAILABLE"}})
    assert decoder.failure is not None
    assert decoder.failure.kind == "UNAVAILABLE"


def test_contents_that_are_none_are_refused():
    for given_contents in (None, "hi", {"parts": []}):
        with pytest.raises(InvalidConversation):
            GEMINI.decode_request({"contents": given_contents})
    for given_contents in (["hi"], [{"parts": "hi"}]):
        with pytest.raises(InvalidConversation):
            GEMINI.messages({"contents": given_contents})


def test_a_thinking_budget_shrinks_with_the_limit_in_the_spelling_of_the_client():
    config = {"max_output_tokens": 8_000, "thinkingConfig": {"thinking_budget": 4_000}}
    body = {"contents": [], "generation_config": config}
    assert GEMINI.with_limits(body, {"maxOutputTokens": 4_000})["generation_config"] == {
        "max_output_tokens": 4_000,
        "thinkingConfig": {"thinking_budget": 2_000},
    }
