"""What a compaction did, for the person and the log."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal


@dataclass(frozen=True, slots=True)
class Cleared:
    """One tool result that was replaced by a stub."""

    index: int
    tool: str
    status: str
    characters: int
    handle: str
    line: str


@dataclass(frozen=True)
class Report:
    """One call of `compress()`: what went in, what came out, and why.

    Tokens are estimates. `steps` names each rung of the ladder that was taken, in order.
    """

    outcome: Literal["compacted", "unchanged"]
    reason: str
    messages_before: int
    messages_after: int
    tokens_before: int
    tokens_after: int
    summary: str = ""
    summary_source: Literal["model", "deterministic"] = "deterministic"
    steps: tuple[str, ...] = ()
    # Describing thousands of cleared results costs more than the compaction itself, so it waits until asked.
    _describe_pruned: Callable[[], tuple[Cleared, ...]] = field(default=tuple, repr=False, compare=False)

    @cached_property
    def pruned(self) -> tuple[Cleared, ...]:
        """The tool results that left the context, oldest first."""
        return self._describe_pruned()
