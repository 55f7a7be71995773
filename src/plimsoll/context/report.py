"""The report of a compaction, for people and for the log."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from plimsoll.context.budget import FixedPart
from plimsoll.context.ledger import SummaryLine

NO_MODEL_SUMMARY = "no model summary: {}"  # the step of a summary that code wrote because a model failed


@dataclass(frozen=True, slots=True)
class ClearedResult:
    """One tool result that was replaced by a stub."""

    index: int
    tool: str
    status: str
    characters: int
    handle: str
    line: str


@dataclass(frozen=True, slots=True)
class ShortenedMessage:
    """One message that stays in the context in fewer words."""

    index: int
    tool: str  # empty where it is not a tool result
    characters_before: int
    characters_after: int
    handle: str


@dataclass(frozen=True)
class CompactionReport:
    """One call of `compress()`: what went in, what came out, and why.

    Tokens are what the provider counts, tool schemas and other overhead included, as far as the caller said what it
    counted before. `steps` names each rung of the ladder that was taken, in order.
    """

    outcome: Literal["compacted", "unchanged"]
    reason: str
    messages_before: int
    messages_after: int
    tokens_before: int
    tokens_after: int
    summary: str = ""  # the nine headings
    evidence: str = ""  # the quotes after them
    summary_source: Literal["model", "deterministic"] = "deterministic"
    lines: tuple[SummaryLine, ...] = ()  # of summary and evidence, each with the messages that it comes from
    steps: tuple[str, ...] = ()
    model_failures: tuple[str, ...] = ()  # why the summary model did not write all of the summary
    shortened: tuple[ShortenedMessage, ...] = ()  # in the head and the tail
    fixed: FixedPart = field(default_factory=FixedPart)  # what no compaction reduces
    rearm_tokens: int = 0  # the size at which the next compaction is due
    # Describing thousands of cleared results costs more than the compaction itself, so it waits until asked.
    _describe_pruned: Callable[[], tuple[ClearedResult, ...]] = field(
        default=tuple, repr=False, compare=False
    )

    @property
    def whole_summary(self) -> str:
        """The summary with the evidence after it."""
        return "\n".join(part for part in (self.summary, self.evidence) if part)

    @cached_property
    def pruned(self) -> tuple[ClearedResult, ...]:
        """The tool results that left the context, oldest first."""
        return self._describe_pruned()
