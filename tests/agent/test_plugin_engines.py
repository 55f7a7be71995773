"""A plugin engine: its tools are offered, and each of its failures is reported once and harms nothing."""

import asyncio
import gc
import json
import threading

import pytest
from equipped import Plain, equipped, tool

from plimsoll.agent import Compacted, CompactionRules, Notice, ToolReturned
from plimsoll.agent.engine_host import EngineHost
from plimsoll.agent.plugin_calls import DeadlineExceeded, accepted_arguments, call_in_thread
from plimsoll.context import ContextCompressor
from plimsoll.context.lcm import LcmEngine
from plimsoll.messages import text_of, validate
from plimsoll.testing.scripted_server import ScriptedServer, call, say

ASK = {"role": "user", "content": "Go on. " + "word " * 250}
GREP = {
    "type": "function",
    "function": {
        "name": "grep_past",
        "description": "Search what left.",
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}},
    },
}


def sentences(events):
    return [event.sentence for event in events if isinstance(event, Notice)]


def compactions(events):
    return [event.event for event in events if isinstance(event, Compacted)]


def talk(server, path, engine, turns=1, said=ASK, **more):
    async def run():
        events = []
        async with equipped(server, path, engine=engine, **more) as conversation:
            for _ in range(turns):
                await conversation.say(said, events.append)
            return events, list(conversation.agent.view), conversation.agent.compactor.engine

    return asyncio.run(run())


class WithTool(Plain):
    def get_tool_schemas(self):
        return [GREP]

    def handle_tool_call(self, name, args, messages):
        return json.dumps({"tool": name, "text": args["text"], "seen": len(messages)})


def test_the_engines_tools_are_offered_and_answered_with_the_view(tmp_path):
    with ScriptedServer([call("grep_past", text="x"), say("Found.")], model="claude-sonnet-5") as server:
        events, view, _ = talk(server, tmp_path, WithTool())
        offered = [one["name"] for one in server.requests[0].body["tools"]]
    assert offered == ["recall", "grep_past"]
    assert json.loads(text_of(view[3])) == {"tool": "grep_past", "text": "x", "seen": 3}
    assert sentences(events) == []


def test_a_model_without_tools_gets_no_tool_of_the_engine(tmp_path):
    with ScriptedServer([say("Hello.")], model="claude-sonnet-5") as server:
        talk(server, tmp_path, WithTool(), offers_recall=False)
        assert "tools" not in server.requests[0].body


@pytest.mark.rewrites_history("the window is so small that the first message is shortened")
@pytest.mark.parametrize("engine", [ContextCompressor, LcmEngine])
def test_a_model_without_tools_is_shown_no_handle_and_no_tool_of_the_engine(tmp_path, engine):
    options = {"able_to_recall": True} if engine is ContextCompressor else {"offers_tools": False}
    made = engine(context_length=4_000, protect_last_n=2, **options)
    said = {"role": "user", "content": "Read this. " + "word " * 900}
    with ScriptedServer(lambda request: say("ok"), model="claude-sonnet-5") as server:
        events, view, _ = talk(server, tmp_path, made, turns=6, said=said, offers_recall=False)
        sent = [str(request.body) for request in server.requests]
    assert compactions(events)
    assert "under handle h:" in str(view)  # the archive finds the original by it
    assert not [body for body in sent if "h:" in body or "lcm_" in body]


def test_a_tool_of_the_agent_wins_over_one_of_the_engine_with_its_name_and_a_notice_says_so(tmp_path):
    mine = tool("grep_past", lambda **_: "mine")
    with ScriptedServer([call("grep_past"), say("Found.")], model="claude-sonnet-5") as server:
        events, view, _ = talk(server, tmp_path, WithTool(), tools=[mine])
    assert text_of(view[3]) == "mine"
    assert sum("grep_past was skipped" in one for one in sentences(events)) == 1


def test_the_crash_of_an_engines_tool_becomes_its_result(tmp_path):
    class Crashing(WithTool):
        def handle_tool_call(self, name, args, **kwargs):
            raise KeyError("no index")

    with ScriptedServer([call("grep_past", text="x"), say("Sorry.")], model="claude-sonnet-5") as server:
        events, view, _ = talk(server, tmp_path, Crashing())
    assert text_of(view[3]) == "Error: grep_past failed: KeyError: 'no index'"
    assert [event.is_error for event in events if isinstance(event, ToolReturned)] == [True]


class Raising(Plain):
    """Every small method raises."""

    def _raise(self, *args, **kwargs):
        raise RuntimeError("out of order")

    update_from_response = should_compress = has_content_to_compress = _raise
    on_session_start = get_tool_schemas = update_model = on_session_end = on_session_reset = _raise


def test_every_small_method_that_raises_is_reported_once_and_the_conversation_continues(tmp_path):
    async def run(server):
        events = []
        async with equipped(server, tmp_path, engine=Raising()) as conversation:
            for _ in range(20):
                await conversation.say(ASK, events.append)
            await conversation.compress(events.append)
            await conversation.end(reset=True)
            conversation.agent.emit_notices(events.append)
            return events, list(conversation.agent.view)

    with ScriptedServer(lambda request: say("ok"), model="claude-sonnet-5") as server:
        events, view = asyncio.run(run(server))
    told = sentences(events)
    for method in (
        "update_from_response", "should_compress", "has_content_to_compress", "on_session_start",
        "get_tool_schemas", "update_model", "on_session_end", "on_session_reset",
    ):  # fmt: skip
        assert sum(f"plain: {method} failed: RuntimeError: out of order." in one for one in told) == 1
    assert any(event.outcome == "compacted" for event in compactions(events))
    assert validate(view) == []


@pytest.mark.parametrize(
    "broken",
    [
        lambda messages: None,
        lambda messages: "lighter",
        lambda messages: [*messages, *messages],
        lambda messages: [m for m in messages if m["role"] != "user"],
        lambda messages: [7],
        lambda messages: [m.clear() for m in messages],
    ],
)
def test_the_built_in_engine_takes_over_whatever_compress_returns_or_changes(tmp_path, broken):
    class Wrong(Plain):
        def compress(self, messages):
            return broken(messages)

    with ScriptedServer(lambda request: say("ok"), model="claude-sonnet-5") as server:
        events, view, _ = talk(server, tmp_path, Wrong(), turns=24)
    done = compactions(events)
    assert {event.outcome for event in done} == {"compacted"}
    assert all(event.reason.startswith("plain: ") for event in done)
    assert validate(view) == []


def test_an_engine_that_hangs_is_not_used_again_and_that_is_reported(tmp_path):
    release, asked = threading.Event(), []

    class Hanging(Plain):
        def compress(self, messages, **kwargs):
            asked.append(len(messages))
            release.wait(60)
            return messages

    rules = CompactionRules(background=False, deadline=2.0)
    with ScriptedServer(lambda request: say("ok"), model="claude-sonnet-5") as server:
        events, _, serving = talk(server, tmp_path, Hanging(), turns=40, rules=rules)
    release.set()
    assert len(asked) == 1
    assert len([event for event in compactions(events) if event.outcome == "compacted"]) >= 2
    assert serving.name == "compressor"
    assert sum("is disabled until Plimsoll restarts" in one for one in sentences(events)) == 1


def test_an_engine_with_a_small_method_that_hangs_is_disabled():
    release = threading.Event()

    class Stuck(Plain):
        def update_from_response(self, usage):
            release.wait(60)

    async def run():
        host = EngineHost(Stuck(), deadline=0.1)
        await host.ask("update_from_response", None, {})
        return host

    host = asyncio.run(run())
    release.set()
    assert (host.engine.name, host.engine.context_length) == ("compressor", 8_000)
    assert len(host.take_notices()) == 1
    assert host.take_notices() == []


def test_the_reported_failure_of_an_engine_contains_no_key(tmp_path):
    class Talkative(Plain):
        def update_model(self, model, context_length, api_key, base_url):
            raise ValueError(f"cannot log in with {api_key} at {base_url}")

    async def run(server):
        async with equipped(server, tmp_path, engine=Talkative()) as conversation:
            return conversation.agent.connection.facts(1), conversation.agent.compactor.host.take_notices()

    with ScriptedServer([], model="claude-sonnet-5") as server:
        facts, (told,) = asyncio.run(run(server))
    assert facts["api_key"] == "any"
    assert "cannot log in with [key] at http" in told


def test_only_accepted_keyword_arguments_are_passed():
    assert accepted_arguments(lambda a, *, b=1: None, {"b": 2, "c": 3}) == {"b": 2}
    assert accepted_arguments(lambda a, **more: None, {"b": 2, "c": 3}) == {"b": 2, "c": 3}
    assert accepted_arguments(lambda a, /: None, {"a": 2}) == {}


def test_a_thread_that_hangs_or_exits_raises_its_own_error():
    release = threading.Event()
    with pytest.raises(DeadlineExceeded, match=r"no result within 0\.05 s"):
        asyncio.run(call_in_thread(lambda: release.wait(60), 0.05))
    release.set()
    with pytest.raises(RuntimeError, match="SystemExit: 3"):
        asyncio.run(call_in_thread(lambda: exit(3), 5))
    with pytest.raises(TimeoutError):
        asyncio.run(call_in_thread(lambda: (_ for _ in ()).throw(TimeoutError()), 5))


def test_messages_that_only_another_dialect_accepts_are_refused(tmp_path):
    class OpensWithAnAnswer(Plain):
        def compress(self, messages, **kwargs):
            return [messages[0], *messages[-2:]]

    with ScriptedServer(lambda request: say("ok"), model="claude-sonnet-5") as server:
        events, *_ = talk(server, tmp_path, OpensWithAnAnswer(), turns=20)
    assert compactions(events)
    assert all("opens_with_assistant" in event.reason for event in compactions(events))


def test_an_exception_of_an_abandoned_thread_is_not_printed():
    started, release, reported = threading.Event(), threading.Event(), []

    def fails_late():
        started.set()
        release.wait(60)
        raise RuntimeError("cannot schedule new futures after shutdown")

    async def leave():
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _loop, context: reported.append(context["message"]))
        waiting = asyncio.create_task(call_in_thread(fails_late, 60))
        await asyncio.to_thread(started.wait, 60)
        thread = next(one for one in threading.enumerate() if one.name == "plimsoll-foreign")
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        release.set()
        await asyncio.to_thread(thread.join, 60)
        await asyncio.sleep(0)  # the loop handles what the thread left behind

    asyncio.run(leave())
    gc.collect()
    assert reported == []
