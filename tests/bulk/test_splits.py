"""Splitting at compactions gives examples that teach what was generated, once."""

from collections.abc import Sequence
from typing import Any

from bulk_datasets import conversation
from hypothesis import HealthCheck, given, settings

from plimsoll.bulk.splits import split_at_compactions
from plimsoll.context import ContextCompressor
from plimsoll.messages import Message, is_whole, repair, text_of, validate
from plimsoll.testing.strategies import conversations


def split(messages: list[Message], window: int = 4_000) -> Any:
    return split_at_compactions(messages, ContextCompressor(context_length=window))


def texts(messages: Sequence[Message]) -> str:
    return "\n".join(map(text_of, messages))


def check(messages: list[Message], found: Any) -> None:
    """The rules of a split, against the conversation as it was recorded."""
    recorded = messages if is_whole(messages) else repair(messages)
    at = 0
    for example in found.examples:
        first = example.generated.index(True)
        # After the view come the recorded messages, in order, with the generated ones among them.
        own = len(example.messages) - next(
            start
            for start in range(first + 1)
            if list(example.messages[start:]) == recorded[at : at + len(example.messages) - start]
        )
        slice_ = recorded[at : at + own]
        assert list(example.generated[len(example.messages) - own :]) == [
            one["role"] == "assistant" for one in slice_
        ]
        assert not any(example.generated[: len(example.messages) - own])
        assert validate(list(example.messages)) == []
        at += own
    said = [one for one in recorded if one["role"] == "assistant"]
    taught = [
        message
        for example in found.examples
        for message, is_generated in zip(example.messages, example.generated, strict=True)
        if is_generated
    ]
    assert taught == said


@given(conversations(min_turns=2))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_assistant_message_is_generated_exactly_once_and_prompts_only_grow(messages: list[Message]):
    check(messages, split(messages))


def test_each_compaction_starts_an_example_with_the_compacted_view():
    messages = conversation(3, rounds=60)
    found = split(messages)
    check(messages, found)
    assert len(found.examples) == len(found.reports) + 1 > 3
    for example, report in zip(found.examples[1:], found.reports, strict=True):
        view = example.messages[: example.generated.index(True)]
        assert len(view) == report.messages_after
        assert all(line in texts(view) for line in report.summary.splitlines())
    assert any(report.summary for report in found.reports)


def test_a_conversation_below_the_threshold_is_one_example():
    messages = conversation(1, rounds=2)
    (example,) = split(messages).examples
    assert list(example.messages) == messages


def test_the_tokens_of_tool_schemas_count():
    messages = conversation(2, rounds=12)
    engine = ContextCompressor(context_length=4_000)
    with_tools = split_at_compactions(messages, engine, overhead_tokens=1_200)
    assert len(with_tools.reports) > len(split(messages).reports)
