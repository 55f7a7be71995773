"""A plugin engine sees each request before it is sent and says whether it can compact it."""

import asyncio

import pytest
from equipped import Plain, equipped

from plimsoll import ContextCompressor
from plimsoll.agent import Compacted, CompactionRules, Notice
from plimsoll.testing.scripted_server import ScriptedServer, say

ASK = {"role": "user", "content": "Go on. " + "word " * 40}


class Wishing(Plain):
    """Asks for a compaction from so many messages on, far below its threshold."""

    def __init__(self, most=7, has_content=True):
        self.most, self.content = most, has_content
        self.shown, self.asked = [], 0

    def should_compress_preflight(self, messages):
        self.shown.append(len(messages))
        wish = len(messages) >= self.most
        messages.clear()  # nobody else's list
        return wish

    def has_content_to_compress(self, messages):
        self.asked += 1
        return self.content


def talk(server, path, engine, turns, **more):
    async def run():
        events = []
        async with equipped(server, path, engine=engine, **more) as conversation:
            for _ in range(turns):
                await conversation.say(ASK, events.append)
            return events, list(conversation.agent.view)

    return asyncio.run(run())


def compactions(events):
    return [event.event for event in events if isinstance(event, Compacted)]


@pytest.fixture
def server():
    with ScriptedServer(lambda request: say("ok"), model="claude-sonnet-5") as server:
        yield server


@pytest.mark.rewrites_history("the engine's compactions have no marker of ours")
def test_an_engine_that_finds_a_request_too_large_is_asked_before_it_is_sent(server, tmp_path):
    engine = Wishing()
    events, _ = talk(server, tmp_path, engine, turns=6)
    assert engine.shown[:3] == [2, 4, 6]
    assert {(event.trigger, event.outcome) for event in compactions(events)} == {("preflight", "compacted")}
    assert max(len(seen.body["messages"]) for seen in server.requests) < engine.most


def test_an_engine_with_nothing_to_compress_is_left_alone_and_nothing_has_failed(server, tmp_path):
    engine = Wishing(has_content=False)
    events, view = talk(server, tmp_path, engine, turns=6)
    assert compactions(events) == []
    assert len(view) == 13
    assert engine.asked == sum(shown >= engine.most for shown in engine.shown) > 0


def test_a_wish_that_came_to_nothing_is_not_tried_again_before_there_is_more(server, tmp_path):
    class Vain(Wishing):
        context_length, threshold_tokens = 200_000, 100_000

        def compress(self, messages, **options):
            return messages

    events, _ = talk(server, tmp_path, Vain(most=1), turns=6)
    assert [event.outcome for event in compactions(events)] == ["refused"]


def test_without_compression_the_engine_sees_requests_but_does_not_decide(server, tmp_path):
    engine = Wishing()
    events, _ = talk(server, tmp_path, engine, turns=6, rules=CompactionRules(enabled=False))
    assert compactions(events) == []
    assert len(engine.shown) == 6


def test_an_engine_that_cannot_answer_is_reported_once_and_the_conversation_continues(server, tmp_path):
    class Raising(Plain):
        def should_compress_preflight(self, messages):
            raise RuntimeError("out of order")

    events, view = talk(server, tmp_path, Raising(), turns=3)
    told = [event.sentence for event in events if isinstance(event, Notice)]
    assert sum("should_compress_preflight failed: RuntimeError: out of order" in one for one in told) == 1
    assert len(view) == 7


def test_the_built_in_uses_the_count_and_not_a_rough_guess(server, tmp_path):
    class Guessing(ContextCompressor):
        def should_compress_preflight(self, messages):
            raise AssertionError("the count of tokens says more")

    events, _ = talk(server, tmp_path, Guessing(context_length=32_000), turns=2)
    assert [event for event in events if isinstance(event, Notice)] == []
