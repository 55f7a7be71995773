"""The summary of one labelled cut, and which messages each of its lines is from.

history ──► compaction ──► nine headings ──► lines, with message numbers where the report gives them
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from plimsoll import ContextCompressor
from plimsoll.context.compressor import is_summary
from plimsoll.context.ledger import SummaryLine
from plimsoll.context.summarizer import Summarizer
from plimsoll.messages import text_of
from plimsoll.quality.handoff import section
from plimsoll.quality.texts import tokens

WINDOW = 64_000
BEYOND = 11_000  # tokens beside the fixed part
_NEAR = 0.96  # share of them that has to be used
Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Written:
    """What a compaction wrote, and what it left."""

    summary: str  # the nine headings
    evidence: str
    result: list[Message]
    source: str  # who wrote it: model or deterministic
    fixed: int  # tokens that no compaction reduces, at four characters each
    cited: tuple[SummaryLine, ...] = ()  # the lines with the messages that they come from

    def lines(self, title: str) -> list[str]:
        """The lines under a heading."""
        return section(self.summary, title)

    def sources(self, title: str) -> list[tuple[str, set[int]]]:
        """The lines under a heading, each with the numbers of the messages that it cites."""
        return [
            (line.text, {one.message for one in line.sources}) for line in self.cited if line.section == title
        ]

    @property
    def beyond(self) -> int:
        """Tokens of the result beside the fixed part."""
        return tokens(self.result) - self.fixed


def written(
    history: Sequence[Message], summarizer: Summarizer | None = None, beyond: int = BEYOND
) -> Written:
    """The compaction of a history to at most so many tokens beside its fixed part."""
    messages = list(history)
    aimed = beyond
    best = found = _once(messages, aimed, summarizer)
    for _ in range(3):
        if _NEAR * beyond <= found.beyond <= beyond:
            break
        # The engine estimates tokens in its own way; the measure counts characters.
        aimed = max(2_000, int(aimed * beyond * (1 + _NEAR) / 2 / max(1, found.beyond)))
        found = _once(messages, aimed, summarizer)
        if found.beyond <= beyond and (best.beyond > beyond or found.beyond > best.beyond):
            best = found
    return found if _NEAR * beyond <= found.beyond <= beyond else best


def _once(messages: list[Message], beyond: int, summarizer: Summarizer | None) -> Written:
    engine = ContextCompressor(context_length=WINDOW)
    # An opening that does not fit the threshold is summarised, so it is not fixed.
    fixed = engine.budget.sizes(engine.fixed_tokens(messages)).fixed
    engine = ContextCompressor(
        context_length=WINDOW, target_tokens=fixed.messages + beyond, summarizer=summarizer
    )
    result = engine.compress(messages)
    report = engine.last_report
    assert report is not None
    head = [
        new for new, old in zip(result[: engine.protect_first_n], messages, strict=False) if _stays(new, old)
    ]
    return Written(report.summary, report.evidence, result, report.summary_source, tokens(head), report.lines)


def _stays(new: Message, old: Message) -> bool:
    """Whether a message of the result is this one; the system prompt may have a note after it."""
    if is_summary(new):
        return False
    return new.get("role") == old.get("role") and text_of(new).startswith(text_of(old)[:200])
