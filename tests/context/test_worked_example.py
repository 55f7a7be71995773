"""The computed values and the worked example of the contract."""

import copy

import pytest
from fastapi_example import fastapi_conversation

from plimsoll import ContextCompressor, estimate_messages_tokens_rough, validate
from plimsoll.assembly import build_compressor
from plimsoll.config import Settings
from plimsoll.context.compressor import NOTE, SUMMARY_PREFIX
from plimsoll.errors import SettingError

MODEL_SUMMARY = """## Goal
Set up a FastAPI project.
## Constraints & Preferences
Never use global state.
## Progress
### Done
Wrote app/main.py and eight more modules.
### In Progress
Two failing tests.
"""


class Scripted:
    """A summary model that answers what it was told to and remembers what it was asked."""

    context_length = 200_000

    def __init__(self, answer=MODEL_SUMMARY):
        self.answer = answer
        self.prompts = []

    def summarize(self, prompt, max_tokens):
        self.prompts.append((prompt, max_tokens))
        return self.answer


def test_a_200_000_token_model_has_the_stated_budgets():
    engine = ContextCompressor(model="claude-sonnet-4.5", context_length=200_000)
    assert engine.threshold_tokens == 100_000
    assert engine.tail_token_budget == 20_000
    assert engine.max_summary_tokens == 10_000
    assert engine.protect_first_n == 3
    assert engine.protect_last_n == 20
    assert engine.threshold_percent == 0.50


@pytest.mark.parametrize(
    ("window", "compressed", "budget"),
    [
        (200_000, 1_000, 2_000),
        (200_000, 30_000, 6_000),
        (200_000, 90_000, 10_000),
        (1_000_000, 400_000, 12_000),
        (8_000, 3_000, 400),
        (32_000, 100_000, 1_600),
    ],
)
def test_the_summary_budget_is_a_fifth_within_its_bounds(window, compressed, budget):
    assert ContextCompressor(context_length=window).budget.summary_tokens(compressed) == budget


def test_45_messages_of_95k_tokens_become_25_of_about_45k():
    messages = fastapi_conversation()
    assert len(messages) == 45
    assert 88_000 < estimate_messages_tokens_rough(messages) < 102_000
    before = copy.deepcopy(messages)

    result = ContextCompressor(context_length=200_000).compress(messages)

    assert len(result) == 25
    assert 36_000 < estimate_messages_tokens_rough(result) < 50_000
    assert validate(result) == validate(result, "anthropic") == []
    system, first, summary = result[:3]
    assert system["content"] == [
        {"type": "text", "text": messages[0]["content"]},
        {"type": "text", "text": NOTE},
    ]
    assert first == messages[1]
    assert summary["role"] == "assistant"
    assert summary["content"].startswith(SUMMARY_PREFIX)
    assert result[3:] == messages[23:]
    assert messages == before


def test_the_summary_that_no_model_wrote_holds_what_happened():
    result = ContextCompressor(context_length=200_000).compress(fastapi_conversation())
    text = result[2]["content"]
    assert "Help me set up a FastAPI project" not in text.split("## Goal")[0]
    for fact in (
        "app/main.py",
        "written 2×",
        "pytest -x tests/test_routes.py",
        "exit 1",
        "2 failed, 8 passed",
    ):
        assert fact in text
    assert "assert 404 == 200" in text


def test_the_note_and_the_prefix_begin_as_people_know_them():
    assert NOTE.startswith("[Note: Some earlier conversation turns have been compacted")
    assert SUMMARY_PREFIX.startswith("[CONTEXT COMPACTION] Earlier turns were compacted")


def test_a_model_summary_is_used_and_its_missing_sections_are_filled():
    model = Scripted()
    engine = ContextCompressor(context_length=200_000, summarizer=model)
    text = engine.compress(fastapi_conversation())[2]["content"]
    assert engine.last_report.summary_source == "model"
    assert "Wrote app/main.py and eight more modules." in text
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings == [
        "## Goal", "## Constraints & Preferences", "## Progress", "### Done", "### In Progress", "### Blocked",
        "## Key Decisions", "## Relevant Files", "## Next Steps", "## Critical Context", "## Evidence",
    ]  # fmt: skip
    assert "app/main.py` — written 2×" in text.split("## Relevant Files")[1]


def test_the_model_reads_the_originals_and_not_the_stubs():
    model = Scripted()
    ContextCompressor(context_length=200_000, summarizer=model).compress(fastapi_conversation())
    prompt, max_tokens = model.prompts[0]
    assert "E   assert 404 == 200" in prompt
    assert "Old tool output cleared" not in prompt
    assert max_tokens == 10_000


def test_a_focus_topic_is_given_60_to_70_percent_of_the_budget():
    model = Scripted()
    engine = ContextCompressor(context_length=200_000, summarizer=model)
    engine.compress(fastapi_conversation(), focus_topic="database access")
    prompt, _ = model.prompts[0]
    assert "database access" in prompt
    assert "4050–4725 words" in prompt  # of 6,750 for a budget of 10,000 tokens


def test_without_a_model_a_focus_topic_gets_the_first_choice():
    messages = fastapi_conversation()
    plain, focused = ContextCompressor(context_length=70_000), ContextCompressor(context_length=40_000)
    plain.compress(messages)
    focused.compress(messages, focus_topic="auth settings")
    share = [report.last_report.summary.count("auth") for report in (plain, focused)]
    assert share[1] >= share[0]
    assert "auth" in focused.last_report.summary


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"threshold": -0.1}, "threshold"),
        ({"threshold": 1.5}, "1.5"),
        ({"target_ratio": 0.05}, "target_ratio"),
        ({"protect_last_n": 0}, "protect_last_n"),
        ({"context_length": 0}, "context_length"),
    ],
)
def test_an_argument_out_of_range_is_refused_with_its_value(arguments, named):
    with pytest.raises(SettingError, match=named):
        ContextCompressor(**arguments)


def test_a_model_that_takes_shorter_prompts_than_its_window_has_the_shorter_one():
    assert ContextCompressor(model="gpt-5").context_length == 272_000
    assert build_compressor(Settings.model_validate({"model": {"name": "gpt-5"}})).context_length == 272_000
    stated = {"model": {"name": "gpt-5", "context_length": 400_000}}
    assert build_compressor(Settings.model_validate(stated)).context_length == 272_000
