"""Open items of an agent's to-do list, from its tool calls.

todo tools    {"todos": [{"content": "…", "status": "pending"}, …]}     the newest list counts
task tools    {"subject": "…"} · {"taskId": "3", "status": "completed"}   made and changed one by one, counted from 1
"""

from collections.abc import Sequence
from typing import Any

from plimsoll.messages import Message, call_name, tool_calls
from plimsoll.messages.untyped import string_of
from plimsoll.quality.texts import decoded

_DONE = frozenset({"completed", "done", "cancelled", "deleted"})


def open_items(history: Sequence[Message]) -> list[tuple[int, str]]:
    """The open items, each with the position of the last message that names it."""
    listed: list[tuple[int, str]] = []
    tasks: dict[str, tuple[int, str]] = {}
    made = 0
    for place, message in enumerate(history):
        for call in tool_calls(message):
            arguments = decoded(call)
            if not isinstance(arguments, dict):
                continue
            if isinstance(arguments.get("todos"), list):
                listed = [(place, text) for item in arguments["todos"] if (text := _open(item))]
            elif isinstance(arguments.get("subject"), str) and "create" in call_name(call).lower():
                made += 1
                tasks[str(made)] = place, arguments["subject"]
            elif arguments.get("taskId") is not None and arguments.get("status") in _DONE:
                tasks.pop(str(arguments["taskId"]), None)
    return [*listed, *tasks.values()]


def _open(item: Any) -> str:
    if not isinstance(item, dict) or item.get("status") in _DONE:
        return ""
    return string_of(item.get("content") or item.get("title") or item.get("text"))
