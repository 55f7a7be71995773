"""The providers' cache rules: the known answers, every refusal, lifetimes, prices."""

from dataclasses import replace
from typing import Any

import pytest

from plimsoll.caching import BlockChain, Breakpoint, CacheSimulator, Prompt, RequestOptions, uncached
from plimsoll.models import CacheRules, ModelCard, Prices

CLAUDE = ModelCard(
    "claude-test", prices=Prices(1.0, 5.0, 0.1, 1.25, 2.0), cache=CacheRules("anthropic", 1024, (300, 3600))
)
GPT_56 = ModelCard(
    "gpt-test",
    prices=Prices(1.0, 5.0, 0.1, 1.25, 1.25),
    cache=CacheRules("openai_breakpoints", 1024, (1800,)),
)
GPT_OLD = ModelCard(
    "gpt-old", prices=Prices(1.0, 5.0, 0.5), cache=CacheRules("openai_automatic", 1024, (300, 600))
)
GEMINI = ModelCard("gemini", prices=Prices(1.0, 5.0, 0.1), cache=CacheRules("gemini_implicit", 4096, (300,)))
LOCAL = ModelCard("local", cache=CacheRules("prefix"))


def prompt_of(count: int, each: int = 1_000, first: str = "m0") -> Prompt:
    messages = [{"role": "user", "content": f"m{n}" if n else first} for n in range(count)]
    return BlockChain(count_tokens=lambda _: each).prompt(messages)


def in_turn(card: ModelCard, requests: int, gap: float = 10.0, ttl: str = "5m") -> float:
    """Money for identical requests, as a multiple of one uncached request."""
    simulator, prompt = CacheSimulator(), prompt_of(10)
    marks = [Breakpoint(9, ttl)] if card.cache.style == "anthropic" else []
    money = sum(simulator.request(n * gap, prompt, card, marks).money for n in range(requests))
    return money / uncached(prompt.tokens, card).money


def test_two_identical_5m_requests_cost_1_35_times_one_uncached():
    assert in_turn(CLAUDE, 2) == pytest.approx(1.35)


def test_ten_identical_requests_on_gpt_5_6_cost_2_15_times_one_uncached():
    assert in_turn(GPT_56, 10) == pytest.approx(2.15)


def test_a_1h_entry_needs_three_requests_to_win():
    assert in_turn(CLAUDE, 2, ttl="1h") > 2
    assert in_turn(CLAUDE, 3, ttl="1h") < 3


def test_a_breakpoint_looks_back_twenty_positions_itself_counted():
    simulator, prompt = CacheSimulator(), prompt_of(40, each=2_000)
    assert simulator.request(0, prompt.upto(11), CLAUDE, [Breakpoint(10)]).hits == 0
    hit = simulator.request(10, prompt.upto(16), CLAUDE, [Breakpoint(15)])
    assert (hit.hits, hit.read) == (1, 22_000)
    missed = simulator.request(20, prompt.upto(36), CLAUDE, [Breakpoint(35)])
    assert (missed.hits, missed.read, missed.write_5m) == (0, 0, 72_000)


def test_the_twentieth_position_is_still_seen():
    simulator, prompt = CacheSimulator(), prompt_of(40, each=2_000)
    simulator.request(0, prompt.upto(11), CLAUDE, [Breakpoint(10)])
    assert simulator.request(10, prompt.upto(30), CLAUDE, [Breakpoint(29)]).hits == 1


def test_a_run_of_tool_results_is_walked_as_one_position():
    calls = [
        {"id": str(n), "type": "function", "function": {"name": "f", "arguments": "{}"}} for n in range(30)
    ]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    messages.append({"role": "assistant", "content": None, "tool_calls": calls})
    messages += [{"role": "tool", "tool_call_id": str(n), "content": "out"} for n in range(30)]
    prompt = BlockChain(count_tokens=lambda _: 2_000).prompt(messages)
    simulator = CacheSimulator()
    simulator.request(0, prompt.upto(1), CLAUDE, [Breakpoint(0)])
    assert simulator.request(10, prompt, CLAUDE, [Breakpoint(len(prompt) - 1)]).read == 2_000


def test_tokens_are_billed_as_read_1h_write_5m_write_and_plain():
    simulator, prompt = CacheSimulator(), prompt_of(10, each=2_000)
    simulator.request(0, prompt.upto(2), CLAUDE, [Breakpoint(1, "1h")])
    bill = simulator.request(10, prompt, CLAUDE, [Breakpoint(1, "1h"), Breakpoint(4, "1h"), Breakpoint(7)])
    assert (bill.read, bill.write_1h, bill.write_5m, bill.plain) == (4_000, 6_000, 6_000, 4_000)
    assert bill.money == pytest.approx((400 + 12_000 + 7_500 + 4_000) / 1e6)


def test_output_is_billed_at_the_output_price():
    bill = CacheSimulator().request(0, prompt_of(1), CLAUDE, output_tokens=1_000)
    assert bill.output_money == pytest.approx(0.005)


def test_a_prefix_below_the_minimum_is_not_cached_and_only_the_bill_says_so():
    simulator, prompt = CacheSimulator(), prompt_of(1, each=1_023)
    for t in (0, 10):
        bill = simulator.request(t, prompt, CLAUDE, [Breakpoint(0)])
        assert (bill.hits, bill.written, bill.plain, bill.below_minimum) == (0, 0, 1_023, 1)
        assert bill.refusals == ()


def test_the_minimum_itself_is_cached():
    assert CacheSimulator().request(0, prompt_of(1, each=1_024), CLAUDE, [Breakpoint(0)]).write_5m == 1_024


@pytest.mark.parametrize(("second", "hits"), [(299.0, 1), (300.0, 0)])
def test_an_entry_lives_five_minutes_from_the_start_of_its_request(second: float, hits: int):
    simulator, prompt = CacheSimulator(), prompt_of(5)
    simulator.request(0, prompt, CLAUDE, [Breakpoint(4)])
    assert simulator.request(second, prompt, CLAUDE, [Breakpoint(4)]).hits == hits


def test_a_read_refreshes_the_entry_free():
    simulator, prompt = CacheSimulator(), prompt_of(5)
    bills = [simulator.request(t, prompt, CLAUDE, [Breakpoint(4)]) for t in (0, 250, 500, 750)]
    assert [bill.hits for bill in bills] == [0, 1, 1, 1]
    assert bills[-1].written == 0


def test_a_marker_below_the_hit_renews_its_entry_and_an_unmarked_one_dies():
    for marked, read in ((True, 2_000), (False, 0)):
        simulator, prompt = CacheSimulator(), prompt_of(5)
        simulator.request(0, prompt, CLAUDE, [Breakpoint(1), Breakpoint(4)])
        simulator.request(200, prompt, CLAUDE, [*([Breakpoint(1)] if marked else []), Breakpoint(4)])
        bill = simulator.request(400, prompt.upto(2), CLAUDE, [Breakpoint(1)])
        assert bill.read == read


def test_an_entry_lives_an_hour_when_it_was_written_for_an_hour():
    simulator, prompt = CacheSimulator(), prompt_of(5)
    simulator.request(0, prompt, CLAUDE, [Breakpoint(4, "1h")])
    assert simulator.request(3_599, prompt, CLAUDE, [Breakpoint(4, "1h")]).hits == 1
    assert simulator.request(3_599 + 3_600, prompt, CLAUDE, [Breakpoint(4, "1h")]).hits == 0


def test_an_entry_is_readable_only_after_the_first_response_began():
    simulator, prompt = CacheSimulator(), prompt_of(5)
    simulator.request(0, prompt, CLAUDE, [Breakpoint(4)], first_token=3.0)
    assert simulator.request(2.9, prompt, CLAUDE, [Breakpoint(4)], first_token=3.0).hits == 0
    assert simulator.request(3.0, prompt, CLAUDE, [Breakpoint(4)], first_token=3.0).hits == 1


def test_entries_belong_to_one_model_and_one_workspace():
    simulator, prompt = CacheSimulator(), prompt_of(5)
    other = ModelCard("claude-other", prices=CLAUDE.prices, cache=CLAUDE.cache)
    simulator.request(0, prompt, CLAUDE, [Breakpoint(4)])
    assert simulator.request(10, prompt, other, [Breakpoint(4)]).hits == 0
    assert simulator.request(10, prompt, CLAUDE, [Breakpoint(4)], workspace="second").hits == 0
    assert simulator.request(10, prompt, CLAUDE, [Breakpoint(4)]).hits == 1


def refused(marks: list[Breakpoint], automatic: str | None = None) -> str:
    bill = CacheSimulator().request(0, prompt_of(10), CLAUDE, marks, automatic=automatic)
    assert bill.money == 0
    return " ".join(bill.refusals)


def test_five_breakpoints_are_refused():
    assert "5 cache breakpoints" in refused([Breakpoint(n) for n in range(5)])


def test_the_automatic_marker_takes_one_of_the_four():
    assert "5 cache breakpoints" in refused([Breakpoint(n) for n in range(4)], automatic="5m")


def test_the_automatic_marker_stands_on_the_last_block():
    bill = CacheSimulator().request(0, prompt_of(10), CLAUDE, automatic="5m")
    assert bill.write_5m == 10_000


def test_the_automatic_marker_has_a_lifetime_and_a_place_in_the_order():
    bill = CacheSimulator().request(0, prompt_of(10), CLAUDE, automatic="1h")
    assert (bill.write_1h, bill.write_5m) == (10_000, 0)
    assert "after a 5m" in refused([Breakpoint(3)], automatic="1h")
    mixed = CacheSimulator().request(0, prompt_of(10), CLAUDE, [Breakpoint(3, "1h")], automatic="5m")
    assert (mixed.write_1h, mixed.write_5m) == (4_000, 6_000)


def test_a_1h_entry_after_a_5m_entry_is_refused():
    assert "after a 5m" in refused([Breakpoint(1), Breakpoint(2, "1h")])


@pytest.mark.parametrize("part", [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": ""}])
def test_a_marker_on_thinking_or_on_empty_text_is_refused(part: dict[str, str]):
    prompt = BlockChain(count_tokens=lambda _: 5_000).prompt([{"role": "assistant", "content": [part]}])
    assert "cannot carry" in " ".join(CacheSimulator().request(0, prompt, CLAUDE, [Breakpoint(0)]).refusals)


def test_a_refused_request_writes_nothing():
    simulator, prompt = CacheSimulator(), prompt_of(10)
    simulator.request(0, prompt, CLAUDE, [Breakpoint(n) for n in range(5)])
    assert simulator.request(10, prompt, CLAUDE, [Breakpoint(4)]).hits == 0


def test_changed_thinking_settings_miss_the_messages_but_not_the_system_prompt():
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    prompt = BlockChain(count_tokens=lambda _: 2_000).prompt(messages)
    simulator, marks = CacheSimulator(), [Breakpoint(0), Breakpoint(1)]
    simulator.request(0, prompt, CLAUDE, marks)
    bill = simulator.request(10, replace(prompt, options=RequestOptions(thinking="high")), CLAUDE, marks)
    assert bill.read == 2_000


def test_long_prompts_are_billed_at_the_long_prices():
    card = ModelCard("tiered", prices=Prices(1.0), long_prompt=5_000, long_prices=Prices(3.0))
    assert CacheSimulator().request(0, prompt_of(5), card).money == pytest.approx(0.005)
    assert CacheSimulator().request(0, prompt_of(6), card).money == pytest.approx(0.018)


def test_gpt_5_6_reads_what_the_last_request_wrote_at_its_end():
    simulator, prompt = CacheSimulator(), prompt_of(10)
    simulator.request(0, prompt.upto(6), GPT_56)
    bill = simulator.request(1_799, prompt, GPT_56)
    assert (bill.read, bill.write_5m, bill.plain) == (6_000, 4_000, 0)
    assert simulator.request(1_799 + 1_800, prompt, GPT_56).hits == 0


def test_gpt_5_6_does_not_fall_back_to_a_shorter_prefix_that_nobody_marked():
    simulator = CacheSimulator()
    first, second, third = [
        BlockChain(count_tokens=lambda _: 2_000).prompt(
            [{"role": "system", "content": "s"}, {"role": "user", "content": text}]
        )
        for text in "abc"
    ]
    simulator.request(0, first, GPT_56)
    assert simulator.request(10, second, GPT_56).hits == 0
    simulator.request(20, first, GPT_56, [Breakpoint(0)])
    assert simulator.request(30, third, GPT_56).hits == 0, "a marker below the hit writes nothing"
    fresh = CacheSimulator()
    fresh.request(0, first, GPT_56, [Breakpoint(0)])
    assert fresh.request(10, second, GPT_56).read == 2_000


def test_gpt_5_6_writes_at_most_four_entries():
    bill = CacheSimulator().request(0, prompt_of(10, each=2_000), GPT_56, [Breakpoint(n) for n in range(6)])
    assert bill.entries == 4


def test_gpt_5_6_places_no_breakpoint_on_an_assistant_message():
    messages = [{"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}]
    bill = CacheSimulator().request(0, BlockChain(count_tokens=lambda _: 2_000).prompt(messages), GPT_56)
    assert (bill.write_5m, bill.plain) == (2_000, 2_000)


def test_earlier_openai_models_read_in_steps_of_128_and_write_free():
    simulator, prompt = CacheSimulator(), prompt_of(3)
    first = simulator.request(0, prompt.upto(2), GPT_OLD)
    second = simulator.request(10, prompt, GPT_OLD)
    assert (first.plain, first.written) == (2_000, 0)
    assert (second.read, second.plain) == (1_920, 1_080)
    assert second.input_money == pytest.approx((1_920 * 0.5 + 1_080) / 1e6)


def test_earlier_openai_models_find_any_common_prefix_until_it_idles_out():
    simulator, prompt = CacheSimulator(), prompt_of(10)
    simulator.request(0, prompt, GPT_OLD)
    assert simulator.request(200, prompt.upto(5), GPT_OLD).read == 4_992
    assert simulator.request(499, prompt.upto(5), GPT_OLD).hits == 1
    assert simulator.request(800, prompt.upto(5), GPT_OLD).hits == 0


def test_reasoning_effort_is_part_of_openais_prefix():
    simulator, prompt = CacheSimulator(), prompt_of(10)
    simulator.request(0, prompt, GPT_OLD)
    assert simulator.request(10, replace(prompt, options=RequestOptions(thinking="low")), GPT_OLD).hits == 0


def test_gemini_gets_a_range_because_it_promises_nothing():
    simulator, prompt = CacheSimulator(), prompt_of(10)
    simulator.request(0, prompt, GEMINI)
    bill = simulator.request(10, prompt, GEMINI)
    assert bill.money == pytest.approx(0.001)
    assert bill.max_money == pytest.approx(0.010)
    assert simulator.request(20, prompt.upto(4), GEMINI).read == 0, "4,000 is below its minimum"


def test_a_local_server_reuses_what_this_prompt_has_in_common_with_the_last():
    simulator, prompt = CacheSimulator(), prompt_of(10)
    other = prompt_of(10, first="different")
    reads = [
        simulator.request(t, asked, LOCAL).read for t, asked in enumerate([prompt, prompt, other, prompt])
    ]
    assert reads == [0, 10_000, 0, 0]
    assert simulator.request(9e9, prompt.upto(3), LOCAL).read == 3_000
    assert simulator.request(9e9, prompt, LOCAL).read == 3_000
