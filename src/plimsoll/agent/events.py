"""Events of a turn, for a terminal, a gateway or a test to observe."""

from dataclasses import dataclass
from typing import TypeAlias

from plimsoll.archive import CompactionEvent, UsageRecord


@dataclass(frozen=True, slots=True)
class TextReceived:
    """A piece of the answer, as it arrives."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningReceived:
    """A piece of the model's reasoning, if it shows it."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A tool call is about to run."""

    call_id: str
    line: str


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """A tool call has its result."""

    call_id: str
    line: str
    seconds: float
    is_error: bool
    output: str = ""  # the whole result


@dataclass(frozen=True, slots=True)
class UsageReported:
    """A request was answered: its tokens and cost."""

    record: UsageRecord


@dataclass(frozen=True, slots=True)
class RetryWaiting:
    """The provider failed, and the request is sent again after this many seconds."""

    status: int | None  # its HTTP status, if it answered at all
    seconds: float


@dataclass(frozen=True, slots=True)
class SummaryProgress:
    """The turn waits for the summary model, which has written this many characters."""

    characters: int


@dataclass(frozen=True, slots=True)
class Compacted:
    """The view was compacted, or an attempt was refused."""

    event: CompactionEvent
    spent: tuple[UsageRecord, ...] = ()  # by the model that wrote the summary


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice for the user, in one sentence."""

    sentence: str


Event: TypeAlias = (
    TextReceived
    | ReasoningReceived
    | ToolCalled
    | ToolReturned
    | UsageReported
    | RetryWaiting
    | SummaryProgress
    | Compacted
    | Notice
)
