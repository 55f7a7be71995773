"""Phase 3 of 4: one structured summary of the middle, by a model or by code.

    middle ──► pieces that fit the model's window ──► summary ──► checked ──► all headings filled
                                  │                       │
                                  └── the summary so far ◄┘      no model, or anything wrong: written from facts

Whatever the model does, a usable summary comes out.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from plimsoll.context.compressor.prompt import Frame, pieces
from plimsoll.context.ledger import (
    Sections,
    fill_missing,
    has_goal_and_progress,
    parse_sections,
    read_facts,
    render_sections,
    write_sections,
)
from plimsoll.context.summarizer import Summarizer
from plimsoll.errors import SummaryFailed
from plimsoll.messages import Message
from plimsoll.models import estimate_tokens

# Estimates and the model's own count differ; a quarter over the budget is a miscount, more is a failure.
TOO_LONG = 1.25
_SMALLEST_PIECE = 200
_THINKING = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary's text, who wrote it, and why the model did not where it was asked."""

    text: str
    source: Literal["model", "deterministic"]
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be summarised, in how many tokens, and what is known besides."""

    middle: Sequence[Message]
    middle_tokens: int
    budget: int
    opening: str = ""  # the request that the conversation began with, where the middle does not hold it
    previous: str = ""
    focus: str | None = None

    @property
    def replaced_tokens(self) -> int:
        """What the summary takes the place of."""
        return self.middle_tokens + estimate_tokens(self.previous)


def summarise(job: Job, summarizer: Summarizer | None = None) -> Summary:
    """The summary, by the model where it gives a usable one, else by code; never fails."""
    failure = ""
    if summarizer is not None:
        try:
            return Summary(_by_model(summarizer, job), "model")
        except SummaryFailed as error:
            failure = str(error)
    return Summary(deterministic_summary(job), "deterministic", failure)


def deterministic_summary(job: Job) -> str:
    """The summary written from the conversation itself, at most half of what it replaces."""
    room = min(job.budget, job.replaced_tokens // 2)
    facts = read_facts(job.middle, job.opening)
    return render_sections(write_sections(facts, parse_sections(job.previous), room, job.focus))


def _by_model(summarizer: Summarizer, job: Job) -> str:
    sections = _ask(summarizer, job)
    room = job.budget - estimate_tokens(render_sections(sections))
    written = render_sections(fill_missing(sections, read_facts(job.middle, job.opening), room))
    if estimate_tokens(written) >= job.replaced_tokens:
        raise SummaryFailed("the summary is not smaller than what it replaces")
    return written


def _ask(summarizer: Summarizer, job: Job) -> Sections:
    """Summarise piece by piece, each time updating the summary so far."""
    window = summarizer.context_length
    answer = min(job.budget, max(1, window // 4))
    frame = Frame(answer, job.focus, job.opening)
    # The summary so far is at most as long as an answer; 10 % stays free for what the estimate gets wrong.
    so_far = max(answer, estimate_tokens(job.previous))
    room = int(window * 0.9) - answer - so_far - estimate_tokens(frame.prompt("", "x"))
    if room < _SMALLEST_PIECE:
        raise SummaryFailed(f"a window of {window:,} tokens is too small to summarise with")
    summary = job.previous
    for piece in pieces(job.middle, room):
        said = _call(summarizer.summarize, frame.prompt(piece, summary), answer)
        summary = render_sections(_checked(said, answer))
    return parse_sections(summary)


def _call(summarize: Callable[[str, int], str], prompt: str, max_tokens: int) -> str:
    try:
        text = summarize(prompt, max_tokens)
    except Exception as error:  # a summariser is foreign code: whatever it raises, the conversation goes on
        raise SummaryFailed(f"{type(error).__name__}: {error}") from error
    if not isinstance(text, str):
        raise SummaryFailed(f"the summary model returned {type(text).__name__}, not text")
    return text


def _checked(text: str, budget: int) -> Sections:
    said = _THINKING.sub("", text).strip()
    if not said:
        raise SummaryFailed("the summary model returned nothing")
    tokens = estimate_tokens(said)
    if tokens > budget * TOO_LONG:
        raise SummaryFailed(f"the summary has about {tokens:,} tokens, its budget is {budget:,}")
    sections = parse_sections(said)
    if not has_goal_and_progress(sections):
        raise SummaryFailed("the answer has no Goal and Progress")
    return sections
