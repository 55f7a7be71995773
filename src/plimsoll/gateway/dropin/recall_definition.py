"""The recall tool's definition, and its calls in messages. The wording is in `recall_definition.toml`."""

import tomllib
from importlib.resources import files
from typing import Any

from plimsoll.messages import Message, call_name, tool_calls

_WORDING: dict[str, Any] = tomllib.loads(
    files(__package__).joinpath("recall_definition.toml").read_text(encoding="utf-8")
)
NAME: str = _WORDING["name"]
SUMMARY_LINE: str = _WORDING["summary_line"]
DEFINITION: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": NAME,
        "description": _WORDING["description"],
        "parameters": {"type": "object", "properties": _WORDING["parameters"]},
    },
}


def is_recall(call: Any) -> bool:
    """Whether a tool call is for the recall tool."""
    return isinstance(call, dict) and call_name(call) == NAME


def recall_calls(message: Message) -> list[dict[str, Any]]:
    """The calls of the recall tool in a message."""
    return [call for call in tool_calls(message) if is_recall(call)]


def without_recall_calls(message: Message) -> Message:
    """The message without recall calls, as the client sees it."""
    calls = [call for call in tool_calls(message) if not is_recall(call)]
    if len(calls) == len(tool_calls(message)):
        return message
    rest = {key: value for key, value in message.items() if key != "tool_calls"}
    return {**rest, "tool_calls": calls} if calls else rest
