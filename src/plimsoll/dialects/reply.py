"""The canonical reply, and the deltas of a streamed reply.

    Start · (ReasoningDelta… SignatureDelta) · (TextDelta… BlockEnd) · ToolCallDelta… · Finish · UsageReport

Every decoder turns its wire events into these deltas and every encoder turns them
back, so that a stream can be translated to another dialect as it arrives.
`collect.py` assembles the deltas into the whole reply.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from plimsoll.dialects.finish import FinishReason
from plimsoll.dialects.usage import Usage
from plimsoll.messages import Message


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply."""

    message: Message
    finish_reason: FinishReason | None = None
    usage: Usage | None = None
    id: str = ""
    model: str = ""
    native_finish_reason: str | None = None  # the provider's own reason, e.g. `pause_turn`
    extra: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by dialect, as in a request


@dataclass(frozen=True, slots=True)
class Start:
    """The start of the reply."""

    id: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text."""

    text: str


@dataclass(frozen=True, slots=True)
class CitationDelta:
    """A source for the current text, in Anthropic's shape."""

    citation: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More visible thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class SignatureDelta:
    """The provider's signature of the thinking so far, which ends the block."""

    signature: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """More of one tool call; its first delta contains id and name."""

    index: int
    id: str | None = None
    name: str | None = None
    arguments: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)  # further keys of the canonical call


@dataclass(frozen=True, slots=True)
class BlockDelta:
    """A complete block, passed on unchanged: redacted thinking, a server tool and its result."""

    block: dict[str, Any]


@dataclass(frozen=True, slots=True)
class MessageDelta:
    """Further keys of the canonical assistant message that compatible servers add."""

    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class BlockStart:
    """The start of a block that has fields of its own; `extra` is the block by dialect."""

    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BlockEnd:
    """The end of the current block; the next delta starts a new one, even of the same kind.

    `extra` is the complete block by dialect; that dialect's encoder writes it unchanged.
    """

    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finish:
    """The end of the reply, with the reason."""

    reason: FinishReason
    native: str | None = None


@dataclass(frozen=True, slots=True)
class UsageReport:
    """The usage of the reply so far; a later report replaces an earlier one."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Failure:
    """The provider ended the stream with an error."""

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
    | BlockStart
    | BlockEnd
    | Finish
    | UsageReport
    | Failure
)
