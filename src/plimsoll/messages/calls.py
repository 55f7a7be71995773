"""Tool calls and their results: ids, names, arguments, and which result answers which call.

Ids may repeat across a conversation (small servers count from `call_0` each
turn), so a result belongs to the nearest earlier unanswered call with its id.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from plimsoll.messages.content import Message


def tool_calls(message: Message) -> list[dict[str, Any]]:
    """The well-formed tool calls of an assistant message; empty for other messages."""
    calls = message.get("tool_calls")
    if not calls or message.get("role") != "assistant" or not isinstance(calls, list):
        return []
    return [call for call in calls if isinstance(call, dict)]


def call_ids(message: Message) -> list[str]:
    """The ids of the tool calls in an assistant message."""
    return [call["id"] for call in tool_calls(message) if isinstance(call.get("id"), str)]


def answered_id(message: Message) -> str | None:
    """The call id that a tool message answers; None for other messages."""
    answered = message.get("tool_call_id")
    return answered if message.get("role") == "tool" and isinstance(answered, str) else None


def call_function(call: dict[str, Any]) -> dict[str, Any]:
    """The `function` object of a call, or an empty one."""
    function = call.get("function")
    return function if isinstance(function, dict) else {}


def call_name(call: dict[str, Any]) -> str:
    """The tool's name, or `tool` if the call has none."""
    name = call_function(call).get("name")
    return name if isinstance(name, str) and name else "tool"


def arguments_text(call: dict[str, Any]) -> str:
    """The arguments as the model wrote them."""
    arguments = call_function(call).get("arguments")
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else json.dumps(arguments, ensure_ascii=False, default=str)


def arguments_of(call: dict[str, Any]) -> dict[str, Any]:
    """The arguments as an object; empty if they are not a JSON object."""
    arguments = call_function(call).get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return {}
    return arguments if isinstance(arguments, dict) else {}


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """A result and the call it answers, by position in the conversation."""

    call_at: int
    result_at: int
    call: dict[str, Any]


def answers(messages: Sequence[Message]) -> Iterator[ToolAnswer]:
    """Yield every result that has a call, matched to the nearest earlier unanswered call with its id."""
    waiting: dict[str, tuple[int, dict[str, Any]]] = {}
    for position, message in enumerate(messages):
        for call in tool_calls(message):
            if isinstance(call.get("id"), str):
                waiting[call["id"]] = (position, call)
        found = waiting.pop(answered_id(message) or "", None)
        if found:
            yield ToolAnswer(found[0], position, found[1])
