"""What a compaction never drops: the newest request, every system message, rules, and room for the summary."""

import pytest

from plimsoll import ContextCompressor, validate
from plimsoll.context.lcm import LcmEngine
from plimsoll.context.markers import summary_body, summary_preamble
from plimsoll.models import estimate_messages_tokens_rough as weigh

ENGINES = [ContextCompressor, LcmEngine]
RULE = "We must never push to main, always open a pull request."


def said(count, words, extra=None):
    """Turns of a user and an assistant; `extra` comes after the eleventh."""
    messages = []
    for n in range(count):
        messages.append({"role": "user", "content": f"Do part {n}. " + "word " * words})
        messages.append({"role": "assistant", "content": f"Part {n} is done. " + "thing " * words})
        if n == 10 and extra:
            messages.append(extra)
    return messages


@pytest.mark.parametrize("options", [{}, {"target_tokens": 6_000}, {"lean": True}])
def test_a_request_above_the_limit_leaves_room_for_the_summary(options):
    request = {"role": "user", "content": "What is wrong?\n" + "an error in a line\n" * 4_600}
    messages = [{"role": "system", "content": "You help."}, *said(40, 110, {"role": "user", "content": RULE})]
    engine = ContextCompressor(context_length=32_000, **options)
    result = engine.compress([*messages, request])
    assert weigh([messages[0], request]) > engine.threshold_tokens
    assert RULE in str(result)
    assert (
        weigh([engine.last_report.summary and {"role": "user", "content": engine.last_report.summary}]) > 500
    )
    assert weigh(result) < 32_000 * 0.85


@pytest.mark.parametrize("factory", ENGINES)
def test_a_request_above_the_threshold_leaves_recent_messages_that_fit_the_window(factory):
    request = {"role": "user", "content": "What is wrong?\n" + "an error in a line\n" * 4_600}
    messages = [{"role": "system", "content": "You help."}, *said(40, 110, {"role": "user", "content": RULE})]
    engine = factory(context_length=32_000)
    result = engine.compress([*messages, request])
    assert result[-20:] == [*messages[-19:], request]
    assert RULE in str(result)
    assert engine.due_tokens - weigh(result) > 3_000


@pytest.mark.parametrize("factory", ENGINES)
@pytest.mark.parametrize("count", [2, 3, 5])
def test_every_message_of_the_system_prompt_stays_with_the_first_request(factory, count):
    roles = ("system", "developer")
    prompt = [{"role": roles[n % 2], "content": f"Rule {n} of the house."} for n in range(count)]
    messages = [*prompt, *said(40, 110)]
    for overhead in (0, 14_000):  # little room, or none
        result = factory(context_length=16_000).compress(messages, weigh(messages) + overhead)
        assert len(result) < len(messages)
        assert [message["role"] for message in result[:count]] == [message["role"] for message in prompt]
        assert result[1:count] == prompt[1:]
        assert validate(result, "anthropic") == []
        later = factory(context_length=16_000).compress([*result, *said(40, 110)])
        assert str(later).count("[CONTEXT COMPACTION]") == 1


@pytest.mark.parametrize("factory", ENGINES)
@pytest.mark.parametrize("overhead", [0, 600, 900])
def test_a_rule_survives_in_a_tiny_window(factory, overhead):
    messages = [{"role": "system", "content": "You help."}, *said(30, 40, {"role": "user", "content": RULE})]
    engine = factory(context_length=3_000)
    for _ in range(3):
        messages = engine.compress(messages, weigh(messages) + overhead, overhead_tokens=overhead)
        assert weigh(messages) + overhead <= engine.threshold_tokens
        assert RULE in str(messages)
        messages = [*messages, *said(30, 40)]


@pytest.mark.parametrize("threshold", [0.9, 1.0])
def test_a_compaction_in_a_nearly_full_window_does_not_lower_the_threshold(threshold):
    messages = [{"role": "system", "content": "You help."}, *said(60, 110)]
    engine = ContextCompressor(context_length=16_000, threshold=threshold, protect_last_n=200)
    left = weigh(engine.compress(messages, weigh(messages)))
    assert left < weigh(messages)
    assert not engine.should_compress(engine.threshold_tokens - 1)
    third = (engine.threshold_tokens - engine.last_report.fixed.total) / 3
    assert engine.due_tokens - left >= third


@pytest.mark.parametrize("factory", ENGINES)
@pytest.mark.parametrize("role", ["system", "developer"])
def test_rules_that_an_application_adds_during_the_conversation_are_constraints(factory, role):
    added = {"role": role, "content": "From now on never write to /etc/zebra."}
    messages = [{"role": "system", "content": "You help."}, *said(40, 110, added)]
    engine = factory(context_length=16_000)
    engine.compress(messages)
    constraints = engine.last_report.summary.partition("## Constraints")[2].partition("## Progress")[0]
    assert f"never write to /etc/zebra. (from a {role} message)" in constraints


class NodeModel:
    """A summary model whose text has the headings of a summary."""

    context_length = 32_000

    def summarize(self, prompt, max_tokens):
        return "## Goal\nMend the parser.\n## Progress\n### Done\n- Read src/parser.py.\n"


def test_headings_inside_a_node_are_not_taken_for_those_of_the_summary():
    messages = [{"role": "system", "content": "You help."}, *said(40, 110)]
    result = LcmEngine(context_length=16_000, summarizer=NodeModel()).compress(messages)
    (summary,) = (one for one in result if "[CONTEXT COMPACTION]" in str(one["content"]))
    assert summary["content"].count("\n## Goal\n") > 1
    assert summary_body(summary).count("## Goal\n") == 1
    assert "Mend the parser." in summary_preamble(summary)


@pytest.mark.parametrize("factory", ENGINES)
def test_the_report_lists_the_results_that_were_cleared(factory):
    call = {"name": "terminal", "arguments": '{"command": "make test"}'}
    work = []
    for n in range(30):
        calls = [{"id": f"c{n}", "type": "function", "function": call}]
        work.append({"role": "assistant", "content": None, "tool_calls": calls})
        work.append({"role": "tool", "tool_call_id": f"c{n}", "content": "a line of output\n" * 40})
    messages = [{"role": "system", "content": "You help."}, *said(2, 20), *work, *said(10, 20)]
    engine = factory(context_length=16_000)
    engine.compress(messages)
    assert {one.tool for one in engine.last_report.pruned} == {"terminal"}
    assert engine.last_report.cleared == len(engine.last_report.pruned)


@pytest.mark.parametrize("factory", ENGINES)
def test_a_newest_message_with_an_unknown_role_stays_in_the_fullest_window(factory):
    newest = {"role": "critic", "content": "Say what is missing."}
    messages = [{"role": "user", "content": "Hello. " + "word " * 1_500}, newest]
    result = factory(context_length=2_000).compress(messages, 2_000)
    assert result[-1] == newest
