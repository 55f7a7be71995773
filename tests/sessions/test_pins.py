"""A pinned message keeps its words through every compaction, whichever engine makes it, whatever is equal to it."""

import asyncio
import copy

import pytest
from equipped import equipped
from hypothesis import given
from hypothesis import strategies as st

from message_builders import user
from plimsoll import ContextCompressor
from plimsoll.archive.blocking import BlockingArchive
from plimsoll.context.lcm import ArchiveNodeStore, LcmEngine
from plimsoll.context.markers import NOTE, find_summary
from plimsoll.messages import match_messages, stub_result, text_of, texts_of, validate
from plimsoll.sessions import with_pins
from plimsoll.testing.scripted_server import ScriptedServer, say

WINDOW = 8_000
SUMMARY = {"role": "assistant", "content": "what happened before"}


def compressor(_conversation):
    return ContextCompressor(context_length=WINDOW, protect_last_n=2)


def lcm(conversation):
    memory = ArchiveNodeStore(BlockingArchive.here(conversation.archive), conversation.session.id)
    return LcmEngine(context_length=WINDOW, protect_last_n=2, store=memory)


def talk(path, engine, pin, said, turns=30):
    """A conversation in which a message is pinned; its compactions, and views after the first and in the end."""

    async def work(server):
        async with equipped(server, path, window=WINDOW) as conversation:
            conversation.agent.compactor.engine = engine(conversation)
            views = []
            for number in range(turns):
                if number == 3:
                    await conversation.pin(pin)
                await conversation.say({"role": "user", "content": said(number)}, lambda _: None)
                views.append(list(conversation.agent.view))
            id = conversation.session.id
            seen = {item.sequence for item in await conversation.archive.items(id)}
            return await conversation.archive.compactions(id), views, seen

    with ScriptedServer(lambda _request: say("Done."), model="claude-sonnet-5") as server:
        return asyncio.run(work(server))


@pytest.mark.parametrize("engine", [compressor, lcm])
def test_a_pinned_system_prompt_keeps_its_words_and_gets_the_note_after_them(engine, tmp_path):
    done, views, seen = talk(tmp_path, engine, 1, lambda number: f"Go on with #{number}. " + "word " * 250)
    assert {event.outcome for event in done} == {"compacted"}
    assert len(done) >= 2
    assert 1 in seen
    compacted = [view for view in views if find_summary(view) is not None]
    assert compacted
    for view in compacted:
        assert list(texts_of(view[0])) == ["You look things up.", NOTE]
        assert [message["role"] for message in view].count("system") == 1


@pytest.mark.parametrize("engine", [compressor, lcm])
def test_of_many_equal_messages_the_pinned_one_stays(engine, tmp_path):
    done, views, seen = talk(tmp_path, engine, 6, lambda _number: "Go on. " + "word " * 250)
    assert {event.outcome for event in done} == {"compacted"}
    assert len(done) >= 2
    assert 6 in seen
    assert validate(views[-1]) == []


def call():
    function = {"name": "tide", "arguments": "{}"}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_0", "type": "function", "function": function}],
    }


def result():
    return {"role": "tool", "tool_call_id": "call_0", "content": "high water at noon"}


ROUNDS = [[user()], [user(), call(), result()], [user("Thank you."), {"role": "assistant", "content": "ok"}]]


@given(st.lists(st.sampled_from(ROUNDS), min_size=1, max_size=8), st.data())
def test_whatever_left_a_pinned_message_comes_back_to_its_place_with_what_belongs_to_it(rounds, data):
    before = [copy.deepcopy(message) for one in rounds for message in one]
    pinned = data.draw(st.sets(st.integers(0, len(before) - 1), max_size=3))
    ends = [sum(map(len, rounds[:n])) for n in range(len(rounds) + 1)]
    head, tail = sorted(data.draw(st.tuples(st.sampled_from(ends), st.sampled_from(ends))))
    after = with_pins(before, [*before[:head], SUMMARY, *before[tail:]], pinned)
    places = match_messages(before, after)
    assert pinned <= set(places)
    assert sum(place is None for place in places) == 1
    assert [one for one in validate(after) if "result" in str(one)] == []


def test_a_stub_after_a_call_is_removed_when_the_real_result_comes_back():
    before = [user(), call(), result(), user("Thank you.")]
    after = with_pins(before, [before[0], before[1], stub_result("call_0", "tide"), before[3]], {2})
    assert after == before


def test_a_pinned_prompt_with_a_note_is_not_put_in_again():
    before = [{"role": "system", "content": "You keep the log."}, user(), user("Thank you.")]
    noted = {
        "role": "system",
        "content": [{"type": "text", "text": text} for text in (text_of(before[0]), NOTE)],
    }
    assert with_pins(before, [noted, SUMMARY, before[2]], {0}) == [noted, SUMMARY, before[2]]
