"""The report of a compaction, for people and for the log."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from plimsoll.context.budget import FixedPart
from plimsoll.context.ledger import SummaryLine

NO_MODEL_SUMMARY = "no model summary: {}"  # the step for a summary that code wrote because the model failed


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
    """One message that stays in the context in shortened form."""

    index: int
    tool: str  # empty if it is not a tool result
    characters_before: int
    characters_after: int
    handle: str


@dataclass(frozen=True)
class CompactionReport:
    """One call of `compress()`: its input, its result, and the reason.

    Tokens are provider tokens, including tool schemas and other overhead, if the caller passed the provider's count.
    `steps` lists the ladder steps that were taken, in order.
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
    lines: tuple[SummaryLine, ...] = ()  # lines of summary and evidence, each with its source messages
    steps: tuple[str, ...] = ()
    model_failures: tuple[str, ...] = ()  # why the summary model did not write the whole summary
    shortened: tuple[ShortenedMessage, ...] = ()  # in the head and the tail
    fixed: FixedPart = field(default_factory=FixedPart)  # the part that no compaction reduces
    rearm_tokens: int = 0  # the size at which the next compaction is due
    cleared: int = 0  # tool results that left the context
    # Describing thousands of cleared results costs more than the compaction itself, so it is lazy.
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
