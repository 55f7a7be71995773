"""`compression.policy: cost` acts before the threshold where that is cheaper, and never behind it."""

import asyncio
from dataclasses import replace

from conversing import MODEL, answering, conversing, line_to, talk, wish
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.agent import Compacted, CompactionRules, Compactor
from plimsoll.caching import Course, Terms
from plimsoll.context import ContextCompressor
from plimsoll.models import card_for
from plimsoll.testing.scripted_server import ScriptedServer

COST = CompactionRules(background=False, policy="cost")


class Hands:
    """A clock that stands until it is moved."""

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
            line = replace(line_to(server), clock=clock)
            async with conversing(server, tmp_path, rules=rules, clock=clock, line=line) as conversation:
                agent = conversation.agent
                for n in range(60):
                    clock.now += 5
                    await conversation.say({"role": "user", "content": wish(n)}, events.append)
                    if agent.line.tokens(agent.view) > 0.65 * agent.compactor.engine.threshold_tokens:
                        break
                assert compactions(events) == []
                clock.now += seconds
                await conversation.say({"role": "user", "content": wish(60)}, events.append)
                return compactions(events)

    return asyncio.run(turns())


def test_behind_a_long_break_the_prompt_is_made_lighter_before_it_is_sent(tmp_path):
    (event,) = with_a_break(tmp_path, COST, 3_600)
    assert (event.trigger, event.outcome) == ("cost", "compacted")
    assert event.tokens_after < event.tokens_before < 16_000


def test_by_threshold_a_break_changes_nothing(tmp_path):
    assert with_a_break(tmp_path, CompactionRules(background=False), 3_600) == []


def test_with_compaction_off_nothing_pays(tmp_path):
    assert with_a_break(tmp_path, replace(COST, enabled=False), 3_600) == []


def test_the_threshold_holds_under_cost_too(tmp_path):
    with ScriptedServer(answering) as server:
        events, *_ = asyncio.run(talk(server, tmp_path, 40, rules=COST))
    assert len(compactions(events)) >= 1
    assert all(event.tokens_before < 16_000 * 1.2 for event in compactions(events))
    assert all(event.outcome == "compacted" for event in compactions(events))


@given(
    st.integers(0, 100_000),
    st.builds(
        Course,
        st.integers(0, 300),
        st.integers(0, 1_000_000),
        st.integers(0, 50_000),
        st.none() | st.just(0.0),
    ),
    st.sampled_from([None, Terms(card_for(MODEL), 300.0), Terms(card_for(MODEL), writer=card_for(MODEL))]),
)
def test_whatever_the_prices_say_the_threshold_is_never_passed(tokens, course, terms):
    by = {
        policy: Compactor(
            ContextCompressor(MODEL, 32_000), CompactionRules(policy=policy), clock=lambda: 100.0
        )
        for policy in ("threshold", "cost")
    }
    for compactor in by.values():
        compactor.terms, compactor.course = terms, course
    assert by["cost"].is_due(tokens) == by["threshold"].is_due(tokens) == (tokens >= 16_000)
    assert not by["threshold"].pays(tokens)
    if tokens < by["cost"].engine.budget.target_tokens * 1.5:
        assert not by["cost"].pays(tokens)
