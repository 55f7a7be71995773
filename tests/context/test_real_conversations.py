"""Conversations of the shared corpus, each in one window of five: valid and under its threshold.

`bench/quality` compacts all of them; every sixth one is enough to notice a defect here.
"""

import json
from itertools import islice
from pathlib import Path

import pytest

from plimsoll import ContextCompressor, estimate_messages_tokens_rough, validate
from plimsoll.context.compressor import is_summary

CORPUS = Path(__file__).parents[3] / "shared" / "data"
FILES = sorted(CORPUS.glob("dev_*.jsonl"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FILES, reason=f"NOT MEASURED: the shared corpus is not at {CORPUS}"),
]


def conversations():
    for path in FILES:
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)["messages"]


WINDOWS = [8_000, 64_000, 200_000, 32_000, 128_000]


def test_every_sixth_conversation_becomes_valid_and_fits():
    count = 0
    for number, messages in enumerate(islice(conversations(), 0, None, 6)):
        window = WINDOWS[number % len(WINDOWS)]
        engine = ContextCompressor(context_length=window)
        result = engine.compress(messages)
        newest = [m for m in messages if m["role"] == "user"][-1]
        assert validate(result) == []
        if validate(messages, "anthropic") == []:  # some agents record arguments that are not JSON
            assert validate(result, "anthropic") == []
        if estimate_messages_tokens_rough([messages[0], newest]) < engine.threshold_tokens:
            assert estimate_messages_tokens_rough(result) <= engine.threshold_tokens
        assert newest in result
        count += 1
    assert count >= 18


@pytest.mark.parametrize("window", [8_000, 32_000])
def test_twenty_rounds_along_the_longest_stay_valid_and_fit(window):
    longest = max(conversations(), key=len)
    engine = ContextCompressor(context_length=window)
    step = len(longest) // 20
    view, rounds = [], 0
    for start in range(0, 20 * step, step):
        view = engine.compress([*view, *longest[start : start + step]])
        if validate(longest[: start + step]) == []:
            assert validate(view) == []
        assert estimate_messages_tokens_rough(view) <= engine.threshold_tokens
        assert sum(map(is_summary, view)) <= 1
        assert str(view[0]["content"]).count("[Note:") <= 1
        rounds += 1
    assert rounds == 20
    assert engine.compression_count >= 15
