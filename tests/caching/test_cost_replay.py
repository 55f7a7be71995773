"""Replaying a conversation: which requests it was, what they cost, and the summary calls in between."""

from typing import Any

import pytest

from plimsoll.caching import (
    BlockChain,
    Compaction,
    SummaryCall,
    cold_summary_cost,
    replay,
    warm_summary_cost,
)
from plimsoll.errors import SettingError
from plimsoll.models import CacheRules, ModelCard, Prices

CLAUDE = ModelCard(
    "claude-test", prices=Prices(1.0, 5.0, 0.1, 1.25, 2.0), cache=CacheRules("anthropic", 1024, (300, 3600))
)
CHEAP = ModelCard("cheap", prices=Prices(0.1, 0.5))
TALK = [
    {"role": "system", "content": "s"},
    {"role": "user", "content": "u1"},
    {"role": "assistant", "content": "a1"},
    {"role": "user", "content": "u2"},
    {"role": "assistant", "content": "a2"},
    {"role": "user", "content": "u3"},
]
ASK = {"role": "user", "content": "Summarise."}


def chain() -> BlockChain:
    return BlockChain(count_tokens=lambda _: 2_000)


def test_each_assistant_message_was_answered_by_one_request_with_everything_before_it():
    steps = replay(TALK, CLAUDE, "none", chain=chain()).steps
    assert [(step.at, step.bill.plain) for step in steps] == [(2, 4_000), (4, 8_000)]


def test_the_second_request_reads_what_the_first_one_wrote():
    first, second = replay(TALK, CLAUDE, "planned", chain=chain()).steps
    assert (first.bill.write_5m, first.bill.read) == (4_000, 0)
    assert (second.bill.write_5m, second.bill.read) == (4_000, 4_000)


def test_gaps_longer_than_the_lifetime_read_nothing():
    assert replay(TALK, CLAUDE, "planned", gap_seconds=301, chain=chain()).total.read == 0
    assert replay(TALK, CLAUDE, "planned", "1h", gap_seconds=301, chain=chain()).total.read == 4_000


def test_a_compaction_replaces_the_history_from_its_point_on():
    view = [TALK[0], {"role": "user", "content": "summary"}]
    steps = replay(TALK, CLAUDE, "none", compactions=[Compaction(3, view)], chain=chain()).steps
    assert [step.bill.plain for step in steps] == [4_000, 6_000]


def test_a_compactor_is_asked_before_each_request_with_the_history_as_it_stands():
    seen: list[tuple[int, int]] = []

    def compact(index: int, history: Any) -> Compaction | None:
        seen.append((index, len(history)))
        return Compaction(index, history[-1:]) if len(history) > 3 else None

    steps = replay(TALK, CLAUDE, "none", compactions=compact, chain=chain()).steps
    assert seen == [(2, 2), (4, 4)]
    assert [step.bill.plain for step in steps] == [4_000, 2_000]


@pytest.mark.parametrize(
    ("call", "read", "plain"),
    [
        # Warm: what the first request wrote is read; its answer and the instruction are plain.
        (SummaryCall(ASK, 500), 4_000, 4_000),
        (SummaryCall(ASK, 500, card=CHEAP), 0, 8_000),
        (SummaryCall(ASK, 500, card=CHEAP, input_tokens=900), 0, 900),
    ],
)
def test_a_summary_call_is_a_request_of_its_own(call: SummaryCall, read: int, plain: int):
    view = [TALK[0], {"role": "user", "content": "summary"}]
    played = replay(TALK, CLAUDE, "planned", compactions=[Compaction(3, view, call)], chain=chain())
    assert [step.kind for step in played.steps] == ["turn", "summary", "turn"]
    bill = played.steps[1].bill
    assert (bill.read, bill.plain, bill.written, bill.output) == (read, plain, 0, 500)
    assert played.summaries.money == bill.money
    assert played.money == pytest.approx(sum(step.bill.money for step in played.steps))


def test_every_summary_call_is_billed_also_two_in_a_row_and_one_at_the_end():
    view, call = [TALK[0], {"role": "user", "content": "summary"}], SummaryCall(ASK, 500)
    events = [Compaction(3, view, call), Compaction(4, view, call), Compaction(6, view, call)]
    played = replay(TALK, CLAUDE, "planned", compactions=events, chain=chain())
    assert [(step.kind, step.at) for step in played.steps] == [
        ("turn", 2),
        ("summary", 3),
        ("summary", 4),
        ("turn", 4),
        ("summary", 6),
    ]
    assert [step.bill.prompt_tokens for step in played.steps] == [4_000, 8_000, 8_000, 4_000, 10_000]
    assert played.summaries.output == 1_500


def test_a_warm_summary_is_read_at_the_cache_price_and_a_cold_one_is_not():
    warm = warm_summary_cost(CLAUDE, cached_tokens=100_000, fresh_tokens=1_000, output_tokens=2_000)
    cold = cold_summary_cost(CLAUDE, 101_000, 2_000)
    assert warm.input_money == pytest.approx(0.011)
    assert cold.input_money == pytest.approx(0.101)
    assert warm.output_money == cold.output_money == pytest.approx(0.01)


def test_thinking_at_the_end_of_a_message_is_no_reason_for_a_refusal():
    part = {"type": "thinking", "thinking": "hm"}
    messages = [*TALK[:2], {"role": "assistant", "content": [part]}, *TALK[3:]]
    played = replay(messages, CLAUDE, "system_and_3", chain=chain())
    assert played.total.refusals == ()
    assert played.total.prompt_tokens == replay(messages, CLAUDE, "none", chain=chain()).total.plain


def test_none_is_the_price_without_any_cache_even_where_the_provider_caches_by_itself():
    automatic = ModelCard(
        "gpt", prices=Prices(1.0, 5.0, 0.1), cache=CacheRules("openai_automatic", 1024, (300,))
    )
    assert replay(TALK, automatic, "none", chain=chain()).total.read == 0
    assert replay(TALK, automatic, "auto", chain=chain()).total.read == 3_968


def test_an_unknown_strategy_is_named():
    with pytest.raises(SettingError, match="'clever'"):
        replay(TALK, CLAUDE, "clever")


def test_a_long_conversation_is_rendered_once():
    counted = 0

    def counting(message: dict[str, Any]) -> int:
        nonlocal counted
        counted += 1
        return 100

    messages = [{"role": role, "content": str(n)} for n in range(500) for role in ("user", "assistant")]
    replay(messages, CLAUDE, "planned", chain=BlockChain(count_tokens=counting))
    assert counted == len(messages)
