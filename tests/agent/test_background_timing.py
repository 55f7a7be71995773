"""What compactions cost a person in waiting, on a virtual clock: to the second, and in no time."""

import asyncio
from types import SimpleNamespace

import pytest
from conversing import MODEL, conversing
from virtual_time import VirtualLoop

from plimsoll.agent import Compacted, CompactionRules, ModelConnection, SummaryProgress
from plimsoll.caching import caching_policy
from plimsoll.dialects import Reply, TextDelta, Usage
from plimsoll.messages import text_of, validate
from plimsoll.models import card_for, estimate_messages_tokens_rough
from plimsoll.providers import Endpoint
from plimsoll.providers.auxiliary.watch import CURRENT

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("background timing")]
ANSWERING, SUMMARISING = 1.0, 5.0  # seconds
STREAMING = 45  # seconds for which a slow summary model streams
WRITTEN = "many of them were said"
WORDS = 140  # in what a person says and in the answer: with the frames about 300 tokens for a turn
TURNS = 470


class Stream:
    """One answer, so many seconds after it was asked for."""

    def __init__(self, request, seconds):
        self._seconds = seconds
        self._text = "word " * WORDS
        tokens = estimate_messages_tokens_rough(request.messages)
        usage = Usage(prompt_tokens=tokens, completion_tokens=WORDS)
        self.reply = Reply({"role": "assistant", "content": self._text}, "stop", usage)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exc_info):
        return None

    async def __aiter__(self):
        await asyncio.sleep(self._seconds)
        yield TextDelta(self._text)


class Model:
    """Answers in the loop's own time, which a server behind a socket cannot."""

    endpoint = Endpoint("anthropic", "http://127.0.0.1", "anthropic", model=MODEL)

    def __init__(self, seconds):
        self._seconds = seconds

    def stream(self, request, deadline=None, wasted=None, on_retry=None):
        return Stream(request, self._seconds)

    async def aclose(self):
        return None


class Writer:
    """A summary model that takes five seconds."""

    context_length = 200_000

    def __init__(self, loop):
        self._loop = loop

    def summarize(self, prompt, max_tokens):
        self._loop.nap(SUMMARISING)
        return f"## Goal\ntalk about words\n## Progress\n### Done\n{WRITTEN}\n"


class SlowWriter(Writer):
    """A summary model that streams a token every second, three quarters of a minute long."""

    def summarize(self, prompt, max_tokens):
        for _ in range(STREAMING):
            self._loop.nap(1.0)
            CURRENT.get().arrived(10)
        return f"## Goal\ntalk about words\n## Progress\n### Done\n{WRITTEN}\n"


def talked(path, rules, writer=Writer, answering=ANSWERING):
    """A long conversation: its seconds, its compactions, which of them have a model's text, its view."""

    async def run():
        loop = asyncio.get_running_loop()
        connection = ModelConnection(
            Model(answering), card_for(MODEL), caching_policy(MODEL, "anthropic"), loop.time
        )
        events = []
        options = {"rules": rules, "connection": connection, "clock": loop.time, "summarizer": writer(loop)}
        by_model = []
        async with conversing(None, path, **options) as conversation:

            def emit(event):
                events.append(event)
                if isinstance(event, Compacted):
                    by_model.append(any(WRITTEN in text_of(one) for one in conversation.agent.view))

            for n in range(TURNS):
                said = {"role": "user", "content": f"Turn {n}: " + "word " * WORDS}
                await conversation.say(said, emit)
            took = loop.time()
            stored = await conversation.archive.messages(conversation.session.id)
            view = list(conversation.agent.view)
        done = [event.event for event in events if isinstance(event, Compacted)]
        told = [event for event in events if isinstance(event, SummaryProgress)]
        return SimpleNamespace(
            seconds=took, compactions=done, by_model=by_model, told=told, stored=stored, view=view
        )

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


def test_the_text_of_a_model_that_streams_for_45_seconds_is_in_every_compaction(tmp_path, plain):
    run = talked(tmp_path, CompactionRules(background=True), SlowWriter)
    check(run, plain)
    assert sum(run.by_model) >= 0.9 * len(run.by_model)
    assert max(event.waited for event in run.compactions) <= STREAMING
    assert run.told, "a person who waits sees how far the summary is"


def test_no_turn_waits_for_a_slow_summary_that_was_prepared_in_time(tmp_path, plain):
    """Between the soft threshold and the threshold lie eight turns: enough, where a turn takes eight seconds."""
    run = talked(tmp_path, CompactionRules(background=True), SlowWriter, answering=8.0)
    check(run, plain)
    assert all(run.by_model)
    assert [event.waited for event in run.compactions] == [0.0] * len(run.compactions)
    assert run.told == []
