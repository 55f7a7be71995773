"""`compression.prompt_file`: instructions and headings that a user adds to summaries."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll import ContextCompressor
from plimsoll.context.compressor.prompt import SummaryPrompt
from plimsoll.context.lcm import LcmEngine
from plimsoll.context.ledger import (
    SECTIONS,
    CustomPrompt,
    for_model,
    parse_sections,
    read_custom_prompt,
    render_sections,
)
from plimsoll.context.markers import is_summary
from plimsoll.errors import SettingError
from plimsoll.messages import Message, text_of
from plimsoll.models import estimate_tokens

FILE = """Write in British English.

## Deployment
which environments run which version

## Open Risks
what may still go wrong
"""
ANSWER = """## Goal
Ship the harbour service.
## Progress
### Done
- part 3 was shipped
## Deployment
- staging runs part 7
## Open Risks
- the disk may be full
"""


class Model:
    """A summary model that keeps what it was asked."""

    context_length = 200_000

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.prompts: list[str] = []

    def summarize(self, prompt: str, max_tokens: int) -> str:
        """The same answer each time."""
        self.prompts.append(prompt)
        return self.answer


def conversation(rounds: int = 60) -> list[Message]:
    messages: list[Message] = [{"role": "system", "content": "You ship parts."}]
    for number in range(rounds):
        said = f"Ship part {number} of the harbour service to staging; the disk may be full. " + "word " * 300
        messages.append({"role": "user", "content": said})
        messages.append({"role": "assistant", "content": f"Part {number} was shipped. " + "word " * 300})
    return messages


def test_a_file_gives_instructions_and_headings() -> None:
    prompt = read_custom_prompt(FILE)
    assert prompt.instructions == "Write in British English."
    assert prompt.titles == ("Deployment", "Open Risks")
    asked = SummaryPrompt(2_000, custom=prompt).prompt("…")
    assert (
        "## Deployment\nwhich environments run which version\n## Open Risks\nwhat may still go wrong" in asked
    )
    assert "Write in British English." in asked


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("## Goal\nsomething", "one of the standard headings"),
        ("## evidence\nsomething", "one of the standard headings"),
        ("## Progress\nsomething", "one of the standard headings"),
        ("## Risks\n\n## More\nx", "'## Risks' has no text"),
        ("## Risks\nx\n## risks\ny", "appears twice"),
        ("## Step 1: do\nx", "use letters, spaces and &"),
        ("x" * 8_001, "8,001 characters"),
        ("\n".join(f"## Part {letter}\nx" for letter in "abcdefghi"), "9 headings"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(text: str, why: str) -> None:
    with pytest.raises(SettingError, match=why):
        read_custom_prompt(text)


@pytest.mark.parametrize("make", [ContextCompressor, LcmEngine])
def test_what_a_model_writes_under_an_added_heading_reaches_the_next_request(
    make: Callable[..., ContextCompressor],
) -> None:
    model = Model(ANSWER)
    engine = make(context_length=32_000, summarizer=model, prompt=read_custom_prompt(FILE))
    view = engine.compress(conversation())
    summary = next(text_of(one) for one in view if is_summary(one))
    assert "staging runs part 7" in summary
    assert "Write in British English." in model.prompts[0]


def test_added_headings_follow_the_nine_and_are_marked_as_the_models() -> None:
    engine = ContextCompressor(
        context_length=32_000, summarizer=Model(ANSWER), prompt=read_custom_prompt(FILE)
    )
    engine.compress(conversation())
    report = engine.last_report
    assert report is not None
    sections = parse_sections(report.summary)
    assert list(sections)[: len(SECTIONS)] == list(SECTIONS)
    assert sections["Deployment"] == "* staging runs part 7"
    assert sections["Open Risks"] == "* the disk may be full"
    line = next(one for one in report.lines if one.section == "Deployment")
    assert line.by == "model"
    assert line.sources


def test_lines_that_cannot_be_from_the_conversation_are_struck_out_under_added_headings_too() -> None:
    invented = ANSWER.replace("staging runs part 7", "prod-eu-17.example.org runs `releases/9f3c2d1.tar`")
    engine = ContextCompressor(
        context_length=32_000, summarizer=Model(invented), prompt=read_custom_prompt(FILE)
    )
    engine.compress(conversation())
    assert engine.last_report is not None
    assert engine.last_report.summary_source == "model"
    assert "9f3c2d1" not in engine.last_report.summary
    assert "## Deployment\n(none)" in engine.last_report.summary


def test_without_a_model_an_added_heading_keeps_what_a_model_wrote_before() -> None:
    prompt = read_custom_prompt(FILE)
    engine = ContextCompressor(context_length=32_000, summarizer=Model(ANSWER), prompt=prompt)
    view = engine.compress(conversation())
    later = ContextCompressor(context_length=32_000, prompt=prompt)
    again = later.compress([*view, *conversation()[1:]])
    assert "## Deployment\n* staging runs part 7" in text_of(next(one for one in again if is_summary(one)))


def test_a_heading_that_nobody_asked_for_stays_text_of_the_section_before_it() -> None:
    engine = ContextCompressor(context_length=32_000, summarizer=Model(ANSWER))
    engine.compress(conversation())
    assert engine.last_report is not None
    assert "\n## Deployment" not in engine.last_report.summary


titles = st.lists(
    st.text("abcdefghijklmnopqrstuvwxyz", min_size=4, max_size=12).map(str.title), max_size=4, unique=True
)


@given(titles, st.integers(200, 3_000))
def test_added_headings_round_trip_and_fit_the_room_of_a_model(added: list[str], limit: int) -> None:
    prompt = CustomPrompt("", read_custom_prompt("".join(f"## {one}\nx\n" for one in added)).sections)
    sections = {**{title: f"* {title} said" for title in SECTIONS}, **{one: f"* of {one}" for one in added}}
    text = render_sections(sections)
    assert parse_sections(text) == parse_sections(text, prompt.titles) == sections
    assert estimate_tokens(for_model(text, limit)) <= limit + 5
