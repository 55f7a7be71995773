"""When a request is repeated, and after how long."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll.errors import (
    BadRequest,
    BrokenReply,
    ContextOverflow,
    EmptyReply,
    NetworkFailed,
    Overloaded,
    ProviderError,
    ProviderTimeout,
    QuotaExhausted,
    RateLimited,
    ServerFailed,
)
from plimsoll.providers import Retries
from plimsoll.providers.retry import duration, retry_after

PASSING = [RateLimited, Overloaded, ServerFailed, NetworkFailed, ProviderTimeout, BrokenReply, EmptyReply]


@pytest.mark.parametrize("kind", PASSING)
def test_what_may_pass_is_asked_again(kind: type[ProviderError]):
    assert Retries().wait(kind("x"), 1, 0.0) == 0.5


@pytest.mark.parametrize("kind", [BadRequest, ContextOverflow, QuotaExhausted])
def test_what_stays_is_not_asked_again(kind: type[ProviderError]):
    assert Retries().wait(kind("x", status=429), 1, 0.0) is None


def test_waits_double_and_are_shortened_by_chance_at_most_by_half():
    retries = Retries(attempts=10, first_wait=1.0, longest_wait=5.0)
    assert [retries.wait(Overloaded("x"), attempt, 0.0) for attempt in (1, 2, 3, 4, 9)] == [1, 2, 4, 5, 5]
    assert retries.wait(Overloaded("x"), 2, 0.999) == pytest.approx(1.0, abs=0.01)


def test_the_providers_own_wait_is_respected_up_to_the_longest_stated_wait():
    retries = Retries(longest_stated_wait=60)
    assert retries.wait(RateLimited("x", retry_after=59.0), 1, 0.9) == 59.0
    assert retries.wait(RateLimited("x", retry_after=61.0), 1, 0.9) is None


def test_attempts_are_counted_with_the_first_one():
    assert Retries(attempts=2).wait(Overloaded("x"), 1, 0.0) is not None
    assert Retries(attempts=2).wait(Overloaded("x"), 2, 0.0) is None
    assert Retries(attempts=1).wait(Overloaded("x"), 1, 0.0) is None


def test_silence_gets_one_more_chance():
    assert Retries().wait(ProviderTimeout("x"), 1, 0.0) is not None
    assert Retries().wait(ProviderTimeout("x"), 2, 0.0) is None
    assert Retries().wait(ProviderTimeout("x", status=504), 2, 0.0) is not None


@settings(deadline=None)
@given(attempt=st.integers(1, 10_000), chance=st.floats(0, 1, exclude_max=True))
def test_no_wait_is_negative_or_longer_than_the_longest(attempt: int, chance: float):
    wait = Retries(attempts=100_000).wait(ServerFailed("x"), attempt, chance)
    assert wait is not None
    assert 0 < wait <= 30


@settings(deadline=None)
@given(st.text())
def test_no_header_and_no_text_makes_reading_a_wait_fail(text: str):
    asked = retry_after({"Retry-After": text, "retry-after-ms": text}, 0.0)
    assert asked is None or asked >= 0
    duration(text)


def test_a_date_that_has_passed_is_no_wait():
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 1_800_000_000.0) == 0


def test_a_wait_at_the_end_of_a_sentence_is_read():
    assert duration("34.07s.") == duration("34.07s") == 34.07
