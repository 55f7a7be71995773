"""Builders for the answers of the scripted model.

say("Let me look.") + call("terminal", command="ls")        one answer: text and a tool call
think("Two files.") + say("Done.").ending("length")         signed thinking, then truncated text
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from plimsoll.dialects import FinishReason


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """One block of an answer. A call's arguments are an object, or a string for deliberately invalid JSON."""

    kind: Literal["text", "thinking", "redacted", "call"]
    text: str = ""
    name: str = ""
    arguments: Mapping[str, Any] | str = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScriptedAnswer:
    """A scripted answer; `+` joins answers."""

    pieces: tuple[AnswerPart, ...] = ()
    finish: FinishReason | None = None  # None: tool_calls if there are calls, else stop
    native_finish: str | None = None

    def __add__(self, other: "ScriptedAnswer") -> "ScriptedAnswer":
        return ScriptedAnswer(
            self.pieces + other.pieces, other.finish or self.finish, other.native_finish or self.native_finish
        )

    def ending(self, finish: FinishReason, native: str | None = None) -> "ScriptedAnswer":
        """The answer with another finish reason, e.g. `length`; `native` is the provider's own reason."""
        return replace(self, finish=finish, native_finish=native)


def say(text: str) -> ScriptedAnswer:
    """A text."""
    return ScriptedAnswer((AnswerPart("text", text),))


def call(name: str, /, **arguments: Any) -> ScriptedAnswer:
    """A tool call."""
    return ScriptedAnswer((AnswerPart("call", name=name, arguments=arguments),))


def call_text(name: str, arguments: str) -> ScriptedAnswer:
    """A tool call with this string as arguments, to simulate invalid JSON."""
    return ScriptedAnswer((AnswerPart("call", name=name, arguments=arguments),))


def think(text: str) -> ScriptedAnswer:
    """Thinking; the server signs it for Claude models, like Anthropic."""
    return ScriptedAnswer((AnswerPart("thinking", text),))


def redacted() -> ScriptedAnswer:
    """Thinking that the provider encrypted."""
    return ScriptedAnswer((AnswerPart("redacted"),))
