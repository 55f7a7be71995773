"""Usage in common terms, for every provider, even if a report is malformed."""

import pytest
from dialect_strategies import quick
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.dialects import Usage, usage_from_anthropic, usage_from_openai
from plimsoll.dialects.usage import usage_to_anthropic, usage_to_openai

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
KEYS = st.sampled_from(
    [
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "input_tokens",
        "output_tokens",
        "prompt_tokens_details",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
        "cache_creation",
        "prompt_cache_hit_tokens",
    ]
)


@quick
@given(ANYTHING | st.dictionaries(KEYS, ANYTHING))
def test_no_usage_however_odd_raises(raw):
    for read in (usage_from_openai, usage_from_anthropic):
        usage = read(raw)
        assert usage is None or all(
            isinstance(count, int) and count >= 0 for count in usage.as_dict().values()
        )


@quick
@given(st.tuples(*[st.integers(0, 10**6)] * 4))
def test_anthropics_prompt_is_the_sum_of_its_three_numbers(counts):
    plain, read, write, output = counts
    raw = {
        "input_tokens": plain,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": write,
        "output_tokens": output,
    }
    usage = usage_from_anthropic(raw)
    assert usage.prompt_tokens == plain + read + write
    assert usage.total_tokens == plain + read + write + output
    assert usage_to_anthropic(usage) == raw
    # The same numbers survive a way over the other wire.
    assert usage_from_openai(usage_to_openai(usage)) == usage


@pytest.mark.parametrize(
    ("raw", "read", "write"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 60}}, 60, None),
        ({"prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30}}, 60, 30),
        ({"prompt_cache_hit_tokens": 60, "prompt_cache_miss_tokens": 40}, 60, None),
        ({"cached_tokens": 60}, 60, None),
        ({"cache_read_input_tokens": 60, "cache_creation_input_tokens": 30}, 60, 30),
        ({"prompt_tokens_details": None, "completion_tokens_details": None}, None, None),
        ({"prompt_tokens_details": {"cached_tokens": None}}, None, None),
    ],
)
def test_every_spelling_of_cached_tokens_is_read(raw, read, write):
    usage = usage_from_openai({"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105, **raw})
    assert (usage.cache_read_tokens, usage.cache_write_tokens) == (read, write)
    assert usage.prompt_tokens == 100
    assert usage.input_tokens == 100 - (read or 0) - (write or 0)


def test_absent_usage_is_none_and_unknown_counts_are_left_out():
    assert usage_from_openai(None) is None
    assert usage_from_openai({"prompt_tokens": None}) is None
    assert usage_from_anthropic({}) is None
    assert Usage(3, 4, 7).as_dict() == {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


def test_a_total_that_counts_hidden_thinking_is_kept_as_reported():
    usage = usage_from_openai({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 40})
    assert usage.total_tokens == 40
