"""The built-in engine keeps the public contract; mutants of it do not."""

import json
from dataclasses import replace
from importlib import import_module

import pytest
from hypothesis import HealthCheck, given, settings

from plimsoll import ContextCompressor
from plimsoll.messages import repair
from plimsoll.models import estimate_messages_tokens_rough as weigh
from plimsoll.testing import PROPERTIES, ContractCase, cases, check_engine, run_case
from plimsoll.testing.contract import generated_cases

# By their full names: the package exports functions of the same names as some of these modules.
assemble_phase = import_module("plimsoll.context.compressor.assemble")
boundaries_phase = import_module("plimsoll.context.compressor.boundaries")
pipeline = import_module("plimsoll.context.compressor.compact")
planning = import_module("plimsoll.context.compressor.plan")
ladder = import_module("plimsoll.context.compressor.ladder")

MODEL_SUMMARY = "## Goal\nfix the parser\n## Progress\n### Done\nread src/parser.py\n"


class Model:
    context_length = 4_000

    def summarize(self, prompt, max_tokens):
        return MODEL_SUMMARY


def plain(case: ContractCase) -> ContextCompressor:
    return ContextCompressor(context_length=case.window, protect_last_n=case.protect_last_n)


def with_model(case: ContractCase) -> ContextCompressor:
    return ContextCompressor(
        context_length=case.window, protect_last_n=case.protect_last_n, summarizer=Model()
    )


@pytest.mark.slow
@pytest.mark.parametrize("factory", [plain, with_model])
def test_the_compressor_keeps_the_contract(factory):
    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(cases())
    def holds(case):
        run = run_case(factory, case)
        for check in PROPERTIES:
            check(run)

    holds()


def test_most_generated_cases_really_compact():
    seen = []

    # The share varies with the seed, so the seed is fixed.
    @settings(max_examples=80, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(cases())
    def count(case):
        result = plain(case).compress(case.messages)
        seen.append(weigh(result) < weigh(repair(case.messages)))

    count()
    assert sum(seen) >= 0.8 * len(seen)


def test_the_generated_cases_hold_what_occurs_in_the_wild():
    kinds = set()

    @settings(max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(cases())
    def look(case):
        if repair(case.messages) != case.messages:
            kinds.add("orphans")
        for message in case.messages:
            kinds.add("none" if message.get("content") is None else type(message["content"]).__name__)
            kinds.add("image" if "image_url" in json.dumps(message) else "text")
            if len(message.get("tool_calls") or []) > 1:
                kinds.add("parallel calls")

    look()
    assert kinds == {"orphans", "none", "str", "list", "image", "text", "parallel calls"}


# --- mutants: each changes one decision of the engine; the contract must notice every one ---------------------


def _patched(monkeypatch, module, name, replacement):
    monkeypatch.setattr(module, name, replacement)


def cut_off_by_one(monkeypatch):
    original = boundaries_phase.find_tail_start
    _patched(monkeypatch, boundaries_phase, "find_tail_start", lambda *a: min(len(a[0]), original(*a) + 1))


def group_split(monkeypatch):
    _patched(monkeypatch, boundaries_phase, "align_backward", lambda messages, position: position)
    _patched(monkeypatch, assemble_phase, "is_whole", lambda messages: True)
    _patched(monkeypatch, pipeline, "refusal", lambda before, tokens, after: "")


def newest_request_dropped(monkeypatch):
    _patched(monkeypatch, boundaries_phase, "newest_own_request", lambda messages: None)
    _patched(monkeypatch, pipeline, "refusal", lambda before, tokens, after: "")


def input_mutated(monkeypatch):
    original = planning.is_whole

    def mutating(messages):
        messages[-1]["seen"] = True
        return original(messages)

    _patched(monkeypatch, planning, "is_whole", mutating)


def note_written_again(monkeypatch):
    _patched(monkeypatch, assemble_phase, "has_note", lambda message: False)
    original = assemble_phase.with_note
    _patched(monkeypatch, assemble_phase, "with_note", lambda message: original(original(message)))


def system_prompt_rewritten(monkeypatch):
    def rewrite(message):
        return {**message, "content": "[Note: shorter]"} if message["role"] == "system" else message

    _patched(monkeypatch, assemble_phase, "with_note", rewrite)


def summary_always_the_assistant(monkeypatch):
    original = assemble_phase.summary_message
    _patched(monkeypatch, assemble_phase, "summary_message", lambda text, role: original(text, "assistant"))


def earlier_summary_kept_beside_the_new_one(monkeypatch):
    _patched(monkeypatch, boundaries_phase, "find_summary", lambda messages: None)
    original = boundaries_phase.fitting_role
    _patched(
        monkeypatch, boundaries_phase, "fitting_role", lambda before, after: original(before, after) or "user"
    )


def result_may_be_larger(monkeypatch):
    original = pipeline.summarise
    padded = "and so on, and so on, and so on " * 2_000
    _patched(
        monkeypatch, pipeline, "summarise", lambda *a: replace(original(*a), text=original(*a).text + padded)
    )
    _patched(monkeypatch, pipeline, "fit", lambda plan, limit, summary_tokens: plan)
    _patched(monkeypatch, pipeline, "deterministic_summary", lambda job: padded)
    _patched(monkeypatch, pipeline, "refusal", lambda before, tokens, after: "")


def orphans_left(monkeypatch):
    _patched(monkeypatch, planning, "is_whole", lambda messages: True)
    _patched(monkeypatch, assemble_phase, "is_whole", lambda messages: True)
    _patched(monkeypatch, pipeline, "refusal", lambda before, tokens, after: "")


def tail_never_yields(monkeypatch):
    _patched(monkeypatch, pipeline, "fit", lambda plan, limit, summary_tokens: plan)


def tail_yields_too_early(monkeypatch):
    _patched(monkeypatch, pipeline, "fit", lambda plan, limit, tokens: ladder.fit(plan, limit // 8, tokens))


def head_forgotten(monkeypatch):
    _patched(monkeypatch, boundaries_phase, "PROTECT_FIRST_N", 1)
    _patched(monkeypatch, boundaries_phase, "opening_end", lambda messages: 1)


MUTANTS = [
    cut_off_by_one,
    group_split,
    newest_request_dropped,
    input_mutated,
    note_written_again,
    system_prompt_rewritten,
    summary_always_the_assistant,
    earlier_summary_kept_beside_the_new_one,
    result_may_be_larger,
    orphans_left,
    tail_never_yields,
    tail_yields_too_early,
    head_forgotten,
]


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_the_contract_notices_a_mutant(mutant, monkeypatch):
    mutant(monkeypatch)
    # Few cases are enough for most mutants; only the others are tried on many.
    assert any(_is_broken(case) for examples in (30, 200) for case in generated_cases(examples))


def _is_broken(case):
    """Whether one property fails, or the engine itself does."""
    try:
        run = run_case(plain, case)
        for check in PROPERTIES:
            check(run)
    except Exception:
        return True
    return False


def test_a_verdict_shows_the_example_that_broke_it(monkeypatch):
    head_forgotten(monkeypatch)
    verdicts = check_engine(plain, examples=30)
    broken = next(str(verdict) for verdict in verdicts if not verdict.kept)
    assert broken.startswith("BROKEN")
    assert "protect_last_n" in broken
