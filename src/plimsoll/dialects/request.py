"""The canonical request, independent of the wire format.

Messages, tools and `tool_choice` are in OpenAI's shape. All other fields of a
dialect are in `extra` under the dialect's name and are only sent in the same
dialect: another provider would reject them.

A request checks the types of its fields, because a client may send anything and every encoder relies on them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from plimsoll.errors import InvalidConversation
from plimsoll.messages import Message
from plimsoll.messages.untyped import objects_in

Tool: TypeAlias = dict[str, Any]
ToolChoice: TypeAlias = str | dict[str, Any]


@dataclass(frozen=True, slots=True)
class Thinking:
    """How much the model may think before it replies; None leaves it to the model."""

    mode: Literal["enabled", "adaptive", "disabled"] | None = None
    budget_tokens: int | None = None
    effort: str | None = None  # minimal, low, medium, high, xhigh, max; models accept different ones
    display: str | None = None  # whether thinking is shown: summarized or omitted


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request to a model."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    stream: bool = False
    # Whether a streamed reply on OpenAI's wire ends with its usage; Anthropic's always does.
    include_usage: bool = True
    thinking: Thinking | None = None
    extra: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.max_tokens is not None and not _is_whole(self.max_tokens):
            raise _wrong("max_tokens", "a whole number", self.max_tokens)
        for name, value in (("temperature", self.temperature), ("top_p", self.top_p)):
            if value is not None and not (_is_whole(value) or isinstance(value, float)):
                raise _wrong(name, "a number", value)
        for tool in self.tools:
            if not isinstance(tool.get("type", ""), str):
                raise _wrong("the type of a tool", "a string", tool["type"])
        choice = self.tool_choice
        if choice is not None and not isinstance(choice, str | dict):
            raise _wrong("tool_choice", "a string or an object", choice)
        if isinstance(choice, dict) and not isinstance(choice.get("function", {}), dict):
            raise _wrong("tool_choice.function", "an object", choice["function"])

    def extra_for(self, dialect: str) -> dict[str, Any]:
        """The fields that are only sent in one dialect."""
        return dict(self.extra.get(dialect, {}))

    def stated(self, *names: str) -> Any:
        """The first of these fields that the client set, in any dialect; None if it set none."""
        fields = (fields[name] for name in names for fields in self.extra.values() if name in fields)
        return next((value for value in fields if value is not None), None)


def stop_sequences(value: Any) -> tuple[str, ...]:
    """The stop sequences of a body: none, one text, or a list of texts."""
    texts = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InvalidConversation("stop sequences must be a string or a list of strings")
    return tuple(texts)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _wrong(name: str, wanted: str, value: object) -> InvalidConversation:
    return InvalidConversation(f"{name} must be {wanted}, not {type(value).__name__}")


def function_names(tools: Any) -> list[str]:
    """The names of canonical tools, or of the tools that a choice allows."""
    functions = (tool.get("function") for tool in objects_in(tools))
    return [str(function.get("name")) for function in functions if isinstance(function, dict)]
