"""A size that was set: what of it is the summary's, and what gives way first."""

from plimsoll import ContextCompressor
from plimsoll.messages import text_of
from plimsoll.models import estimate_messages_tokens_rough

WINDOW, BEYOND = 64_000, 8_000


def step(number, lines):
    text = "\n".join(
        f"def handler_{number}_{line}(request): validates the incoming order" for line in range(lines)
    )
    function = {"name": "read_file", "arguments": {"path": f"src/part_{number}.py"}}
    return [
        {
            "role": "assistant",
            "content": f"Reading part_{number} next.",
            "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": f"call_{number}", "content": text},
    ]


def conversation(first_lines):
    messages = [
        {"role": "system", "content": "You are a careful engineer."},
        {"role": "user", "content": "Find out which handlers validate an order."},
        *step(0, first_lines),
    ]
    for number in range(1, 60):
        messages += step(number, 30)
    return messages


def compacted(messages):
    fixed = ContextCompressor(context_length=WINDOW).fixed_tokens(messages)
    engine = ContextCompressor(context_length=WINDOW, target_tokens=fixed.messages + BEYOND)
    return fixed, engine.compress(messages), engine.last_report


def test_results_of_the_first_exchange_are_not_fixed():
    small, _, _ = compacted(conversation(2))
    large, result, _ = compacted(conversation(600))
    assert large.messages == small.messages
    assert estimate_messages_tokens_rough(result) <= large.messages + BEYOND


def test_a_cleared_result_of_the_first_exchange_is_quoted_as_evidence():
    messages = conversation(600)
    messages[30]["tool_calls"][0]["function"]["arguments"] = {"pattern": "handler_0_7"}
    _, result, report = compacted(messages)
    head = [text_of(message) for message in result[:4]]
    assert any("cleared to save context space" in text for text in head)
    assert "handler_0_7(request): validates the incoming order" in report.evidence


def test_the_summary_has_more_of_a_set_size_than_recent_messages_without_a_model():
    _, result, report = compacted(conversation(2))
    summary = len(report.summary) + len(report.evidence)
    tail = sum(len(text_of(message)) for message in result if "src/part" not in text_of(message)) - summary
    assert summary > BEYOND * 4 * 0.4
    assert summary > tail
