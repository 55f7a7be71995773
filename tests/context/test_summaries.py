"""Whatever the summary model does, a usable summary comes out, and later ones update it."""

import pytest
from fastapi_example import fastapi_conversation

from plimsoll import ContextCompressor, estimate_messages_tokens_rough, validate
from plimsoll.context.compressor import find_summary, is_summary
from plimsoll.context.ledger import parse_sections, render_sections

GOOD = (
    "## Goal\nBuild the API.\n## Progress\n### Done\nAll modules are written.\n### In Progress\nThe tests.\n"
)


class Model:
    """Answers from a list, the last answer for ever; an exception in the list is raised."""

    def __init__(self, *answers, context_length=200_000):
        self.answers = list(answers)
        self.context_length = context_length
        self.prompts = []

    def summarize(self, prompt, max_tokens):
        self.prompts.append(prompt)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


FAULTS = {
    "raises": TimeoutError("no answer in 60 s"),
    "empty": "",
    "blank": "  \n ",
    "refuses": "I'm sorry, but I can't help with that.",
    "too long": GOOD + "and more words of no use at all " * 4_000,
    "no goal": "## Progress\n### Done\nsomething",
    "no progress": "## Goal\nsomething",
    "headings without words": "## Goal\n\n## Progress\n### Done\n(none)",
    "a tool call instead": '{"name": "terminal", "arguments": {"command": "ls"}}',
    "only thinking": "<think>## Goal\nx\n## Progress\ny</think>",
    "not text": 42,
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_a_model_that_fails_is_replaced_by_the_facts(fault):
    engine = ContextCompressor(context_length=200_000, summarizer=Model(fault))
    result = engine.compress(fastapi_conversation())
    assert engine.last_report.summary_source == "deterministic"
    assert "no model summary" in engine.last_report.steps[-1]
    assert validate(result) == []
    assert estimate_messages_tokens_rough(result) < engine.threshold_tokens
    summary = parse_sections(engine.last_report.summary)
    assert "Help me set up a FastAPI project" in summary["Goal"]
    assert "app/main.py" in summary["Relevant Files"]
    assert "pytest" in summary["Blocked"]


def test_thinking_aloud_is_cut_off_and_the_answer_used():
    engine = ContextCompressor(context_length=200_000, summarizer=Model(f"<think>hm</think>Sure!\n{GOOD}"))
    engine.compress(fastapi_conversation())
    assert engine.last_report.summary_source == "model"
    assert "hm" not in engine.last_report.summary.split("## Progress")[0]


def test_a_middle_larger_than_the_models_window_is_summarised_in_pieces_that_fit():
    model = Model(GOOD, context_length=6_000)
    engine = ContextCompressor(context_length=200_000, summarizer=model)
    engine.compress(fastapi_conversation())
    assert engine.last_report.summary_source == "model"
    assert len(model.prompts) > 3
    assert all(
        estimate_messages_tokens_rough([{"role": "user", "content": p}]) < 6_000 for p in model.prompts
    )
    assert "All modules are written." in model.prompts[1]
    everything = "".join(model.prompts)
    for module in ("main", "models", "routes", "db", "auth", "settings", "schemas", "deps"):
        assert f"app/{module}.py" in everything or f"tests/test_{module}.py" in everything


def test_a_model_whose_window_holds_no_piece_is_not_asked():
    model = Model(GOOD, context_length=500)
    engine = ContextCompressor(context_length=200_000, summarizer=model)
    engine.compress(fastapi_conversation())
    assert model.prompts == []
    assert engine.last_report.summary_source == "deterministic"


def grown(messages, rounds):
    extra = []
    for n in range(rounds):
        extra += [
            {"role": "user", "content": f"Add endpoint number {n}"},
            {
                "role": "assistant",
                "content": f"Endpoint {n} is in app/api_{n}.py. " + "It was straightforward. " * 60,
            },
        ]
    return [*messages, *extra]


def test_a_later_compaction_updates_the_earlier_summary():
    model = Model(GOOD, GOOD.replace("The tests.", "The docs."))
    engine = ContextCompressor(context_length=200_000, summarizer=model)
    once = engine.compress(fastapi_conversation())
    twice = engine.compress(grown(once, 40))
    assert "All modules are written." in model.prompts[1]
    assert "move items from In Progress to" in model.prompts[1]
    assert sum(map(is_summary, twice)) == 1
    assert "The docs." in twice[find_summary(twice)]["content"]
    assert validate(twice) == []


def test_after_a_restart_the_earlier_summary_is_found_in_the_list():
    once = ContextCompressor(context_length=200_000, summarizer=Model(GOOD)).compress(fastapi_conversation())
    model = Model(GOOD)
    twice = ContextCompressor(context_length=200_000, summarizer=model).compress(grown(once, 40))
    assert "All modules are written." in model.prompts[0]
    assert sum(map(is_summary, twice)) == 1
    assert str(twice[0]["content"]).count("[Note:") == 1


def test_without_a_model_what_the_earlier_summary_said_stays():
    engine = ContextCompressor(context_length=200_000)
    messages = engine.compress(fastapi_conversation())
    for _ in range(5):
        messages = engine.compress(grown(messages, 40))
    text = messages[find_summary(messages)]["content"]
    assert "app/main.py` — written 2×" in text
    assert "never use global state" in text
    assert sum(map(is_summary, messages)) == 1
    assert str(messages[0]["content"]).count("[Note:") == 1


def test_a_command_that_passed_later_is_no_longer_blocked():
    def run(n, text):
        function = {"name": "sh", "arguments": '{"command": "make check"}'}
        call = {"id": f"c{n}", "type": "function", "function": function}
        return [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": text + "\n" + "padding " * 2_000},
        ]

    opening = [{"role": "system", "content": "s"}, {"role": "user", "content": "make it pass"}]
    talk = [{"role": "assistant", "content": "ok " * 40}, {"role": "user", "content": "go on"}] * 3
    messages = [
        *opening,
        *talk,
        *run(1, "exit code: 2\nerror: broken"),
        *talk,
        *run(2, "exit code: 0"),
        *talk,
    ]
    engine = ContextCompressor(context_length=8_000, protect_last_n=2)
    engine.compress(messages)
    sections = parse_sections(engine.last_report.summary)
    assert "make check" not in sections["Blocked"]
    assert "`make check` → ok" in sections["Done"]


def test_a_quoted_summary_later_in_the_talk_is_a_message_like_any_other():
    once = ContextCompressor(context_length=200_000).compress(fastapi_conversation())
    quoted = {"role": "user", "content": once[find_summary(once)]["content"]}
    messages = [*grown(once, 60), quoted]
    result = ContextCompressor(context_length=60_000).compress(messages)
    assert result[-1] == quoted


def test_parsing_takes_headings_as_models_really_write_them():
    text = "Here you go:\n**Goal:**\nship\n# Progress\nhalf of it\n### In progress\nthe rest\n"
    text += "## Constraints and Preferences\nnone\n"
    sections = parse_sections(text)
    assert sections["Goal"] == "ship"
    assert sections["Done"] == "half of it"
    assert sections["In Progress"] == "the rest"
    assert sections["Constraints & Preferences"] == "none"
    assert render_sections(sections).count("(none)") == 5


class Gone:
    """A summary model that is lost before it is ever asked."""

    @property
    def context_length(self):
        raise ConnectionError("the server is gone")

    def summarize(self, prompt, max_tokens):
        return GOOD


class WithoutWindow(Gone):
    context_length = None


class NeverBegins:
    def begin(self):
        raise RuntimeError("no connection")


@pytest.mark.parametrize("broken", [Gone, WithoutWindow, NeverBegins])
def test_a_model_that_fails_before_it_is_asked_is_replaced_by_the_facts(broken):
    engine = ContextCompressor(context_length=200_000, summarizer=broken())
    result = engine.compress(fastapi_conversation())
    assert engine.last_report.summary_source == "deterministic"
    assert "no model summary" in engine.last_report.steps[-1]
    assert validate(result) == []
