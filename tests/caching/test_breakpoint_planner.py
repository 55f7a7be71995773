"""The planner: what it reaches, what it leaves alone, and that it never costs more than `system_and_3`."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plimsoll.caching import (
    BlockChain,
    CacheMemory,
    CacheSimulator,
    Compaction,
    Prompt,
    apply_plan,
    breakpoints_in,
    plan_breakpoints,
    plan_reading,
    plan_system_and_3,
    remember,
    replay,
)
from plimsoll.models import CacheRules, ModelCard, Prices

CLAUDE = ModelCard(
    "claude-test", prices=Prices(1.0, 5.0, 0.1, 1.25, 2.0), cache=CacheRules("anthropic", 1024, (300, 3600))
)
MINIMUM = CLAUDE.cache.minimum


def said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def sized(message: dict[str, Any]) -> int:
    return len(str(message.get("content") or "")) + 50 * len(message.get("tool_calls") or ())


def blocks_of(plan: Any) -> list[int]:
    return [mark.block for mark in plan.breakpoints]


def queue(count: int) -> list[dict[str, Any]]:
    opening = [said("system", "s" * 3_000), said("user", "u" * 9_000), said("assistant", "a" * 500)]
    return opening + [said("user", f"{n} " + "q" * 200) for n in range(count)] + [said("assistant", "done")]


def test_thirty_queued_messages_are_a_miss_for_system_and_3_and_a_hit_for_the_plan():
    rolling = replay(queue(30), CLAUDE, "system_and_3", chain=BlockChain(count_tokens=sized))
    planned = replay(queue(30), CLAUDE, "planned", chain=BlockChain(count_tokens=sized))
    assert rolling.steps[1].bill.read == 3_000, "only the system prompt"
    assert planned.steps[1].bill.read == 12_000, "everything that the first request sent"
    assert planned.money < rolling.money


def test_after_a_restart_the_plan_still_finds_where_the_last_request_ended():
    prompt = BlockChain(count_tokens=sized).prompt(queue(30)[:-1])
    assert 1 in blocks_of(plan_breakpoints(prompt, None, minimum=MINIMUM, native_anthropic=True))


def test_volatile_messages_and_what_follows_them_are_never_marked():
    messages = [*queue(3), said("user", "x" * 2_000), said("user", "status: 12:00")]
    prompt = BlockChain(count_tokens=sized).prompt(messages)
    for volatile in (1, 2):
        plan = plan_breakpoints(
            prompt, CacheMemory(), minimum=MINIMUM, native_anthropic=True, volatile=volatile
        )
        assert max(blocks_of(plan)) == len(prompt) - 1 - volatile


def test_a_status_line_that_changes_each_time_is_not_paid_for_as_a_write():
    chain = BlockChain(count_tokens=sized)
    status = [said("user", f"status {n} " + "z" * 4_000) for n in range(3)]
    history = queue(2)
    requests = [[*history[: 4 + n], status[n]] for n in range(3)]
    bills = []
    for volatile in (0, 1):
        simulator, memory, written = CacheSimulator(), CacheMemory(), 0
        for t, messages in enumerate(requests):
            prompt, now = chain.prompt(messages), t * 30.0
            plan = plan_breakpoints(
                prompt, memory, now=now, minimum=MINIMUM, native_anthropic=True, volatile=volatile
            )
            written += simulator.request(now, prompt, CLAUDE, plan.breakpoints).written
            memory = remember(memory, prompt, plan, now=now, minimum=MINIMUM)
        bills.append(written)
    assert bills[1] <= bills[0] - 3 * 4_000


def test_tool_results_that_openrouter_cannot_mark_do_not_lose_the_cache():
    calls = [
        {"id": str(n), "type": "function", "function": {"name": "f", "arguments": "{}"}} for n in range(3)
    ]
    messages = [said("system", "s"), said("user", "u" * 9_000)]
    for _ in range(3):
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        messages += [{"role": "tool", "tool_call_id": str(n), "content": "out"} for n in range(3)]
    messages.append(said("assistant", "done"))
    bills = {
        strategy: replay(
            messages, CLAUDE, strategy, native_anthropic=False, chain=BlockChain(count_tokens=sized)
        ).total
        for strategy in ("system_and_3", "planned")
    }
    assert bills["system_and_3"].hits == 0
    assert bills["planned"].hits == 3


def test_the_head_keeps_an_entry_of_its_own_across_a_second_compaction():
    head = [said("system", "s" * 2_000), said("user", "h" * 8_000), said("assistant", "b" * 1_000)]
    tail = [said(role, f"{n}" * 900) for n in range(40) for role in ("user", "assistant")]
    summaries = [[*head, said("user", f"summary {n} " + "y" * 1_000)] for n in (1, 2)]
    messages = [*head, *tail]
    events = [Compaction(23, [*summaries[0], *tail[18:20]]), Compaction(63, [*summaries[1], *tail[58:60]])]
    steps = {
        strategy: replay(
            messages, CLAUDE, strategy, compactions=events, chain=BlockChain(count_tokens=sized)
        ).steps
        for strategy in ("system_and_3", "planned")
    }
    after = {name: next(step.bill.read for step in found if step.at > 63) for name, found in steps.items()}
    assert after == {"system_and_3": 2_000, "planned": 11_000}


def test_a_request_that_is_never_extended_reads_and_writes_nothing():
    prompt = BlockChain(count_tokens=sized).prompt(queue(3))
    plan = plan_breakpoints(prompt, CacheMemory(), minimum=MINIMUM, native_anthropic=True)
    memory = remember(None, prompt, plan, now=0.0, minimum=MINIMUM)
    simulator = CacheSimulator()
    simulator.request(0, prompt, CLAUDE, plan.breakpoints)
    bill = simulator.request(10, prompt, CLAUDE, plan_reading(prompt, memory, now=10.0).breakpoints)
    assert (bill.written, bill.read) == (0, prompt.tokens)


def test_entries_that_died_or_no_longer_fit_the_prompt_are_not_counted_on():
    chain = BlockChain(count_tokens=sized)
    prompt = chain.prompt(queue(3))
    plan = plan_system_and_3(prompt, native_anthropic=True)
    memory = remember(None, prompt, plan, now=0.0, minimum=MINIMUM)
    assert max(memory.live(prompt, 299.0)) == len(prompt) - 1
    assert memory.live(prompt, 300.0) == {}
    changed = chain.prompt([*queue(3)[:2], said("user", "other"), *queue(3)[3:]])
    assert set(memory.live(changed, 1.0)) <= {0, 1}


def test_an_entry_is_counted_on_only_when_the_response_that_wrote_it_has_begun():
    chain = BlockChain(count_tokens=lambda _: 2_000)
    prompt = chain.prompt(queue(3)[:3])
    plan = plan_breakpoints(prompt, minimum=MINIMUM)
    memory = remember(None, prompt, plan, now=0.0, minimum=MINIMUM, first_token=2.0)
    assert memory.live(prompt, 1.9) == {}
    assert memory.live(prompt, 2.0)
    again = remember(memory, prompt, plan, now=1.0, minimum=MINIMUM, first_token=2.0)
    assert again.live(prompt, 2.0), "the second request does not put off what the first one wrote"


# Conversations as agents have them: turns of text, of calls with results, bursts of queued messages, many parts.

SIZES = st.sampled_from([0, 5, 80, 400, 1_500, 6_000])


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    if draw(st.booleans()):
        messages.append(said("system", "s" * draw(SIZES)))
    for turn in range(draw(st.integers(1, 8))):
        for n in range(draw(st.sampled_from([1, 1, 1, 2, 5, 19, 20, 21, 30]))):
            size = draw(SIZES) if n < 3 else 60
            parts = draw(st.sampled_from([1, 1, 1, 3, 25])) if n == 0 else 1
            text = f"u{turn}.{n} " + "x" * size
            content: Any = (
                text if parts == 1 else [{"type": "text", "text": f"{p} {text}"} for p in range(parts)]
            )
            messages.append({"role": "user", "content": content})
        for step in range(draw(st.integers(0, 4))):
            ids = [f"c{turn}.{step}.{n}" for n in range(draw(st.sampled_from([1, 1, 2, 5, 25])))]
            calls = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in ids]
            content = draw(st.sampled_from([None, "", "let me look"]))
            messages.append({"role": "assistant", "content": content, "tool_calls": calls})
            size = draw(SIZES)
            messages += [{"role": "tool", "tool_call_id": i, "content": "r" * size + i} for i in ids]
        messages.append(said("assistant", f"a{turn} " + "y" * draw(SIZES)))
    return messages


@st.composite
def with_compactions(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[Compaction]]:
    messages = draw(conversations())
    starts = [i for i, m in enumerate(messages) if m["role"] == "user" and i > 4]
    ats = sorted(draw(st.sets(st.sampled_from(starts), max_size=2))) if starts else []
    events = []
    for number, at in enumerate(ats):
        note = [said("system", [{"type": "text", "text": "s"}, {"type": "text", "text": "note"}])]  # type: ignore[arg-type]
        head = note if draw(st.booleans()) else messages[:2]
        events.append(Compaction(at, [*head, said("assistant", f"summary {number} " + "z" * draw(SIZES))]))
    return messages, events


def text_size(message: dict[str, Any]) -> int:
    content = message.get("content")
    text = sum(len(part["text"]) for part in content) if isinstance(content, list) else len(content or "")
    return text + 50 * len(message.get("tool_calls") or ())


@given(
    with_compactions(),
    st.booleans(),
    st.sampled_from(["5m", "1h"]),
    st.lists(st.sampled_from([0.0, 1.0, 5.0, 30.0, 140.0, 290.0, 400.0, 4_000.0]), min_size=1, max_size=6),
)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_plan_never_costs_more_than_system_and_3(recorded, native, ttl, gaps):
    messages, events = recorded
    money = {
        strategy: replay(
            messages,
            CLAUDE,
            strategy,
            ttl,
            gaps,
            native_anthropic=native,
            compactions=events,
            chain=BlockChain(count_tokens=text_size),
        ).money
        for strategy in ("system_and_3", "planned")
    }
    assert money["planned"] <= money["system_and_3"] + 1e-12


@given(conversations(), st.booleans(), st.integers(0, 2))
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_plan_is_accepted_and_reads_back_from_the_messages_it_marked(messages, native, volatile):
    chain, simulator, memory = BlockChain(count_tokens=text_size), CacheSimulator(), CacheMemory()
    for t, end in enumerate(range(1, len(messages) + 1, max(1, len(messages) // 6))):
        prompt: Prompt = chain.prompt(messages[:end])
        plan = plan_breakpoints(
            prompt, memory, now=t * 30.0, minimum=MINIMUM, native_anthropic=native, volatile=volatile
        )
        assert len(plan.breakpoints) <= 4
        marked = apply_plan(messages[:end], plan)
        carried = breakpoints_in(BlockChain(count_tokens=text_size).prompt(marked), marked, native)
        assert carried == list(plan.breakpoints)
        bill = simulator.request(t * 30.0, prompt, CLAUDE, plan.breakpoints)
        assert bill.refusals == ()
        assert bill.prompt_tokens == prompt.tokens
        memory = remember(memory, prompt, plan, now=t * 30.0, minimum=MINIMUM)
