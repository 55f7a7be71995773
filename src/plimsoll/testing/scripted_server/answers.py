"""What the model says: small builders that add up.

say("Let me look.") + call("terminal", command="ls")        one answer: a text and a tool call
think("Two files.") + say("Done.").ending("length")         signed thinking, then a text that was cut off
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from plimsoll.dialects import FinishReason


@dataclass(frozen=True, slots=True)
class Piece:
    """One block of an answer. A call's arguments are an object, or a text where they are broken on purpose."""

    kind: Literal["text", "thinking", "redacted", "call"]
    text: str = ""
    name: str = ""
    arguments: Mapping[str, Any] | str = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model says; answers add up."""

    pieces: tuple[Piece, ...] = ()
    finish: FinishReason | None = None  # None: tool_calls where there are calls, else stop
    native_finish: str | None = None

    def __add__(self, other: "Answer") -> "Answer":
        return Answer(
            self.pieces + other.pieces, other.finish or self.finish, other.native_finish or self.native_finish
        )

    def ending(self, finish: FinishReason, native: str | None = None) -> "Answer":
        """The same answer with another reason for its end, e.g. `length`; `native` is the provider's own word."""
        return replace(self, finish=finish, native_finish=native)


def say(text: str) -> Answer:
    """A text."""
    return Answer((Piece("text", text),))


def call(name: str, /, **arguments: Any) -> Answer:
    """A tool call."""
    return Answer((Piece("call", name=name, arguments=arguments),))


def call_text(name: str, arguments: str) -> Answer:
    """A tool call whose arguments are this text, for models that write broken JSON."""
    return Answer((Piece("call", name=name, arguments=arguments),))


def think(text: str) -> Answer:
    """Thinking; the server signs it for Claude models, as their provider does."""
    return Answer((Piece("thinking", text),))


def redacted() -> Answer:
    """Thinking that the provider encrypted."""
    return Answer((Piece("redacted"),))
