"""The canonical reply, and the small steps in which it arrives when streamed.

    Start · (ReasoningDelta… SignatureDelta) · (TextDelta… BlockEnd) · ToolCallDelta… · Finish · UsageReport

Every decoder turns its wire into these steps and every encoder turns them back,
so that a stream can pass from one dialect to the other as it arrives. Together
the steps hold the whole reply: `collect.py` puts them together again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from plimsoll.dialects.finish import FinishReason
from plimsoll.dialects.usage import Usage
from plimsoll.messages import Message


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model answered."""

    message: Message
    finish_reason: FinishReason | None = None
    usage: Usage | None = None
    id: str = ""
    model: str = ""
    native_finish_reason: str | None = None  # the provider's own word, e.g. `pause_turn`
    extra: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by dialect, as in a request


@dataclass(frozen=True, slots=True)
class Start:
    """The reply begins."""

    id: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class CitationDelta:
    """A source for the text that is being written, in Anthropic's shape."""

    citation: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of what the model thinks aloud."""

    text: str


@dataclass(frozen=True, slots=True)
class SignatureDelta:
    """The provider's seal on the thinking so far, which ends that block of it."""

    signature: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """More of one tool call; id and name come with its first step."""

    index: int
    id: str | None = None
    name: str | None = None
    arguments: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)  # further keys of the canonical call


@dataclass(frozen=True, slots=True)
class BlockDelta:
    """A block that comes whole and is passed on as it is: redacted thinking, a server tool and its result."""

    block: dict[str, Any]


@dataclass(frozen=True, slots=True)
class MessageDelta:
    """Further keys of the canonical assistant message, as compatible servers add them."""

    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class BlockEnd:
    """What was being written is finished; what follows is a block of its own, even if of the same kind."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The reply has ended, and why."""

    reason: FinishReason
    native: str | None = None


@dataclass(frozen=True, slots=True)
class UsageReport:
    """What the reply has cost so far; a later report replaces an earlier one."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Failure:
    """The provider broke the stream off with an error."""

    kind: str
    message: str


Delta: TypeAlias = (
    Start
    | TextDelta
    | CitationDelta
    | ReasoningDelta
    | SignatureDelta
    | ToolCallDelta
    | BlockDelta
    | MessageDelta
    | BlockEnd
    | Finish
    | UsageReport
    | Failure
)
