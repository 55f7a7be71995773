"""Sizes of a compaction: overhead is added, room is left, recent messages stay, summaries keep their budget."""

from dataclasses import replace
from importlib import import_module
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from sized_cases import CHECKS, SizedCase, sized_cases

from plimsoll import ContextCompressor
from plimsoll.context.budget import Budget, FixedPart, Sizes
from plimsoll.context.calibration import Calibration, calibrate
from plimsoll.models import estimate_message_tokens, estimate_tokens
from plimsoll.models import estimate_messages_tokens_rough as weigh

pipeline = import_module("plimsoll.context.compressor.compact")
planning = import_module("plimsoll.context.compressor.plan")
writing = import_module("plimsoll.context.ledger.write")


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(sized_cases())
def test_every_size_holds_whatever_is_fixed_and_whoever_writes_the_summary(case):
    run = case.run()
    for check in CHECKS:
        check(run)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(sized_cases(0.5, 0.9))
def test_overhead_above_the_threshold_moves_the_trigger_halfway_to_the_window(case):
    run = case.run()
    trigger = (run.report.fixed.total + case.window) // 2
    assert run.engine.due_tokens >= trigger
    newest = case.counted([run.before[0], run.before[-1]])
    if newest < trigger:
        assert run.left <= trigger
    assert estimate_tokens(run.report.summary) <= run.engine.max_summary_tokens


def prose(count, words):
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": f"Part {n}. " + "word " * words} for n in range(count)]


SYSTEM = {"role": "system", "content": "You help."}


def test_tool_schemas_are_added_and_not_taken_for_a_ratio():
    messages = [SYSTEM, *prose(60, 220)]
    overhead = 21_500
    engine = ContextCompressor(context_length=64_000)
    result = engine.compress(messages, current_tokens=weigh(messages) + overhead)
    assert weigh(messages) + overhead > engine.threshold_tokens
    third = (engine.threshold_tokens - overhead - weigh(messages[:3])) / 3
    assert weigh(result) + overhead <= engine.threshold_tokens - third


def test_large_messages_in_a_small_window_leave_room_for_many_turns():
    engine = ContextCompressor(context_length=32_000)
    view, compactions = [SYSTEM], []
    for turn in prose(80, 900):
        view.append(turn)
        tokens = weigh(view)
        if turn["role"] == "user" and engine.should_compress(tokens):
            view = engine.compress(view, current_tokens=tokens)
            compactions.append((tokens, weigh(view)))
    assert 3 <= len(compactions) <= 9
    third = (engine.threshold_tokens - engine.last_report.fixed.total) // 3
    for (_, left), (before, _) in pairwise(compactions):
        assert before - left >= third


def read(n, lines):
    call = {"name": "read_file", "arguments": f'{{"path": "src/merge_{n}.py"}}'}
    calls = [{"id": f"m{n}", "type": "function", "function": call}]
    text = "\n".join(f"value_{n}_{line} = {line}" for line in range(lines))
    return [
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": f"m{n}", "content": text},
    ]


def test_files_that_were_just_read_stay_whole_while_everything_fits():
    files = [message for n in range(3) for message in read(n, 150)]
    asks = [
        {"role": "assistant", "content": "All three are read."},
        {"role": "user", "content": "Merge them."},
    ]
    messages = [SYSTEM, *prose(40, 200), {"role": "user", "content": "Read these."}, *files, *asks]
    engine = ContextCompressor(context_length=32_000)
    result = engine.compress(messages)
    assert max(map(estimate_message_tokens, files)) > engine.tail_token_budget / 4
    assert result[-20:] == messages[-20:]
    assert weigh(result) <= engine.threshold_tokens


@pytest.mark.parametrize("opening", [1_500, 6_000])
def test_a_large_system_prompt_and_opening_do_not_squeeze_the_summary(opening):
    system = {"role": "system", "content": "rule " * 12_000}
    first = {"role": "user", "content": "Mend it. " + "detail " * opening}
    work = [message for n in range(60) for message in read(n, 40)]
    messages = [system, first, {"role": "assistant", "content": "I look."}, *work, *prose(21, 150)]
    result = ContextCompressor(context_length=64_000).compress(messages)
    (summary,) = (m for m in result if str(m["content"]).startswith("[CONTEXT COMPACTION]"))
    assert estimate_message_tokens(summary) > 3_900
    assert weigh(result) <= 32_000


@pytest.mark.parametrize(("window", "most"), [(64_000, 3_200), (400_000, 12_000)])
def test_the_headings_keep_to_the_summary_budget_and_quotes_follow_as_evidence(window, most):
    work = [message for n in range(window // 300) for message in read(n, 30)]
    messages = [SYSTEM, {"role": "user", "content": "Mend it."}, *work, {"role": "user", "content": "Go on."}]
    engine = ContextCompressor(context_length=window)
    text = next(m["content"] for m in engine.compress(messages) if "COMPACTION]" in str(m["content"]))
    headings, found, evidence = text.partition("## Evidence")
    assert estimate_tokens(headings) <= most
    assert found
    assert estimate_tokens(evidence) > 1_000
    plain = ContextCompressor(context_length=window, evidence=False)
    assert "## Evidence" not in str(plain.compress(messages))


def test_a_threshold_of_zero_is_due_at_every_turn_but_not_for_the_same_messages_again():
    engine = ContextCompressor(context_length=32_000, threshold=0.0, protect_last_n=4)
    assert engine.should_compress(1)
    short = [SYSTEM, *prose(3, 10)]
    assert engine.compress(short) == short
    assert not engine.should_compress(weigh(short))
    longer = [SYSTEM, *prose(41, 100)]
    assert engine.should_compress(weigh(longer))
    assert weigh(engine.compress(longer)) < weigh(longer)
    assert engine.should_compress(engine.last_report.tokens_after)


def test_an_unknown_overhead_is_what_exceeds_the_estimate():
    assert calibrate(10_000, 31_500) == Calibration(21_500, 1.0)
    assert calibrate(10_000, 31_500, 19_500) == Calibration(19_500, 1.2)
    assert calibrate(10_000, 9_000) == Calibration(0, 0.9)
    assert calibrate(10_000, 2_000) == Calibration(0, 0.75), "a count older than the list"
    assert calibrate(10_000) == Calibration()


def test_an_opening_that_exceeds_the_threshold_is_not_fixed():
    budget = Budget(64_000)
    assert budget.sizes(FixedPart(1_000, 2_000, 40_000)).trigger_tokens == 32_000
    assert budget.sizes(FixedPart(30_000, 4_000, 1_000)).trigger_tokens == (35_000 + 64_000) // 2


# --- mutants: each changes one decision about sizes; the checks must notice every one -------------------------

CASES = [
    SizedCase(
        window,
        overhead=int(window * overhead),
        system=system,
        turns=tuple(("tool" if n % 3 else "prose", size) for n in range(30)),
        protect_last_n=count,
        writer=writer,
    )
    # A large window takes ten times as long; these few notice what no small one does.
    for window, systems, sizes, writers in (
        (8_000, (0.01, 0.1), (0.004, 0.015, 0.03), ("", "long")),
        (64_000, (0.01,), (0.004, 0.03), ("",)),
    )
    for overhead in (0.0, 0.3)
    for system in systems
    for size in sizes
    for count in (4, 12)
    for writer in writers
]


def overhead_is_a_ratio(monkeypatch):
    monkeypatch.setattr(
        planning, "calibrate", lambda seen, counted, _: Calibration(0, (counted or seen) / seen)
    )


def overhead_is_ignored(monkeypatch):
    monkeypatch.setattr(planning, "calibrate", lambda *_: Calibration())


def no_growth_is_asked_for(monkeypatch):
    monkeypatch.setattr(Sizes, "rearm_tokens", lambda self, *_, **__: self.trigger_tokens)


def results_in_the_tail_always_shrink(monkeypatch):
    original = pipeline.fit
    shrink = import_module("plimsoll.context.compressor.shrink_results").shrink_results
    monkeypatch.setattr(pipeline, "fit", lambda plan, tokens: original(shrink(plan, 1 << 40), tokens))


def the_tail_is_cut_though_it_fits(monkeypatch):
    monkeypatch.setattr(planning, "find_boundaries", _cut_early(planning.find_boundaries))


def _cut_early(original):
    def find(messages, tokens, tail_tokens, protect_last_n):
        return original(messages, tokens, 0, 1)

    return find


def headings_take_what_they_like(monkeypatch):
    original = writing._fitting
    monkeypatch.setattr(writing, "_fitting", lambda entries, _: original(entries, 1 << 40))


def evidence_fills_the_threshold(monkeypatch):
    monkeypatch.setattr(Sizes, "target_tokens", property(lambda self: self.trigger_tokens))


@pytest.mark.parametrize(
    "mutant",
    [
        overhead_is_a_ratio,
        overhead_is_ignored,
        no_growth_is_asked_for,
        results_in_the_tail_always_shrink,
        the_tail_is_cut_though_it_fits,
        headings_take_what_they_like,
        evidence_fills_the_threshold,
    ],
)
def test_the_checks_of_sizes_notice_a_changed_decision(mutant, monkeypatch):
    mutant(monkeypatch)
    assert any(_breaks(case) for case in CASES)


def test_the_cases_for_the_mutants_break_nothing_by_themselves():
    assert not [case for case in CASES if _breaks(replace(case))]


def _breaks(case):
    run = case.run()
    try:
        for check in CHECKS:
            check(run)
    except AssertionError:
        return True
    return False
