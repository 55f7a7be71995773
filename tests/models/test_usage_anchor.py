"""The anchor: exact where the API has spoken, calibrated where it has not yet."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.models import UsageAnchor
from plimsoll.models.anchor import HIGHEST_RATIO, LOWEST_RATIO

counts = st.integers(0, 2_000_000)
histories = st.lists(st.tuples(st.integers(-5, 2_000_000), st.integers(-5, 2_000_000)), max_size=12)


def after(history: list[tuple[int, int]], ratio: float = 1.0) -> UsageAnchor:
    anchor = UsageAnchor(ratio=ratio)
    for reported, estimated in history:
        anchor = anchor.observe(reported, estimated)
    return anchor


def grown(ratio: float, unseen: int, steps: int = 20, step: int = 2_000) -> UsageAnchor:
    return after([(unseen + round(ratio * step * n), step * n) for n in range(1, steps + 1)])


@given(counts)
def test_before_any_report_the_prediction_is_the_estimate(estimate: int) -> None:
    assert UsageAnchor().predict(estimate) == estimate


@given(histories, st.integers(1, 2_000_000), counts)
def test_what_was_reported_is_predicted_exactly(
    history: list[tuple[int, int]], reported: int, sent: int
) -> None:
    assert after(history).observe(reported, sent).predict(sent) == reported


@given(histories, counts, counts)
def test_a_larger_estimate_never_predicts_fewer_tokens(
    history: list[tuple[int, int]], one: int, other: int
) -> None:
    anchor = after(history)
    if anchor.short is not None and anchor.reported is not None and anchor.short[0] > anchor.reported:
        return  # fewer tokens reported for more text: no line through both can rise
    low, high = sorted((one, other))
    assert 0 <= anchor.predict(low) <= anchor.predict(high)


@given(histories)
def test_the_ratio_stays_in_its_bounds(history: list[tuple[int, int]]) -> None:
    anchor = after(history)
    assert LOWEST_RATIO <= anchor.ratio <= HIGHEST_RATIO
    assert math.isfinite(anchor.weight)
    assert anchor.predict(10**9) > 0


@pytest.mark.parametrize("ratio", [0.7, 1.0, 1.3, 2.0])
@pytest.mark.parametrize("unseen", [0, 500, 18_000])
def test_the_ratio_is_learned_from_growth_whatever_the_estimate_cannot_see(ratio: float, unseen: int) -> None:
    anchor = grown(ratio, unseen)
    assert anchor.ratio == pytest.approx(ratio, rel=0.05)
    assert anchor.predict(50_000) == pytest.approx(unseen + 50_000 * ratio, rel=0.02)


@pytest.mark.parametrize("ratio", [0.7, 1.0, 1.3])
@pytest.mark.parametrize("unseen", [0, 500, 18_000])
def test_after_a_compaction_the_prediction_comes_down_and_keeps_what_is_unseen(
    ratio: float, unseen: int
) -> None:
    anchor = grown(ratio, unseen, steps=60)
    assert anchor.predict(6_000) == pytest.approx(unseen + 6_000 * ratio, rel=0.05)
    assert anchor.predict(0) <= unseen + 2_000 * ratio


def test_a_conversation_resumed_at_full_size_comes_down_with_its_estimate() -> None:
    anchor = UsageAnchor().observe(150_000, 120_000)
    assert 30_000 <= anchor.predict(30_000) <= 70_000
    assert UsageAnchor().observe(60_000, 120_000).predict(12_000) == pytest.approx(6_000, rel=0.1)


def test_the_first_report_of_a_long_conversation_bounds_the_ratio() -> None:
    assert UsageAnchor().observe(80_000, 100_000).ratio == pytest.approx(0.8, abs=0.02)
    assert UsageAnchor().observe(20_000, 2_000).ratio == pytest.approx(1.0)


def test_one_wild_step_moves_the_ratio_only_so_far() -> None:
    steady = grown(1.0, 0)
    assert steady.reported is not None
    shaken = steady.observe(steady.reported + 900_000, steady.estimated + 1_000)
    assert shaken.ratio < 1.2


def test_numbers_that_move_apart_teach_nothing() -> None:
    anchor = grown(1.2, 0)
    assert anchor.reported is not None
    assert anchor.observe(anchor.reported - 500, anchor.estimated + 500).ratio == anchor.ratio
    assert anchor.observe(anchor.reported, anchor.estimated).ratio == anchor.ratio


def test_a_report_of_nothing_is_ignored() -> None:
    anchor = grown(1.2, 0)
    assert anchor.observe(0, 5_000) is anchor


def test_a_later_conversation_starts_with_the_ratio_of_an_earlier_one() -> None:
    learned = grown(1.4, 0).ratio
    assert UsageAnchor(ratio=learned).predict(10_000) == pytest.approx(14_000, rel=0.05)


def test_observing_leaves_the_old_anchor_as_it_was() -> None:
    anchor = UsageAnchor()
    anchor.observe(100, 90)
    assert anchor == UsageAnchor()
