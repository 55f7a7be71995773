"""A plugin's engine under the contract: arguments, messages, counters, tools."""

import copy
import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll import ContextEngine, repair, validate
from plimsoll.errors import PluginError
from plimsoll.plugins import PluginEngine, Services
from plimsoll.testing import conversations


class Small:
    """An engine that is no subclass, takes few arguments, and mistreats its input."""

    name = "small"

    def __init__(self, keep=3):
        self.keep = keep
        self.lock = threading.Lock()  # cannot be copied
        self.seen = {}

    def update_from_response(self, usage):
        self.last_prompt_tokens = usage["prompt_tokens"]

    def should_compress(self, prompt_tokens=None):
        return bool(prompt_tokens)

    def compress(self, messages):
        self.seen["messages"] = copy.deepcopy(messages)
        kept = messages[:1] + messages[-self.keep :] if len(messages) > self.keep else list(messages)
        for message in messages:
            message["role"] = message["role"]
        messages.clear()
        return kept


class Talkative(Small):
    def update_model(self, model, context_length, provider="", **more):
        self.seen["model"] = (model, context_length, provider, sorted(more))

    def on_session_start(self, session_id, platform="", conversation_id=None):
        self.seen["start"] = (session_id, platform, conversation_id)

    def handle_tool_call(self, name, args, messages=None):
        args["changed"] = True
        return {"name": name, "messages": len(messages or [])}

    def get_tool_schemas(self):
        return [{"name": "small_grep", "description": "Find.", "parameters": {"type": "object"}}]

    def compress(self, messages, focus_topic=None, **later):
        self.seen["options"] = {"focus_topic": focus_topic, **later}
        return messages


def hosted(inner, tmp_path="/tmp", **options):
    return PluginEngine(inner, "small", Services(tmp_path), window=10_000, threshold=0.5, **options)


@given(conversations(min_turns=2), st.integers(1, 6), st.booleans())
def test_whatever_it_returns_is_valid_and_made_of_the_hosts_own_messages(messages, keep, as_text):
    before = copy.deepcopy(messages)
    result = hosted(Small(keep), as_text=as_text).compress(
        messages, current_tokens=9, focus_topic="x", force=True
    )
    assert messages == before
    assert [one for one in validate(result) if one.code in ("orphan_result", "unanswered_call")] == []
    for message in result:
        stub = str(message.get("content")).startswith("[Result unavailable")
        assert stub or any(message == own for own in before) or message.get("content") == ""


@given(conversations(min_turns=2))
def test_a_plugin_for_text_gets_text_and_nothing_is_lost_by_it(messages):
    inner = Small(keep=10**6)
    engine = hosted(inner, as_text=True)
    result = engine.compress(messages)
    assert all(isinstance(one["content"], str) for one in inner.seen["messages"])
    assert result == repair(messages)


def test_a_sentence_that_was_said_twice_stays_where_it_was():
    said = [{"role": "user", "content": "ok"}, {"role": "assistant", "content": "yes"}]
    messages = [dict(one) for _ in range(5) for one in said]
    result = hosted(Small(keep=2)).compress(messages)
    assert [id(one) for one in result] == [id(messages[0]), id(messages[-2]), id(messages[-1])]


def test_only_what_the_signature_takes_is_passed():
    inner = Talkative()
    engine = hosted(inner)
    engine.compress([], current_tokens=5, focus_topic="parser", force=True)
    assert inner.seen["options"] == {"focus_topic": "parser", "current_tokens": 5, "force": True}
    engine.update_model("m", 500, provider="p", api_key="k")
    assert inner.seen["model"] == ("m", 500, "p", ["api_key", "api_mode", "base_url"])
    engine.on_session_start("s1", context_length=5)
    assert inner.seen["start"] == ("s1", "cli", "s1")
    assert hosted(Small()).compress([], focus_topic="x", anything="else") == []


def test_counters_are_read_from_the_plugin_at_the_moment_they_are_asked_for():
    inner = Small()
    engine = hosted(inner)
    assert (engine.context_length, engine.threshold_tokens, engine.last_prompt_tokens) == (10_000, 5_000, 0)
    engine.update_from_response({"prompt_tokens": 77, "completion_tokens": 0, "total_tokens": 77})
    assert engine.last_prompt_tokens == 77
    inner.threshold_tokens, inner.protect_last_n = 123, "many"
    assert engine.threshold_tokens == 123
    assert engine.protect_last_n == ContextEngine.protect_last_n
    engine.update_model("m", 2_000)
    assert (engine.context_length, engine.threshold_tokens) == (2_000, 123)


def test_tools_come_in_openai_form_and_answer_with_json():
    engine = hosted(Talkative())
    (schema,) = engine.get_tool_schemas()
    assert schema["type"] == "function"
    assert schema["function"]["name"] == "small_grep"
    arguments = {}
    answer = engine.handle_tool_call(
        "small_grep", arguments, messages=[{"role": "user", "content": "a"}], turn=3
    )
    assert json.loads(answer) == {"name": "small_grep", "messages": 1}
    assert arguments == {}
    assert "no tool named" in hosted(Small()).handle_tool_call("x", {})


def test_optional_methods_may_be_missing():
    engine = hosted(Small())
    assert engine.get_tool_schemas() == []
    assert engine.should_compress_preflight([]) is False
    assert engine.has_content_to_compress([]) is True
    engine.on_session_reset()
    engine.on_session_end("s", [])
    assert engine.get_status()["engine"] == "small"


def test_the_engine_itself_is_never_copied():
    inner = Small()
    assert hosted(inner).inner is inner


def test_something_else_than_messages_is_refused():
    class Wrong(Small):
        def compress(self, messages):
            return "done"

    with pytest.raises(PluginError, match="returned str, not a list of messages"):
        hosted(Wrong()).compress([])


def test_what_compress_raises_is_raised_for_the_host_to_tell():
    class Raises(Small):
        def compress(self, messages):
            raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        hosted(Raises()).compress([])
