"""A summary model is watched while it writes: silence ends the wait, progress does not, late text is used."""

import threading

import pytest
from auxiliary_conversations import GOOD, auxiliary, candidate, ships

from plimsoll import ContextCompressor, validate
from plimsoll.context.lcm import LcmEngine
from plimsoll.context.lcm.tree import REPLACES
from plimsoll.providers.auxiliary.watch import CURRENT, SummaryWatch
from plimsoll.testing.scripted_server import ScriptedServer, fault, say

BOTH = pytest.mark.parametrize("dialect", ["anthropic", "openai"])
WRITTEN = "Ships 0 to 9 are in ships.txt."
LONG = GOOD + "## Next Steps\n" + "Ask the pilot about the Aurora and write the load down. " * 12
AT_ONCE = 0.02  # seconds of silence that end a wait, on a clock that moves only when a request hangs


class Clock:
    """A clock that only requests that hang advance."""

    now = 0.0

    def __call__(self):
        return self.now

    def hang(self, request):
        self.now += 1.0
        return fault("hang")


@pytest.fixture
def watch():
    """The watch of a turn that waits."""
    watch = SummaryWatch(is_waited_for=True)
    token = CURRENT.set(watch)
    yield watch
    CURRENT.reset(token)


def engine_with(writer):
    return ContextCompressor(context_length=8_000, protect_last_n=4, summarizer=writer)


@BOTH
def test_a_model_that_sends_nothing_is_given_up_and_code_writes_the_summary(dialect, watch):
    clock = Clock()
    with (
        ScriptedServer(clock.hang) as server,
        auxiliary(candidate(server, dialect=dialect), idle=AT_ONCE, clock=clock) as writer,
    ):
        engine = engine_with(writer)
        assert validate(engine.compress(ships())) == []
        report = engine.last_report
        assert (report.outcome, report.summary_source) == ("compacted", "deterministic")
        assert "no new token for 0.02 s" in report.steps[-1]
        assert watch.is_hanging
        assert len(server.requests) == 1


def test_no_other_model_is_asked_while_a_turn_waits(watch):
    clock = Clock()
    with ScriptedServer(clock.hang) as server:
        main = candidate(server, "claude-sonnet-4-5", role="main")
        with auxiliary(candidate(server), main, idle=AT_ONCE, clock=clock) as writer:
            engine = engine_with(writer)
            engine.compress(ships())
            assert engine.last_report.summary_source == "deterministic"
            assert [one.request.model for one in server.requests] == ["claude-haiku-4-5"]


def test_where_no_turn_waits_the_next_model_is_asked_after_the_silence():
    clock = Clock()

    def answer(request):
        return clock.hang(request) if "haiku" in request.model else say(GOOD)

    with ScriptedServer(answer) as server:
        main = candidate(server, "claude-sonnet-4-5", role="main")
        with auxiliary(candidate(server), main, idle=AT_ONCE, clock=clock) as writer:
            engine = engine_with(writer)
            engine.compress(ships())
            assert engine.last_report.summary_source == "model"


@BOTH
def test_a_model_that_streams_for_45_seconds_is_waited_for(dialect, watch):
    """On a clock that moves by almost a second with each token; the wire itself takes no time."""
    now, heard = [0.0], []

    def progress(characters):
        heard.append(characters)
        now[0] += 0.9

    watch.wait(progress)
    with (
        ScriptedServer([say(LONG)]) as server,
        auxiliary(candidate(server, dialect=dialect), clock=lambda: now[0]) as writer,
    ):
        engine = engine_with(writer)
        engine.compress(ships())
        assert now[0] >= 45.0
        assert engine.last_report.summary_source == "model"
        assert WRITTEN in engine.last_report.summary
        assert heard == sorted(heard)
        assert heard[-1] == len(LONG)
        assert server.requests[0].body["stream"] is True


def test_a_model_that_writes_in_the_background_may_be_silent():
    released = threading.Event()

    def late(request):
        released.wait(30)
        return say(GOOD)

    now, background = [0.0], SummaryWatch()
    with (
        ScriptedServer(late) as server,
        auxiliary(candidate(server), clock=lambda: now[0]) as writer,
    ):
        engine = engine_with(writer)
        compacting = _in_thread(engine, background)
        assert server.wait_until(lambda: len(server.requests) == 1)
        now[0] = 60.0  # a minute without a token
        background.arrived(0)  # wakes the thread that waits
        released.set()
        compacting.join(30)
        assert engine.last_report.summary_source == "model"
        assert not background.is_hanging


def test_a_background_model_that_was_silent_for_too_long_is_given_up_at_once_when_a_turn_needs_it():
    now, background = [0.0], SummaryWatch()
    with (
        ScriptedServer([fault("hang", times=None)]) as server,
        auxiliary(candidate(server), clock=lambda: now[0]) as writer,
    ):
        engine = engine_with(writer)
        compacting = _in_thread(engine, background)
        assert server.wait_until(lambda: len(server.requests) == 1)
        now[0] = 11.0
        background.wait()
        compacting.join(30)
        assert engine.last_report.summary_source == "deterministic"
        assert background.is_hanging


def test_text_that_arrives_late_is_the_previous_summary_of_the_next_compaction():
    released, watch = threading.Event(), SummaryWatch(is_waited_for=True)
    prompts = []

    def answer(request):
        prompts.append(str(request.messages[-1]["content"]))
        if len(prompts) == 1:
            released.wait(30)
        return say(GOOD)

    with ScriptedServer(answer) as server, auxiliary(candidate(server)) as writer:
        engine = engine_with(writer)
        compacting = _in_thread(engine, watch)
        assert server.wait_until(lambda: len(server.requests) == 1)
        watch.skip()
        compacting.join(30)
        first = engine.last_report
        assert first.summary_source == "deterministic"
        assert WRITTEN not in first.summary
        released.set()
        assert server.wait_until(lambda: server.requests[0].is_done)
        _arrived(engine)
        engine.compress([*compacting.messages, *ships(12)[3:]])
        assert WRITTEN in prompts[1]
        assert WRITTEN in engine.last_report.summary


def test_late_text_is_kept_where_code_writes_the_next_summary_too():
    released, watch = threading.Event(), SummaryWatch(is_waited_for=True)

    def answer(_request):
        released.wait(30)
        return say(GOOD)

    with ScriptedServer(answer) as server, auxiliary(candidate(server)) as writer:
        engine = engine_with(writer)
        compacting = _in_thread(engine, watch)
        assert server.wait_until(lambda: len(server.requests) == 1)
        watch.skip()
        compacting.join(30)
        released.set()
        assert server.wait_until(lambda: server.requests[0].is_done)
        _arrived(engine)
        _, report = engine.draft([*compacting.messages, *ships(12)[3:]], ask=False)
        assert WRITTEN in report.summary


def test_the_lossless_engine_uses_late_text_for_its_node_and_does_not_ask_for_it_again():
    released, watch = threading.Event(), SummaryWatch(is_waited_for=True)
    prompts = []

    def answer(request):
        prompts.append(str(request.messages[-1]["content"]))
        if len(prompts) == 1:
            released.wait(30)
        return say(GOOD)

    with ScriptedServer(answer) as server, auxiliary(candidate(server)) as writer:
        engine = LcmEngine(context_length=8_000, protect_last_n=4, summarizer=writer)
        compacting = _in_thread(engine, watch)
        assert server.wait_until(lambda: len(server.requests) == 1)
        watch.skip()
        compacting.join(30)
        first = engine.store.nodes()[0]
        assert first.degraded
        released.set()
        ((late, _),) = engine.late_texts.values()
        late.pending.result(30)
        engine.compress([*compacting.messages, *ships(12)[3:]])
        redone = next(node for node in engine.store.nodes() if node.details.get(REPLACES) == first.id)
        assert WRITTEN in redone.message["content"]
        assert not redone.degraded
        assert not any(prompt == prompts[0] for prompt in prompts[1:])
        assert engine.late_texts == {}


def test_after_a_skip_no_model_is_asked_again_for_the_same_compaction(watch):
    watch.skip()
    with ScriptedServer([say(GOOD)]) as server, auxiliary(candidate(server)) as writer:
        engine = engine_with(writer)
        engine.compress(ships())
        assert engine.last_report.summary_source == "deterministic"
        assert server.requests == []


class _Compacting(threading.Thread):
    """An engine at work under a watch; `messages` is what it left."""

    def __init__(self, engine, watch):
        super().__init__(daemon=True)
        self._engine, self._watch, self.messages = engine, watch, []

    def run(self):
        CURRENT.set(self._watch)
        self.messages = self._engine.compress(ships())


def _in_thread(engine, watch):
    compacting = _Compacting(engine, watch)
    compacting.start()
    return compacting


def _arrived(engine):
    """Wait until the text that nobody waited for is there."""
    (behind,) = engine.remembered._sources.values()
    behind.late.pending.result(30)
