"""What ends a turn, what cures a refused request, and what a person can do to a session."""

import asyncio
import threading
import time
from dataclasses import replace

import pytest
from conversing import connection_to, conversing

from plimsoll.agent import INTERRUPTED, Compacted, CompactionRules, Notice, ToolReturned, TurnLimits
from plimsoll.context import ContextEngine
from plimsoll.context.markers import is_summary
from plimsoll.errors import UserError
from plimsoll.messages import text_of, validate
from plimsoll.models.media_limits import MediaLimits
from plimsoll.testing.scripted_server import ScriptedServer, call, fault, say

ASK = {"role": "user", "content": "Please look up #1 for me."}
LONG = "and so on and on " * 300


def ask(n, more=""):
    return {"role": "user", "content": f"Tell me about number {n}. {more}"}


def run(coroutine):
    return asyncio.run(coroutine)


def compactions(events):
    return [event.event for event in events if isinstance(event, Compacted)]


class Slow:
    """A summary model that takes its time and counts how often it was asked."""

    context_length = 100_000

    def __init__(
        self, seconds=0.0, answer="## Goal\nlook things up\n## Progress\n### Done\nlooked up many\n"
    ):
        self.seconds, self.answer, self.asked = seconds, answer, 0
        self.running = threading.Event()

    def summarize(self, prompt, max_tokens):
        self.asked += 1
        self.running.set()
        time.sleep(self.seconds)
        return self.answer


def test_an_overflow_compacts_at_once_and_the_providers_number_is_learned(tmp_path):
    async def talk(server):
        events = []
        async with conversing(server, tmp_path, window=200_000) as conversation:
            for n in range(12):
                await conversation.say(ask(n, LONG), events.append)
            return events, conversation.agent.compactor.engine.context_length

    with ScriptedServer(
        lambda request: say("Yes. " + LONG), model="claude-sonnet-5", window=16_000
    ) as server:
        events, learned = run(talk(server))
    assert learned == 16_000
    assert "overflow" in [event.trigger for event in compactions(events)]
    assert any("16,000" in event.sentence for event in events if isinstance(event, Notice))


def test_with_compaction_off_an_overflow_names_the_setting(tmp_path):
    async def talk(server):
        rules = CompactionRules(enabled=False)
        async with conversing(server, tmp_path, window=200_000, rules=rules) as conversation:
            events = []
            with pytest.raises(UserError, match=r"compression\.enabled"):  # noqa: PT012
                for n in range(40):
                    await conversation.say(ask(n, "word " * 200), events.append)
            assert compactions(events) == []
            await conversation.compress(events.append)
            assert compactions(events)[-1].outcome == "compacted"
            answer = await conversation.say(ask(99), events.append)
            assert text_of(answer).startswith("Yes.")

    with ScriptedServer(lambda request: say("Yes. " * 200), model="claude-sonnet-5", window=16_000) as server:
        run(talk(server))


def test_an_output_cap_lowers_the_answer_and_compacts_nothing(tmp_path):
    async def talk(server):
        events = []
        async with conversing(
            server, tmp_path, connection=connection_to(server, max_tokens=9_000)
        ) as conversation:
            await conversation.say(ask(1), events.append)
            return events, conversation.agent.connection.max_tokens

    with ScriptedServer([say("Yes.")], model="claude-sonnet-5", output_cap=4_000) as server:
        events, lowered = run(talk(server))
    assert lowered <= 4_000
    assert compactions(events) == []


@pytest.mark.rewrites_history("images that were sent are left out, which is what is tested")
def test_too_many_bytes_make_the_oldest_images_go(tmp_path):
    pixels = "A" * 400_000

    def picture(n):
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{pixels}"}}
        return {"role": "user", "content": [{"type": "text", "text": f"picture {n}"}, image]}

    async def talk(server):
        events = []
        async with conversing(server, tmp_path) as conversation:
            for n in range(4):
                await conversation.say(picture(n), events.append)
            stored = await conversation.archive.messages(conversation.session.id)
            return events, stored

    with ScriptedServer(lambda request: say("Seen."), model="claude-sonnet-5", max_bytes=1_000_000) as server:
        events, stored = run(talk(server))
        newest = server.requests[-1].request.messages
    assert [event.trigger for event in compactions(events)].count("media limits") >= 1
    assert any(
        "[image removed: image/png, 300 KB; full content under handle h:" in text_of(m) for m in newest
    )
    assert sum("data:image" in str(s.message) for s in stored) == 4


@pytest.mark.rewrites_history("images that were sent are left out, which is what is tested")
def test_images_leave_before_a_request_with_too_many(tmp_path):
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 400}}

    async def talk(server):
        async with conversing(server, tmp_path) as conversation:
            connection = conversation.agent.connection
            connection.card = replace(connection.card, media=MediaLimits(images=2))
            for n in range(5):
                said = {"type": "text", "text": f"picture {n}"}
                await conversation.say({"role": "user", "content": [said, image]}, lambda _event: None)

    with ScriptedServer(lambda request: say("Seen."), model="claude-sonnet-5", max_images=2) as server:
        run(talk(server))
        assert [seen.status for seen in server.requests] == [200] * 5
        assert ["data:image" in str(m) for m in server.requests[-1].request.messages][-1]


def test_without_compaction_a_rejected_image_names_the_setting(tmp_path):
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 4_000}}

    async def talk(server):
        async with conversing(server, tmp_path, rules=CompactionRules(enabled=False)) as conversation:
            for _ in range(2):
                await conversation.say({"role": "user", "content": [image]}, lambda _event: None)

    with (
        ScriptedServer(lambda request: say("Seen."), model="claude-sonnet-5", max_images=1) as server,
        pytest.raises(UserError, match=r"compression\.enabled"),
    ):
        run(talk(server))


def test_a_limit_ends_the_turn_and_the_session_continues(tmp_path):
    async def talk(server):
        events = []
        async with conversing(server, tmp_path, limits=TurnLimits(requests=3)) as conversation:
            first = await conversation.say(ASK, events.append)
            second = await conversation.say(ask(2), events.append)
            return events, first, second, conversation.agent.view

    endless = [call("look_up", n=1)] * 3 + [say("Here.")]
    with ScriptedServer(endless, model="claude-sonnet-5") as server:
        events, first, second, view = run(talk(server))
    assert "3 requests" in text_of(first)
    assert text_of(second) == "Here."
    assert any(isinstance(event, Notice) for event in events)
    assert validate(view) == []


def test_stopping_in_the_middle_leaves_a_valid_history(tmp_path):
    async def talk(server):
        async with conversing(server, tmp_path) as conversation:
            turn = asyncio.create_task(conversation.say(ask(1), lambda event: None))
            await asyncio.to_thread(server.wait_until, lambda: len(server.requests) == 1)
            turn.cancel()
            with pytest.raises(asyncio.CancelledError):
                await turn
            assert conversation.agent.view[-1]["content"] == INTERRUPTED
            answer = await conversation.say(ask(2), lambda event: None)
            stored = await conversation.archive.messages(conversation.session.id)
            return answer, [s.message for s in stored], conversation.agent.view

    with ScriptedServer([fault("hang"), say("Here.")], model="claude-sonnet-5") as server:
        answer, stored, view = run(talk(server))
    assert text_of(answer) == "Here."
    assert stored == view
    assert validate(view) == validate(view, "anthropic") == []


def test_a_tool_that_crashes_is_a_result(tmp_path):
    async def talk(server):
        events = []
        async with conversing(server, tmp_path) as conversation:
            answer = await conversation.say(ASK, events.append)
            return events, answer

    with ScriptedServer([call("no_such_tool"), say("Sorry.")], model="claude-sonnet-5") as server:
        events, answer = run(talk(server))
    assert text_of(answer) == "Sorry."
    assert [event.is_error for event in events if isinstance(event, ToolReturned)] == [True]


def chat(server, path, turns, **options):
    async def talk():
        events = []
        async with conversing(server, path, window=20_000, **options) as conversation:
            for n in range(turns):
                await conversation.say(ask(n, "word " * 250), events.append)
                await asyncio.sleep(0.02)
            return events, list(conversation.agent.view)

    return run(talk())


@pytest.mark.slow
def test_a_view_with_prepared_summaries_is_valid_and_has_one(tmp_path):
    """That nobody waits for them is shown on a virtual clock, in test_background_timing.py."""
    model = Slow(seconds=0.3)
    with ScriptedServer(lambda request: say("ok " * 30), model="claude-sonnet-5") as server:
        rules = CompactionRules(background=True)
        events, view = chat(server, tmp_path, 60, summarizer=model, rules=rules)
    done = [event for event in compactions(events) if event.outcome == "compacted"]
    assert len(done) >= 2
    assert sum(map(is_summary, view)) == 1
    assert validate(view) == []


@pytest.mark.slow
def test_nothing_is_swapped_in_before_the_hard_line(tmp_path):
    model = Slow()
    with ScriptedServer(lambda request: say("ok " * 30), model="claude-sonnet-5") as server:
        events, *_ = chat(server, tmp_path, 40, summarizer=model, rules=CompactionRules(background=True))
    assert compactions(events)
    assert all(event.tokens_before >= 10_000 for event in compactions(events) if event.outcome == "compacted")


class Broken(ContextEngine):
    """An engine that never gives anything."""

    name = "broken"
    context_length, threshold_tokens = 8_000, 4_000

    def update_from_response(self, usage):
        self.last_prompt_tokens = usage["prompt_tokens"]

    def should_compress(self, prompt_tokens=None):
        return prompt_tokens >= self.threshold_tokens

    def compress(self, messages, current_tokens=None, focus_topic=None, **later):
        raise RuntimeError("out of order")


def test_an_engine_that_raises_is_replaced_for_that_turn(tmp_path):
    async def talk(server):
        events = []
        async with conversing(server, tmp_path, window=8_000) as conversation:
            conversation.agent.compactor.engine = Broken()
            for n in range(30):
                await conversation.say(ask(n, "word " * 250), events.append)
        return events

    with ScriptedServer(lambda request: say("ok"), model="claude-sonnet-5") as server:
        events = run(talk(server))
    assert {event.outcome for event in compactions(events)} == {"compacted"}
    assert all("out of order" in event.reason for event in compactions(events))


def test_undo_brings_back_the_view_and_pins_survive(tmp_path):
    async def talk(server):
        async with conversing(server, tmp_path, window=64_000) as conversation:
            await conversation.say(ask(0), lambda event: None)
            await conversation.say(
                {"role": "user", "content": "Remember: the code is 4711."}, lambda event: None
            )
            await conversation.pin(4)
            for n in range(20):
                await conversation.say(ask(n, "word " * 600), lambda event: None)
            before = list(conversation.agent.view)
            event = await conversation.compress(lambda event: None)
            after = list(conversation.agent.view)
            await conversation.undo()
            return before, event, after, list(conversation.agent.view)

    with ScriptedServer(lambda request: say("ok " * 60), model="claude-sonnet-5") as server:
        before, event, after, undone = run(talk(server))
    assert event.outcome == "compacted"
    assert len(after) < len(before)
    assert "the code is 4711" in "".join(map(text_of, after))
    assert undone == before


def test_every_answered_request_is_reported_exactly_as_it_was_sent(tmp_path):
    told = []

    async def talk(server):
        connection = connection_to(server)
        connection.on_reply = lambda request, usage: told.append((request, usage))
        async with conversing(server, tmp_path, connection=connection) as conversation:
            await conversation.say(ASK, lambda event: None)

    with ScriptedServer([call("look_up", n=1), say("Found.")], model="claude-sonnet-5") as server:
        run(talk(server))
        assert [len(request.messages) for request, _ in told] == [2, 4]
        assert [usage.prompt_tokens for _, usage in told] == [
            seen.usage.prompt_tokens for seen in server.requests
        ]
    assert any("cache_control" in str(message) for message in told[-1][0].messages)
