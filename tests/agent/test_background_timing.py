"""What compactions cost a person in waiting, on a virtual clock: to the second, and in no time."""

import asyncio
from types import SimpleNamespace

import pytest
from conversing import MODEL, conversing
from virtual_time import VirtualLoop

from plimsoll.agent import Compacted, CompactionRules, Line
from plimsoll.caching import caching_policy
from plimsoll.dialects import Reply, TextDelta, Usage
from plimsoll.messages import text_of, validate
from plimsoll.models import card_for, estimate_messages_tokens_rough
from plimsoll.providers import Endpoint

pytestmark = pytest.mark.slow
ANSWERING, SUMMARISING = 1.0, 5.0  # seconds
WORDS = 140  # in what a person says and in the answer: with the frames about 300 tokens for a turn
TURNS = 470


class Stream:
    """One answer, a second after it was asked for."""

    def __init__(self, request):
        self._text = "word " * WORDS
        tokens = estimate_messages_tokens_rough(request.messages)
        usage = Usage(prompt_tokens=tokens, completion_tokens=WORDS)
        self.reply = Reply({"role": "assistant", "content": self._text}, "stop", usage)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exc_info):
        return None

    async def __aiter__(self):
        await asyncio.sleep(ANSWERING)
        yield TextDelta(self._text)


class Model:
    """Answers on the loop's own time, as nothing behind a socket can."""

    endpoint = Endpoint("anthropic", "http://127.0.0.1", "anthropic", model=MODEL)

    def stream(self, request, deadline=None):
        return Stream(request)

    async def aclose(self):
        return None


class Writer:
    """A summary model that takes five seconds."""

    context_length = 200_000

    def __init__(self, loop):
        self._loop = loop

    def summarize(self, prompt, max_tokens):
        self._loop.nap(SUMMARISING)
        return "## Goal\ntalk about words\n## Progress\n### Done\nmany of them were said\n"


def talked(path, rules):
    """A long conversation: its seconds, its compactions, its view."""

    async def run():
        loop = asyncio.get_running_loop()
        line = Line(Model(), card_for(MODEL), caching_policy(MODEL, "anthropic"), loop.time)
        events = []
        options = {"rules": rules, "line": line, "clock": loop.time, "summarizer": Writer(loop)}
        async with conversing(None, path, **options) as conversation:
            for n in range(TURNS):
                said = {"role": "user", "content": f"Turn {n}: " + "word " * WORDS}
                await conversation.say(said, events.append)
            took = loop.time()
            stored = await conversation.archive.messages(conversation.session.id)
            view = list(conversation.agent.view)
        done = [event.event for event in events if isinstance(event, Compacted)]
        return SimpleNamespace(seconds=took, compactions=done, stored=stored, view=view)

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(run())


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The same conversation, never compacted."""
    return talked(tmp_path_factory.mktemp("plain"), CompactionRules(enabled=False))


def check(run, plain):
    assert [text_of(s.message) for s in run.stored] == [text_of(s.message) for s in plain.stored]
    assert {event.outcome for event in run.compactions} == {"compacted"}
    assert len(run.compactions) >= 10
    assert validate(run.view) == []


def test_without_compactions_the_turns_alone_take_time(plain):
    assert plain.compactions == []
    assert plain.seconds == pytest.approx(TURNS * ANSWERING)
    grown = estimate_messages_tokens_rough(plain.view) / TURNS
    assert 250 < grown < 350


def test_ten_compactions_in_the_background_cost_a_person_less_than_a_second(tmp_path, plain):
    run = talked(tmp_path, CompactionRules(background=True))
    check(run, plain)
    assert run.seconds - plain.seconds < 1.0
    assert sum(event.waited for event in run.compactions) < 1.0


def test_without_background_a_person_waits_for_every_summary(tmp_path, plain):
    run = talked(tmp_path, CompactionRules(background=False))
    check(run, plain)
    expected = SUMMARISING * len(run.compactions)
    assert run.seconds - plain.seconds == pytest.approx(expected)
    assert [event.waited for event in run.compactions] == pytest.approx([SUMMARISING] * len(run.compactions))
