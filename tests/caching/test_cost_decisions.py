"""Whether a compaction pays: prices, pauses, and what was carried decide."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from plimsoll.caching import (
    Clearing,
    CostHistory,
    Pricing,
    caching_policy,
    cheapest,
    clearing_pays,
    compaction_pays,
    pricing_of,
)
from plimsoll.caching.cost_policy import MIN_CLEARED, MIN_GAIN
from plimsoll.models import ModelCard, Prices, card_for

SONNET = card_for("claude-sonnet-4.5")
HAIKU = card_for("claude-haiku-4.5")
CACHED = Pricing(SONNET, 300.0)
TARGET = 12_000

prices = st.floats(0.01, 50)
tokens = st.integers(0, 150_000)
courses = st.builds(
    CostHistory,
    requests=st.integers(0, 500),
    carried=st.integers(0, 5_000_000),
    tokens=tokens,
    last=st.none() | st.floats(0, 1_000),
)


def verdict(terms, course, weight, now=1_000.0, said=lambda removed: 2_000):
    return compaction_pays(terms, course, weight, TARGET, now, said)


def priced(read, write):
    return Pricing(ModelCard("any", prices=Prices(max(read, write), 1.0, read, write, write)), 300.0)


def grown(requests, each, first=TARGET):
    """A conversation that grew evenly, one request every 30 seconds."""
    course = CostHistory(100)
    for n in range(requests):
        course = course.with_request(first + n * each, TARGET, n * 30.0)
    return course, first + requests * each, requests * 30.0


@given(courses, tokens)
def test_nothing_pays_where_there_is_little_to_gain(course, weight):
    if weight < TARGET * MIN_GAIN:
        assert not verdict(CACHED, course, weight).pays()


@given(courses, tokens)
def test_nothing_pays_where_nothing_has_a_price(course, weight):
    assert not verdict(Pricing(card_for("no-such-model"), 300.0), course, weight).pays()
    assert not verdict(Pricing(card_for("no-such-model")), course, weight).pays()


@given(courses, tokens, prices, prices, st.floats(1, 10))
def test_dearer_reading_never_makes_it_pay_later(course, weight, read, write, factor):
    write = max(write, read * factor)
    warm = replace(course, last=990.0)
    if verdict(priced(read, write), warm, weight).pays():
        assert verdict(priced(read * factor, write), warm, weight).pays()


@given(courses, tokens, prices, prices, st.floats(1, 10))
def test_dearer_writing_never_makes_it_pay_sooner_while_the_cache_is_warm(
    course, weight, read, write, factor
):
    warm = replace(course, last=990.0)
    if verdict(priced(read, write * factor), warm, weight).pays():
        assert verdict(priced(read, write), warm, weight).pays()


@given(courses, tokens, st.integers(0, 1_000_000))
def test_what_was_carried_longer_never_pays_later(course, weight, more):
    if verdict(CACHED, course, weight).pays():
        assert verdict(CACHED, replace(course, carried=course.carried + more), weight).pays()


@given(courses, tokens)
def test_a_summary_that_costs_something_never_pays_sooner(course, weight):
    if verdict(replace(CACHED, writer=HAIKU), course, weight).pays():
        assert verdict(CACHED, course, weight).pays()


@given(courses, st.integers(int(TARGET * MIN_GAIN) + 1, 150_000))
def test_after_a_pause_it_pays_at_once_because_all_is_written_anew(course, weight):
    assert verdict(CACHED, replace(course, last=600.0), weight).pays()


def test_right_after_a_compaction_it_does_not_pay():
    assert not verdict(CACHED, CostHistory(100, 0, TARGET, 990.0), 20_000).pays()


def test_even_growth_is_cut_where_the_cost_per_request_is_least():
    each, once = 700, (SONNET.prices.write_5m - SONNET.prices.cache_read) * (TARGET - 700)

    def per_request(cycle):
        return once / cycle + SONNET.prices.cache_read * each * cycle / 2

    best = min(range(1, 200), key=per_request)
    first = next(n for n in range(1, 200) if verdict(CACHED, *grown(n, each)).pays())
    assert abs(first - best) <= 1


def test_a_short_conversation_is_not_expected_to_last():
    course, weight, now = grown(40, 700)
    assert verdict(CACHED, course, weight, now).pays()
    assert not verdict(CACHED, replace(course, requests=2), weight, now).pays()


def test_it_is_near_before_it_is_there():
    course, weight, now = next(
        one for one in (grown(n, 700) for n in range(1, 200)) if verdict(CACHED, *one).pays(0.85)
    )
    assert not verdict(CACHED, course, weight, now).pays()


def test_terms_know_how_long_a_prompt_stays_cached():
    assert pricing_of(SONNET, caching_policy(SONNET.name, "anthropic")).lifetime == 300
    hour = pricing_of(SONNET, caching_policy(SONNET.name, "anthropic", cache_ttl="1h"))
    assert (hour.lifetime, hour.hour) == (3600, True)
    assert pricing_of(SONNET, caching_policy(SONNET.name, "anthropic", strategy="none")).lifetime is None
    gpt = card_for("gpt-5")
    assert pricing_of(gpt, caching_policy(gpt.name, "openai")).lifetime is not None
    assert pricing_of(gpt, caching_policy(gpt.name, "openai", strategy="none")).lifetime is None


clearings = st.builds(Clearing, removed=st.integers(0, 150_000), before=st.integers(0, 20_000))


def clearing_verdict(terms, course, weight, clearing, now=1_000.0):
    return clearing_pays(terms, course, weight, TARGET, clearing, now)


@given(courses, tokens, clearings)
def test_what_is_chosen_pays_and_nothing_that_pays_spares_more(course, weight, clearing):
    summary = verdict(replace(CACHED, writer=HAIKU), course, weight)
    clears = clearing_verdict(replace(CACHED, writer=HAIKU), course, weight, clearing)
    paying = {name: one for name, one in (("summary", summary), ("clearing", clears)) if one.pays()}
    chosen = cheapest(summary, clears)
    assert chosen in (paying or {"": None})
    assert all(paying[chosen].net_savings >= one.net_savings for one in paying.values())


@given(courses, tokens, clearings)
def test_a_few_tokens_are_not_cleared(course, weight, clearing):
    small = replace(clearing, removed=min(clearing.removed, MIN_CLEARED - 1))
    assert not clearing_verdict(CACHED, course, weight, small).pays()


def test_after_a_pause_results_are_cleared_before_a_summary_pays():
    course, weight, now = grown(20, 700)
    short = replace(course, requests=12)  # a conversation that is not expected to last
    clearing = Clearing(removed=9_000, before=3_000)
    dear = replace(CACHED, writer=SONNET)
    assert (
        cheapest(verdict(dear, short, weight, now), clearing_verdict(dear, short, weight, clearing, now))
        == ""
    )
    later = now + 1_200
    summary = verdict(dear, short, weight, later, lambda removed: 6_000)
    assert cheapest(summary, clearing_verdict(dear, short, weight, clearing, later)) == "clearing"


def test_where_a_conversation_continues_for_long_a_summary_spares_more():
    course, weight, now = grown(30, 900)
    lasting = replace(course, requests=200, carried=course.carried * 3)
    clearing = Clearing(removed=4_000, before=3_000)
    summary = verdict(replace(CACHED, writer=HAIKU), lasting, weight, now)
    assert summary.pays()
    assert cheapest(summary, clearing_verdict(CACHED, lasting, weight, clearing, now)) == "summary"


def test_what_was_cleared_is_settled():
    course, weight, now = grown(20, 700)
    clearing = Clearing(removed=9_000, before=3_000)
    after = course.cleared(clearing, TARGET)
    assert after.tokens == clearing.before
    assert 0 < after.carried < course.carried
    assert clearing_verdict(CACHED, after, weight, clearing, now).paid == 0.0
