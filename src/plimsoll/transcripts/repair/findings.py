"""The problems found in a conversation, and their repairs."""

from dataclasses import dataclass, field
from typing import Any

from plimsoll.messages.repair import STUB_RESULT

MISSING_RESULT = STUB_RESULT
OPENING = "[The conversation begins with the assistant's message.]"

_LONGEST = 40  # characters of a shown value


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem, where it is, and its repair."""

    place: str
    problem: str
    repair: str

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}. {self.repair}."


@dataclass(slots=True)
class FindingList:
    """The findings of one conversation, in order of detection."""

    found: list[Finding] = field(default_factory=list)

    def add(self, place: str, problem: str, repair: str) -> None:
        """Add one finding."""
        self.found.append(Finding(place, problem, repair))


def shown_value(value: Any) -> str:
    """A value, shortened for an error message."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
