"""`compression.policy: cost` acts before the threshold if that is cheaper, and never after it."""

import asyncio
import json
import re
import sys
from dataclasses import dataclass, replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from conversing import MODEL, answering, connection_to, conversing, talk, wish
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.agent import Compacted, CompactionRules, Compactor, EngineHost
from plimsoll.archive import CompactionEvent
from plimsoll.caching import CostHistory, Pricing
from plimsoll.config import Settings
from plimsoll.context import ContextCompressor
from plimsoll.context.budget import LEAN_TOKENS, MIN_SUMMARY_TOKENS, Budget
from plimsoll.messages import handle_of
from plimsoll.models import card_for
from plimsoll.models import estimate_messages_tokens_rough as weigh
from plimsoll.plugins.builtin import make_compressor
from plimsoll.plugins.offers import EngineContext
from plimsoll.terminal.chat.status_lines import compaction_line
from plimsoll.testing.scripted_server import ScriptedServer

COST = CompactionRules(background=False, policy="cost")


class Hands:
    """A clock that only the test advances."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def compactions(events):
    return [event.event for event in events if isinstance(event, Compacted)]


def with_a_break(tmp_path, rules, seconds):
    """Turns until a compaction would remove something, a break, and one more turn."""
    clock, events = Hands(), []

    async def turns():
        with ScriptedServer(answering) as server:
            connection = replace(connection_to(server), clock=clock)
            async with conversing(
                server, tmp_path, rules=rules, clock=clock, connection=connection
            ) as conversation:
                agent = conversation.agent
                for n in range(60):
                    clock.now += 5
                    await conversation.say({"role": "user", "content": wish(n)}, events.append)
                    if agent.connection.tokens(agent.view) > 0.6 * agent.compactor.engine.threshold_tokens:
                        break
                assert compactions(events) == []
                clock.now += seconds
                await conversation.say({"role": "user", "content": wish(60)}, events.append)
                return compactions(events)

    return asyncio.run(turns())


def test_after_a_long_break_the_prompt_is_compacted_before_it_is_sent(tmp_path):
    (event,) = with_a_break(tmp_path, COST, 3_600)
    assert (event.trigger, event.outcome) == ("cost", "compacted")
    assert event.tokens_after < event.tokens_before < 16_000


def test_by_threshold_a_break_changes_nothing(tmp_path):
    assert with_a_break(tmp_path, CompactionRules(background=False), 3_600) == []


def test_with_compaction_off_nothing_pays(tmp_path):
    assert with_a_break(tmp_path, replace(COST, enabled=False), 3_600) == []


def test_the_threshold_applies_under_cost_too(tmp_path):
    with ScriptedServer(answering) as server:
        events, *_ = asyncio.run(talk(server, tmp_path, 40, rules=COST))
    assert len(compactions(events)) >= 1
    assert all(event.tokens_before < 16_000 * 1.2 for event in compactions(events))
    assert all(event.outcome == "compacted" for event in compactions(events))


@given(
    st.integers(0, 100_000),
    st.builds(
        CostHistory,
        st.integers(0, 300),
        st.integers(0, 1_000_000),
        st.integers(0, 50_000),
        st.none() | st.just(0.0),
    ),
    st.sampled_from(
        [None, Pricing(card_for(MODEL), 300.0), Pricing(card_for(MODEL), writer=card_for(MODEL))]
    ),
)
def test_whatever_the_prices_say_the_threshold_is_never_passed(tokens, course, terms):
    by = {
        policy: Compactor(
            ContextCompressor(MODEL, 32_000), CompactionRules(policy=policy), clock=lambda: 100.0
        )
        for policy in ("threshold", "cost")
    }
    for compactor in by.values():
        compactor.pricing, compactor.cost_history = terms, course
    assert by["cost"].is_due(tokens) == by["threshold"].is_due(tokens) == (tokens >= 16_000)
    assert not by["threshold"].pays([], tokens)
    if tokens < by["cost"].engine.budget.sizes().target_tokens * 1.5:
        assert not by["cost"].pays([], tokens)


def coding_session(steps, lines=30):
    """Requests, calls and results of many lines, each of them different."""
    yield {"role": "system", "content": "You are careful."}
    for n in range(steps):
        if n % 8 == 0:
            yield {"role": "user", "content": f"Please mend module_{n}.py and keep its tests green."}
        call = {"id": f"call_{n}", "type": "function"}
        call["function"] = {"name": "read_file", "arguments": json.dumps({"path": f"src/module_{n}.py"})}
        yield {"role": "assistant", "content": f"I look at module_{n}.py.", "tool_calls": [call]}
        text = "\n".join(f"def function_{n}_{k}(value): return value + {n * k}" for k in range(lines))
        yield {"role": "tool", "tool_call_id": f"call_{n}", "content": text}
    yield {"role": "assistant", "content": "Everything is mended."}


@dataclass
class Chatty:
    """A summary model that says as much as it may."""

    asked: int = 0
    context_length: int = 200_000

    def summarize(self, prompt, max_tokens):
        self.asked += 1
        done = "".join(f"- Step {n} went well and was written down here.\n" for n in range(max_tokens // 16))
        return f"## Goal\nMend the modules.\n## Progress\n### Done\n{done}"


@given(
    st.integers(1_000, 2_000_000),
    st.floats(0.05, 1.0),
    st.floats(0.10, 0.80),
)
def test_a_lean_budget_is_never_larger_than_the_usual_one(window, threshold, ratio):
    usual, lean = Budget(window, threshold, ratio), Budget(window, threshold, ratio, lean=True)
    lean_sizes, usual_sizes = lean.sizes(), usual.sizes()
    assert lean_sizes.target_tokens <= min(usual_sizes.target_tokens, LEAN_TOKENS)
    assert lean.tail_tokens <= usual.tail_tokens
    assert lean.max_summary_tokens == min(usual.max_summary_tokens, MIN_SUMMARY_TOKENS)
    assert lean.threshold_tokens == usual.threshold_tokens == usual_sizes.limit_tokens
    assert lean_sizes.limit_tokens == lean_sizes.target_tokens


def test_a_size_that_a_person_names_wins_over_the_policy():
    named = {"compression": {"policy": "cost", "target_tokens": 40_000}}
    engine = make_compressor(EngineContext(Settings.model_validate(named), 200_000))
    assert engine.budget == replace(Budget(200_000, target=40_000), lean=True)
    assert engine.budget.sizes().target_tokens == 40_000
    assert engine.budget.max_summary_tokens == Budget(200_000).max_summary_tokens


@pytest.mark.parametrize(("policy", "target"), [("threshold", 33_000), ("cost", LEAN_TOKENS)])
def test_the_policy_decides_the_depth_of_a_compaction(policy, target):
    settings = Settings.model_validate({"compression": {"policy": policy}})
    sizes = make_compressor(EngineContext(settings, 200_000)).budget.sizes()
    assert target - 1 <= sizes.target_tokens <= target


def test_what_replaces_a_hanging_model_is_as_lean():
    for engine in (
        ContextCompressor(context_length=200_000, lean=True),
        ContextCompressor(target_tokens=9_000),
    ):
        assert EngineHost(engine).without_model().budget == engine.budget


@pytest.mark.parametrize("window", [64_000, 200_000, 1_000_000])
@pytest.mark.parametrize("writer", [None, Chatty()])
def test_a_lean_compaction_leaves_at_most_its_target_in_any_window(window, writer):
    session = list(coding_session(60))
    engine = ContextCompressor(context_length=window, lean=True, summarizer=writer)
    lighter = engine.compress(session)
    assert weigh(session) > 2 * LEAN_TOKENS >= 2 * weigh(lighter)


def test_a_lean_compaction_asks_its_model_once_and_keeps_what_it_said():
    writer = Chatty()
    engine = ContextCompressor(context_length=200_000, lean=True, summarizer=writer)
    engine.compress(list(coding_session(60)))
    assert (writer.asked, engine.last_report.summary_source) == (1, "model")
    assert "Step 3 went well" in engine.last_report.summary


@pytest.fixture
def bench(monkeypatch):
    """`bench/money.py`, which is no part of the package."""
    place = Path(__file__).parents[2] / "bench" / "money.py"
    monkeypatch.syspath_prepend(str(place.parent))
    spec = spec_from_file_location("money_benchmark", place)
    sys.modules["money_benchmark"] = module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def by_the_agent(session, terms, times, writer):
    """Where the agent's compactor compacts a session, and to which size."""
    clock = Hands()
    engine = ContextCompressor(context_length=64_000, lean=True, summarizer=writer)
    compactor = Compactor(engine, COST, clock)
    compactor.pricing = terms
    view, found = [], []
    for at, (message, clock.now) in enumerate(zip(session, times, strict=True)):
        if message["role"] == "assistant":
            tokens = weigh(view)
            trigger = "threshold" if compactor.is_due(tokens) else compactor.pays(view, tokens)
            if trigger:
                attempt = await compactor.compact(view, tokens, trigger)
                view = list(attempt.messages)
                found.append((at, tokens, weigh(view)))
            compactor.record_request(weigh(view), clock.now)
        view.append(message)
    return found


def test_results_are_cleared_where_that_is_cheaper_and_nothing_else_changes():
    session = list(coding_session(60))
    terms = Pricing(card_for("claude-opus-5.5"), 300.0, writer=card_for("claude-opus-5.5"))

    async def until_cleared():
        clock, writer = Hands(), Chatty()
        engine = ContextCompressor(context_length=64_000, lean=True, summarizer=writer, able_to_recall=True)
        compactor = Compactor(engine, COST, clock)
        compactor.pricing = terms
        view = []
        for message in session:
            clock.now += 15
            tokens = weigh(view)
            if message["role"] == "assistant":
                if trigger := compactor.pays(view, tokens):
                    return view, writer, trigger, await compactor.compact(view, tokens, trigger)
                compactor.record_request(tokens, clock.now)
            view.append(message)
        return None

    view, writer, trigger, attempt = asyncio.run(until_cleared())
    assert (trigger, attempt.event.outcome, writer.asked) == ("clearing", "compacted", 0)
    assert re.match(r"cleared \d+ old results; a summary would cost more", attempt.event.reason)
    assert compaction_line(attempt.event).startswith("cleared old results, ")
    assert attempt.event.tokens_after < 0.7 * attempt.event.tokens_before
    changed = [(old, new) for old, new in zip(view, attempt.messages, strict=True) if old is not new]
    assert len(changed) > 5
    for old, new in changed:
        assert old["role"] == "tool"
        assert handle_of(old) in new["content"]
        assert {**old, "content": ""} == {**new, "content": ""}
    assert attempt.messages[-20:] == view[-20:]


def test_what_clearing_left_is_not_mistaken_for_what_a_summary_leaves():
    events = [CompactionEvent("clearing", "compressor", tokens_before=40_000, tokens_after=30_000)]
    by = {}
    for trigger in ("clearing", "cost"):
        compactor = Compactor(ContextCompressor(context_length=200_000, lean=True), COST, Hands())
        compactor.remember([replace(events[0], trigger=trigger)], 31_000)
        compactor.pricing = Pricing(card_for("claude-opus-5.5"), 300.0)
        compactor.record_request(31_000, 0.0)
        by[trigger] = compactor.cost_history.carried
    assert by["clearing"] == 31_000 - LEAN_TOKENS
    assert by["cost"] == 1_000


def test_what_was_cleared_is_summarised_from_its_words():
    engine = ContextCompressor(context_length=64_000)
    cleared = engine.clear(list(coding_session(40)))
    assert engine.last_report.outcome == "compacted"
    line = "def function_24_3(value): return value + 72"
    assert line not in json.dumps(cleared)
    engine.compress(cleared)
    assert line in engine.last_report.whole_summary


@pytest.mark.parametrize("breaks", [False, True])
def test_the_benchmark_compacts_where_the_agent_does(breaks, bench):
    session = list(coding_session(150))
    terms = Pricing(card_for("claude-sonnet-4.5"), 300.0, writer=card_for("claude-haiku-4.5"))
    simulated = bench.compactions(session, 64_000, 0.5, terms, breaks)
    told = asyncio.run(by_the_agent(session, terms, bench.times(session, breaks), bench.Script()))
    assert [(one["at"], one["before"], one["left"]) for one in simulated] == told
    assert len(told) >= 2
    assert all(before < 32_000 for _, before, _ in told)
    assert weigh(session) > 32_000
