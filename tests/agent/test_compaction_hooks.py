"""Hooks before and after a compaction: context, veto, what is stored, and hooks that fail."""

import asyncio
import threading

from equipped import Plain, equipped

from plimsoll.agent import Compacted, CompactionRules, Hooks, Notice
from plimsoll.testing.scripted_server import ScriptedServer, say

ASK = {"role": "user", "content": "Go on. " + "word " * 250}


class Listening(Plain):
    """Remembers the focus that it was given."""

    def __init__(self):
        self.heard = []

    def compress(self, messages, focus_topic=None):
        self.heard.append(focus_topic)
        return super().compress(messages)


def talk(path, engine, hooks, turns=16, window=None, background=False, by_hand=None):
    async def run(server):
        events = []
        rules = CompactionRules(background=background)
        async with equipped(server, path, engine=engine, hooks=hooks, rules=rules) as conversation:
            for _ in range(turns):
                await conversation.say(ASK, events.append)
            if by_hand is not None:
                await conversation.compress(events.append, by_hand)
            stored = await conversation.archive.compactions(conversation.session.id)
        done = [event.event for event in events if isinstance(event, Compacted)]
        return done, [event.sentence for event in events if isinstance(event, Notice)], stored

    with ScriptedServer(lambda request: say("ok"), model="claude-sonnet-5", window=window) as server:
        return asyncio.run(run(server))


def test_context_is_passed_to_the_engine_after_the_focus(tmp_path):
    engine, seen = Listening(), []

    def remind(messages, trigger, focus):
        seen.append((len(messages), trigger, focus))
        messages.clear()
        return {"context": "Keep the port."}

    talk(tmp_path, engine, Hooks(pre_compact=(remind, lambda *_: None)), turns=22, by_hand="the parser")
    assert engine.heard[0] == "Keep the port."
    assert engine.heard[-1] == "the parser\nKeep the port."
    assert seen[0][1:] == ("threshold", None)
    assert seen[-1][1:] == ("by hand", "the parser")


def test_the_background_asks_the_hooks_once_for_each_compaction(tmp_path):
    engine, asked = Listening(), []

    def remind(messages, trigger, focus):
        asked.append(trigger)
        return {"context": "Keep the port."}

    done, *_ = talk(tmp_path, engine, Hooks(pre_compact=(remind,)), turns=30, background=True)
    assert {event.outcome for event in done} == {"compacted"}
    assert set(engine.heard) == {"Keep the port."}
    assert len(asked) <= len(done) + 1


def test_a_veto_applies_at_the_threshold_and_is_stored_with_its_reason(tmp_path):
    def keep(messages, trigger, focus):
        return {"veto": "a release is under way"}

    done, _, stored = talk(tmp_path, Plain(), Hooks(pre_compact=(keep,)), turns=22)
    assert {event.outcome for event in done} == {"refused"}
    assert all(event.reason.endswith("keep: a release is under way") for event in stored)
    assert all(event.tokens_after == event.tokens_before > 0 for event in stored)
    assert all(event.messages_after == event.messages_before > 0 for event in stored)
    assert len(done) < 6


def test_a_veto_does_not_apply_to_an_overflow_or_a_person(tmp_path):
    hooks = Hooks(pre_compact=(lambda *_: {"veto": "never"},))
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    done, *_ = talk(tmp_path / "one", Plain(), hooks, turns=40, window=8_000)
    assert {event.outcome for event in done if event.trigger == "overflow"} == {"compacted"}
    done, *_ = talk(tmp_path / "two", Plain(), hooks, turns=8, by_hand="all")
    assert done[-1].outcome == "compacted"


def test_hooks_that_raise_hang_or_answer_nonsense_are_reported_once_and_ignored(tmp_path):
    release = threading.Event()

    def crash(*_):
        raise RuntimeError("no")

    def hang(*_):
        release.wait(60)

    def nonsense(*_):
        return 7

    hooks = Hooks((crash, hang, nonsense), (crash,), deadline=1.0)
    done, told, _ = talk(tmp_path, Plain(), hooks, turns=30)
    release.set()
    assert {event.outcome for event in done} == {"compacted"}
    assert len(done) > 1
    assert sum("pre_compact hook" in one for one in told) == 3
    assert sum("post_compact hook" in one and "RuntimeError: no" in one for one in told) == 1


def test_after_a_compaction_the_stored_event_is_reported(tmp_path):
    told = []
    _, _, stored = talk(tmp_path, Plain(), Hooks(post_compact=(told.append,)), turns=20)
    assert told == stored
    assert told[0].view_after > 0
