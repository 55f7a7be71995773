"""Phase 3 of 4: one structured summary of the middle, by a model or by code.

    middle ──► pieces that fit the model's window ──► summary ──► checked ──► all headings filled
                                  │                       │
                                  └── the summary so far ◄┘      no model, or anything wrong: written from facts

If the conversation is still in the provider's cache, the model may read it there instead. The result is always a
usable summary without secrets, even if the model fails.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Literal

from plimsoll.context.compressor.excerpts import transcript_texts
from plimsoll.context.compressor.prompt import SummaryPrompt, all_text, pack
from plimsoll.context.ledger import (
    NOTHING_ADDED,
    SECTIONS,
    ConversationFacts,
    CustomPrompt,
    LineSources,
    Sections,
    SummaryRoom,
    checked_lines,
    completed,
    for_model,
    has_goal_and_progress,
    kept_terms,
    model_lines,
    pairs_of,
    parse_sections,
    plain_words,
    read_facts,
    removed_with_reason,
    render_evidence,
    render_sections,
    section_lines,
    terms_in,
    titles_of,
    within,
    without_fixed_failures,
    without_forgotten,
    without_invented_constraints,
    without_model_lines,
    write_summary,
)
from plimsoll.context.summarizer import ConversationSummarizer, Summarizer, SummaryService, SummaryWriter
from plimsoll.errors import SummaryFailed, SummaryLate
from plimsoll.messages import Message, text_of, without_harness_text
from plimsoll.models import estimate_tokens
from plimsoll.secrets import redact

# Estimates and the model's own count differ. A summary up to a quarter over the budget is cut; a longer one is a
# failure.
TOO_LONG_RATIO = 1.25
_SMALLEST_PIECE = 120  # tokens of the conversation in one request to the summary model
# If the Goal or Progress lines were removed as untrue, the rest is used if it has this many lines and this share.
_MIN_LINES, _MIN_TRUE = 3, 0.5
# The minimum share of the headings' budget for content that the model omitted and code restores.
_RESTORED_SHARE = 0.15
# The window may be smaller than stated, and the text longer than estimated: one retry for each.
_MAX_SHRINKS = 2
_THINKING = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary, its author, and why the model failed if it did."""

    headings: str  # the nine sections
    evidence: str  # the quotes after them; may be empty
    source: Literal["model", "deterministic"]
    facts: ConversationFacts  # the facts of all messages that the summary replaces
    now: ConversationFacts  # the same at the end of the conversation, including messages that stay
    sources: LineSources = field(default_factory=dict)  # sources of the lines that code wrote
    failure: str = ""
    late: "LateText | None" = None
    numbers: Sequence[int] = ()  # of the messages that code read for it, besides those of the summary before

    @property
    def text(self) -> str:
        """Headings and evidence."""
        return f"{self.headings}\n{self.evidence}" if self.evidence else self.headings


@dataclass(frozen=True, slots=True)
class NumberedMessages:
    """Messages with their numbers in the whole conversation."""

    messages: Sequence[Message] = ()
    numbers: Sequence[int] | None = None


@dataclass(frozen=True, slots=True)
class SummaryJob:
    """The messages to summarise, the token budgets, and the context."""

    middle: Sequence[Message]
    middle_tokens: int
    budget: int  # tokens of the nine headings, by a model or by code
    ledger: int  # tokens of the whole text, including evidence
    evidence: bool = True  # whether quotes may follow the headings
    kept: Sequence[Message] = ()  # the messages that stay in the context
    opening: str = ""  # the first request, if it is not in the middle
    previous: str = ""
    # The source of `previous`: facts, and the text of an earlier summary whose messages are unknown.
    known: ConversationFacts | None = None
    earlier: str = ""
    focus: str | None = None
    # The whole conversation as the model has seen it, and the range of it to summarise.
    view: Sequence[Message] = ()
    covered: tuple[int, int] = (0, 0)
    read: NumberedMessages | None = None  # the messages to read facts from; default: the middle
    after: NumberedMessages = NumberedMessages()  # the messages that stay after the middle
    opening_at: int = -1  # the number of the opening request
    custom: CustomPrompt = NOTHING_ADDED  # the user's additions to the prompt

    def facts(self, attempt: Summary | None = None) -> ConversationFacts:
        """The facts of all messages that the summary replaces.

        Those that an earlier `attempt` read are not read again; reading is most of the work of a compaction.
        """
        read = self.read or NumberedMessages(self.middle)
        count = len(attempt.numbers) if attempt else 0
        if attempt and count and read.numbers is not None and read.numbers[:count] == attempt.numbers:
            added = read.messages[count:]
            return read_facts(added, "", attempt.facts, read.numbers[count:]) if added else attempt.facts
        return read_facts(read.messages, self.opening, self.known, read.numbers, opening_at=self.opening_at)

    def state_after(self, facts: ConversationFacts) -> ConversationFacts:
        """The state at the end of the conversation."""
        if not self.after.messages:
            return facts
        return read_facts(self.after.messages, "", facts, self.after.numbers, quotes=False)

    @property
    def newest_request(self) -> str:
        """The newest request, if it is among the messages that stay and the model does not see it."""
        texts = (
            without_harness_text(message) for message in reversed(self.kept) if message.get("role") == "user"
        )
        newest = next(filter(None, texts), "")
        return "" if newest.strip() == self.opening.strip() else newest

    @property
    def replaced_tokens(self) -> int:
        """The tokens that the summary replaces."""
        return self.middle_tokens + estimate_tokens(self.previous)

    @property
    def ledger_room(self) -> int:
        """The budget of text written by code: at most half of the new messages plus the earlier summary."""
        return min(self.ledger, self.middle_tokens // 2 + estimate_tokens(self.previous))


@dataclass(frozen=True, slots=True)
class LateText:
    """A model's text that arrives after the turn stopped waiting for it."""

    job: SummaryJob
    facts: ConversationFacts
    pending: "Future[str]"

    @property
    def has_arrived(self) -> bool:
        """Whether the request has ended, successfully or not."""
        return self.pending.done()

    def __call__(self, written: str) -> str:
        """The summary that code wrote with the model's text; unchanged if no usable text has arrived."""
        if not self.has_arrived or self.pending.cancelled() or self.pending.exception() is not None:
            return written
        try:
            checked = _checked(self.pending.result(), self.job.budget, self.job.custom)
            now = self.job.state_after(self.facts)
            sections = _true_lines(checked, self.job, self.facts, now, kept_terms(self.job.kept))
        except SummaryFailed:
            return written
        joined = within(completed(sections, parse_sections(without_model_lines(written))), self.job.budget)
        return "\n".join(part for part in _rendered(joined) if part)


def summarise(job: SummaryJob, writer: SummaryWriter | None = None) -> Summary:
    """The summary, by the model if usable, else by code; never fails."""
    failure = ""
    if writer is not None:
        try:
            summarizer = writer.begin() if isinstance(writer, SummaryService) else writer
            return _by_model(summarizer, job)
        except SummaryLate as error:
            written = deterministic_summary(job, redact(str(error)))
            return replace(written, late=LateText(job, written.facts, error.pending))
        except SummaryFailed as error:
            failure = redact(str(error))
        except Exception as error:  # third-party code may also fail in begin() or context_length
            failure = redact(f"{type(error).__name__}: {error}")
    return deterministic_summary(job, failure)


def deterministic_summary(job: SummaryJob, failure: str = "", attempt: Summary | None = None) -> Summary:
    """The summary that code writes from the conversation, smaller than what it replaces.

    `attempt` is one that code wrote from the first of the same messages.
    """
    facts = job.facts(attempt)
    now = job.state_after(facts)
    earlier = completed(parse_sections(model_lines(job.previous)), _earlier_ledger(job))
    room = SummaryRoom(min(job.budget, job.ledger_room), job.ledger_room if job.evidence else 0)
    written = write_summary(facts, earlier, room, job.focus, kept_terms(job.kept), now=now)
    sections = _with_added(written.sections, earlier, job.budget)
    numbers = job.read.numbers if job.read and job.read.numbers else ()
    return Summary(
        *_rendered(sections), "deterministic", facts, now, written.sources, failure, numbers=numbers
    )


def _with_added(written: Sections, earlier: Sections, budget: int) -> Sections:
    """Sections by code, with a model's earlier text under user-defined headings, which code cannot write."""
    added = titles_of(earlier)[len(SECTIONS) :]
    return within({**written, **{title: earlier[title] for title in added}}, budget) if added else written


def _earlier_ledger(job: SummaryJob) -> Sections:
    """Earlier sections by code whose facts are unknown; code rewrites all others."""
    return parse_sections(without_model_lines(job.earlier))


def _rendered(sections: Sections) -> tuple[str, str]:
    """The headings and the evidence of a summary as text."""
    return redact(render_sections(sections)), redact(render_evidence(sections))


def _by_model(summarizer: Summarizer, job: SummaryJob) -> Summary:
    texts = transcript_texts(job.middle)
    model_job = replace(job, previous=for_model(job.previous, job.budget))
    sections = _ask_in_place(summarizer, model_job, texts) or _ask_in_pieces(summarizer, model_job, texts)
    facts = job.facts()
    now = job.state_after(facts)
    for state in (facts, now):
        for limit in removed_with_reason(sections, state):
            state.revoked[limit] = state.constraints.pop(limit)
    kept = kept_terms(job.kept)
    sections = within(_true_lines(sections, job, facts, now, kept), job.budget)
    # The model has just rewritten its earlier text.
    earlier = _earlier_ledger(job)
    text = render_sections(sections)
    written = estimate_tokens(text)
    # Reserve some room for content that the model omitted; `within` then cuts the least important lines.
    restored = int(job.budget * _RESTORED_SHARE) if job.ledger else 0
    total = max(job.ledger_room - written, restored)
    room = SummaryRoom(min(max(job.budget - written, restored), total), total if job.evidence else 0)
    ledger = write_summary(facts, earlier, room, job.focus, kept, text, now, few=True)
    joined = within(completed(sections, ledger.sections), job.budget)
    summary = Summary(*_rendered(joined), "model", facts, now, ledger.sources)
    if estimate_tokens(summary.text) >= job.replaced_tokens:
        raise SummaryFailed("the summary is not smaller than what it replaces")
    return summary


def _true_lines(
    sections: Sections, job: SummaryJob, facts: ConversationFacts, now: ConversationFacts, kept: set[str]
) -> Sections:
    """The model's lines that the conversation supports. Raises `SummaryFailed` if too few are left."""
    # A model that reads the conversation in place also sees the messages that stay.
    kept_texts = map(all_text, job.kept)
    shown = "\n".join((job.previous, job.opening, job.focus or "", *map(all_text, job.middle), *kept_texts))
    known = kept | facts.evidence.uses.keys() | set(terms_in("\n".join((job.previous, job.opening))))
    named = checked_lines(sections, known, pairs_of(plain_words(shown)), shown)
    both = (*job.middle, *job.kept)
    agents = "\n".join(text_of(message) for message in both if message.get("role") == "assistant")
    texts = (job.opening, *_kept_texts(job.kept))
    true = without_invented_constraints(named, facts, texts, job.previous, agents)
    true = without_fixed_failures(without_forgotten(true, now), now)
    written, left = _count(sections), _count(true)
    # Code writes the goal and the newest request if the model's lines about them were removed.
    if not has_goal_and_progress(true) and left < max(_MIN_LINES, written * _MIN_TRUE):
        raise SummaryFailed(
            f"only {left} of its {written} lines are true, and these have no Goal and Progress"
        )
    return true


def _count(sections: Sections) -> int:
    return sum(len(section_lines(body)) for body in sections.values())


def _kept_texts(kept: Sequence[Message]) -> Iterator[str]:
    """The user messages that stay, and each line of the system prompt, as sources of a model's lines."""
    for message in kept:
        if message.get("role") == "user":
            yield without_harness_text(message)
        elif message.get("role") == "system":
            yield from filter(None, map(str.strip, text_of(message).splitlines()))


def _ask_in_place(summarizer: Summarizer, job: SummaryJob, texts: Sequence[str]) -> Sections | None:
    """The summary requested at the end of the conversation itself; None if unsupported, more expensive or failed."""
    if not job.view or not isinstance(summarizer, ConversationSummarizer):
        return None
    if not summarizer.prefers_conversation(job.view, sum(map(estimate_tokens, texts)), job.budget):
        return None
    frame = SummaryPrompt(job.budget, job.focus, custom=job.custom)
    instruction = frame.instruction(job.view, job.covered, job.previous)
    try:
        answer = _call(summarizer.summarize_conversation, job.view, instruction, job.budget)
        return _checked(answer, job.budget, job.custom)
    except SummaryLate:  # the turn no longer waits, so send no other request
        raise
    except SummaryFailed:  # fall back to a separate request; the summarizer records the reason
        return None


def _ask_in_pieces(summarizer: Summarizer, job: SummaryJob, texts: Sequence[str]) -> Sections:
    """Summarise piece by piece, each time updating the summary so far."""
    summary = job.previous
    for shrinks in range(_MAX_SHRINKS + 1):
        window = summarizer.context_length
        frame, room = _sized(job, window, summary)
        todo = list(pack(texts, room))
        while todo:
            prompt = frame.prompt(todo[0], summary)
            try:
                answer = _call(summarizer.summarize, prompt, frame.budget)
            except SummaryFailed:
                if shrinks == _MAX_SHRINKS or summarizer.context_length >= window:
                    raise
                break
            summary = redact(render_sections(_checked(answer, frame.budget, job.custom)))
            del todo[0]
        if not todo:
            break
        texts = todo  # only the remaining texts are split smaller
    return parse_sections(summary, job.custom.titles)


def _sized(job: SummaryJob, window: int, summary: str) -> tuple[SummaryPrompt, int]:
    """The prompt around each piece in a window of this size, and the room for the piece."""
    answer = min(job.budget, max(1, window // 4))
    # The two requests together may take a quarter of the window, at four characters per token.
    frame = SummaryPrompt(answer, job.focus, job.opening, job.newest_request, window // 2, job.custom)
    # The summary so far is at most as long as an answer; 10 % stays free for estimation errors.
    so_far = max(answer, estimate_tokens(summary))
    room = int(window * 0.9) - answer - so_far - estimate_tokens(frame.prompt("", "x"))
    if room < _SMALLEST_PIECE:
        raise SummaryFailed(f"a window of {window:,} tokens is too small to summarise with")
    return frame, room


def _call(ask: Callable[..., str], *arguments: object) -> str:
    try:
        text = ask(*arguments)
    except SummaryFailed:
        raise
    except (
        Exception
    ) as error:  # a summarizer is third-party code: the conversation continues after any exception
        raise SummaryFailed(f"{type(error).__name__}: {error}") from error
    if not isinstance(text, str):
        raise SummaryFailed(f"the summary model returned {type(text).__name__}, not text")
    return text


def _checked(text: str, budget: int, custom: CustomPrompt) -> Sections:
    answer = _THINKING.sub("", text).strip()
    if not answer:
        raise SummaryFailed("the summary model returned nothing")
    tokens = estimate_tokens(answer)
    if tokens > budget * TOO_LONG_RATIO:
        raise SummaryFailed(f"the summary has about {tokens:,} tokens, its budget is {budget:,}")
    sections = parse_sections(answer, custom.titles)
    if not has_goal_and_progress(sections):
        raise SummaryFailed("the answer has no Goal and Progress")
    return sections
