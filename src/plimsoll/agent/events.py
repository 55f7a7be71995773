"""What happens during a turn, as values, for whoever watches: a terminal, a gateway, a test."""

from dataclasses import dataclass
from typing import TypeAlias

from plimsoll.archive import CompactionEvent, UsageRecord
from plimsoll.dialects import Usage


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of the answer, as it arrives."""

    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    """A piece of the model's reasoning, where it shows it."""

    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """A tool call is about to run."""

    call_id: str
    line: str


@dataclass(frozen=True, slots=True)
class Returned:
    """A tool call has its result."""

    call_id: str
    line: str
    seconds: float
    is_error: bool


@dataclass(frozen=True, slots=True)
class Used:
    """A request was answered: tokens and money."""

    usage: Usage
    money: float | None


@dataclass(frozen=True, slots=True)
class Summarising:
    """The turn waits for the summary model, which has written so many characters."""

    characters: int


@dataclass(frozen=True, slots=True)
class Compacted:
    """The view was made lighter, or it was tried and refused."""

    event: CompactionEvent
    spent: tuple[UsageRecord, ...] = ()  # by the model that wrote the summary


@dataclass(frozen=True, slots=True)
class Noticed:
    """Something that a person should know, in one sentence."""

    sentence: str


Event: TypeAlias = Said | Thought | Called | Returned | Used | Summarising | Compacted | Noticed
