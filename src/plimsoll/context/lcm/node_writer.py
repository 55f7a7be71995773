"""Writes the text of a node: by a model, with smaller prompts on failure, and finally from the facts.

    full summary ──► bullets at half the budget ──► from the facts, marked for a rewrite
         │ rejected: empty, too long, not smaller than its source

Requests are limited: a maximum per compaction, none after two consecutive failures, none that
starts too late for the host's deadline. Code then writes the text from the facts, and a later
compaction rewrites it, with a text that arrived in the meantime if there is one. No secret
goes to a model or into a text.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import files

from plimsoll.context.compressor.excerpts import transcript_texts
from plimsoll.context.compressor.summarise import TOO_LONG_RATIO, LateText, SummaryJob, summarise
from plimsoll.context.ledger import (
    EVIDENCE,
    NOTHING_ADDED,
    ConversationFacts,
    CustomPrompt,
    SummaryRoom,
    parse_sections,
    render_evidence,
    render_sections,
    titles_of,
    write_sections,
)
from plimsoll.context.ledger.template import section_lines
from plimsoll.context.summarizer import Summarizer, SummaryService, SummaryWriter
from plimsoll.errors import SummaryFailed
from plimsoll.messages import Message, excerpt, handle_of
from plimsoll.models import estimate_tokens
from plimsoll.secrets import redact

# By the handles of the messages: a late text, and the text that code wrote instead.
LateTexts = dict[tuple[str, ...], tuple[LateText, str]]
MAX_REQUESTS = 8  # for one compaction
MAX_FAILURES = 2  # in a row
WRITING_SECONDS = 45.0  # seconds after which no further summary starts
NODE_SHARE = 0.20  # of the tokens that a node covers
MIN_NODE_TOKENS, MAX_NODE_TOKENS = 200, 1_200
TOO_SMALL = "(short)"  # for messages that are too small to shorten
_SMALLEST_BULLETS = 60  # tokens
_SHORTEST = 24  # characters of a useful message excerpt


@dataclass(frozen=True, slots=True)
class NodeText:
    """The text of a node, and whether a model wrote it."""

    text: str
    by_model: bool
    failure: str = ""


@dataclass(slots=True)
class NodeWriter:
    """Writes the nodes of one compaction."""

    writer: SummaryWriter | None = None
    focus: str | None = None
    clock: Callable[[], float] = lambda: 0.0
    requests: int = MAX_REQUESTS
    failures: int = 0
    answered: int = 0  # texts that a model wrote
    notes: dict[str, None] = field(default_factory=dict)
    late_texts: LateTexts = field(default_factory=dict)  # kept across compactions
    custom: CustomPrompt = NOTHING_ADDED  # the user's additions to the summary prompt
    _began: float | None = None

    @property
    def may_ask(self) -> bool:
        """Whether there is a model and the limits allow another request."""
        if self.writer is None or self.requests <= 0 or self.failures >= MAX_FAILURES:
            return False
        if self._began is None:
            self._began = self.clock()
        return self.clock() - self._began <= WRITING_SECONDS

    def write(
        self,
        messages: Sequence[Message],
        tokens: int,
        facts: Callable[[], ConversationFacts],
        *,
        opening: str = "",
        quotes: bool = True,
    ) -> NodeText:
        """A text that replaces `messages`, which have `tokens` tokens; `facts` is called if no model wrote one.

        With `quotes`, code adds quotes from `messages` to a model's text.
        """
        budget = max(MIN_NODE_TOKENS, min(MAX_NODE_TOKENS, int(tokens * NODE_SHARE)))
        ledger = budget // 2 if quotes else 0
        job = SummaryJob(
            messages, tokens, budget, ledger, opening=opening, focus=self.focus, custom=self.custom
        )
        arrived, failure = self._arrived(job), ""
        if arrived:
            self.answered += 1
            return NodeText(arrived, by_model=True)
        for attempt in (self._in_full, self._in_bullets):
            if not self.may_ask or _key(job) in self.late_texts:
                break
            self.requests -= 1
            try:
                text = attempt(job)
            except SummaryFailed as error:
                failure = redact(str(error))
                self.failures += 1
                self.notes[failure] = None
            else:
                self.failures = 0
                self.answered += 1
                return NodeText(text, by_model=True)
        room = min(budget, tokens // 2)
        sections = write_sections(facts(), {}, SummaryRoom(room // 2, room), self.focus)
        text = redact(as_lines(f"{render_sections(sections)}\n{render_evidence(sections)}"))
        return NodeText(
            text if estimate_tokens(text) < tokens else TOO_SMALL, by_model=False, failure=failure
        )

    def ask(self, prompt: str, max_tokens: int) -> str:
        """The model's answer to a prompt. Raises `SummaryFailed` if there is none."""
        if not self.may_ask:
            raise SummaryFailed(
                "there is no model to ask" if self.writer is None else "the model does not answer"
            )
        self.requests -= 1
        return self._ask(prompt, max_tokens)

    def _in_full(self, job: SummaryJob) -> str:
        summary = summarise(job, self.writer)
        if summary.late is not None:
            self.late_texts[_key(job)] = (summary.late, summary.text)
        if summary.source != "model":
            raise SummaryFailed(summary.failure or "the summary model gave nothing usable")
        return _smaller(as_lines(summary.text), job.middle_tokens)

    def _arrived(self, job: SummaryJob) -> str:
        """A model's late text about these messages; empty if there is no usable one."""
        late, written = self.late_texts.get(_key(job), (None, ""))
        if late is None or not late.has_arrived:
            return ""
        del self.late_texts[_key(job)]
        text = as_lines(late(written))
        return text if text != as_lines(written) and estimate_tokens(text) < job.middle_tokens else ""

    def _in_bullets(self, job: SummaryJob) -> str:
        budget = max(_SMALLEST_BULLETS, job.budget // 2)
        focus = f"Above all, keep what concerns: {redact(job.focus)}\n" if job.focus else ""
        ask = partial(template("bullets").format, budget=budget, focus=focus)
        room = int(self._window() * 0.85) - budget - estimate_tokens(ask(transcript=""))
        answer = self._ask(ask(transcript=_excerpts(job.middle, room)), budget)
        if estimate_tokens(answer) > budget * TOO_LONG_RATIO:
            raise SummaryFailed(f"the bullets have more than {budget:,} tokens")
        return _smaller(answer, job.middle_tokens)

    def _ask(self, prompt: str, max_tokens: int) -> str:
        try:
            summarizer = self._summarizer()
            if estimate_tokens(prompt) + max_tokens > summarizer.context_length * 0.9:
                raise SummaryFailed(f"a window of {summarizer.context_length:,} tokens is too small for that")
            answer = summarizer.summarize(prompt, max_tokens)
        except SummaryFailed:
            raise
        except (
            Exception
        ) as error:  # a summarizer is third-party code: the conversation continues after any exception
            raise SummaryFailed(f"{type(error).__name__}: {error}") from error
        if not isinstance(answer, str) or not answer.strip():
            raise SummaryFailed("the summary model returned nothing")
        return redact(answer.strip())

    def _window(self) -> int:
        """The model's window; 0 if reading it fails."""
        try:
            return self._summarizer().context_length
        except Exception as error:  # third-party code, as above
            raise SummaryFailed(f"{type(error).__name__}: {error}") from error

    def _summarizer(self) -> Summarizer:
        if self.writer is None:
            raise SummaryFailed("there is no summary model")
        return self.writer.begin() if isinstance(self.writer, SummaryService) else self.writer


def as_lines(summary: str) -> str:
    """The non-empty sections of a summary without headings, which belong to the whole view."""
    sections = parse_sections(summary)
    blocks = []
    for title in (*titles_of(sections), EVIDENCE):
        lines = section_lines(sections.get(title, ""))
        if lines:
            blocks.append(f"{title}: {lines[0]}" if len(lines) == 1 else "\n".join([f"{title}:", *lines]))
    return "\n".join(blocks) or "(nothing that stands out)"


def _excerpts(messages: Sequence[Message], tokens: int) -> str:
    """Excerpts of all messages within a number of tokens."""
    texts = transcript_texts(messages)
    size = max(map(len, texts), default=0)
    while size > _SHORTEST and sum(estimate_tokens(excerpt(text, size)) + 1 for text in texts) > tokens:
        size = size * 2 // 3
    return "\n".join(excerpt(text, size) for text in texts)


def _key(job: SummaryJob) -> tuple[str, ...]:
    return tuple(map(handle_of, job.middle))


def _smaller(text: str, tokens: int) -> str:
    if estimate_tokens(text) >= tokens:
        raise SummaryFailed("the summary is not smaller than what it replaces")
    return text


@cache
def template(name: str) -> str:
    """A prompt by name."""
    return files("plimsoll.context.lcm").joinpath("prompts", f"{name}.md").read_text("utf-8")
