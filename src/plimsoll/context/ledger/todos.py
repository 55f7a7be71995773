"""The agent's to-do list, recognised by the shape of the calls that maintain it.

{"todos": [{"content": "…", "status": "pending"}, …]}              the newest list counts
{"subject": "…"}, later {"taskId": "3", "status": "completed"}     created and changed one by one
"""

import re
from dataclasses import dataclass, field
from typing import Any

from plimsoll.context.ledger.outcome import one_line

OPEN = ("pending", "in_progress", "open", "todo")
FINISHED = ("completed", "done")
_LABELS = ("content", "subject", "title", "task", "step", "text", "description")
_IDS = ("taskId", "task_id", "todoId", "todo_id", "id")
_NUMBER = re.compile(r"#?(\d+)")
_LONGEST = 200


@dataclass(slots=True)
class Todos:
    """Each item and its newest status."""

    items: dict[str, str] = field(default_factory=dict)
    sources: dict[str, int] = field(default_factory=dict)  # item -> the message that last changed it
    _made: dict[str, str] = field(
        default_factory=dict
    )  # id -> item, for lists that are maintained item by item

    def copy(self) -> "Todos":
        """A copy to continue reading from."""
        return Todos(dict(self.items), dict(self.sources), dict(self._made))

    def read(self, arguments: dict[str, Any], result: str, position: int = 0) -> bool:
        """Read a call; return whether it maintains a list."""
        before = dict(self.items)
        found = (
            self._read_list(arguments) or self._read_change(arguments) or self._read_made(arguments, result)
        )
        if found:
            kept = {item: self.sources.get(item, position) for item in self.items}
            changed = {item: position for item, status in self.items.items() if before.get(item) != status}
            self.sources = kept | changed
        return found

    def tick(self, item: str, done: bool, position: int = 0) -> None:
        """Record an item of a checklist."""
        item = one_line(item, _LONGEST)
        self.items[item] = "completed" if done else "pending"
        self.sources[item] = position

    def _read_list(self, arguments: dict[str, Any]) -> bool:
        found = listed_in(arguments)
        if found:
            self.items = {label: str(item["status"]) for item in found if (label := _label(item))}
        return bool(found)

    def _read_change(self, arguments: dict[str, Any]) -> bool:
        item = next((self._made.get(str(arguments[key])) for key in _IDS if key in arguments), None)
        status = arguments.get("status")
        if item is None or not isinstance(status, str):
            return False
        if status in ("deleted", "cancelled"):
            self.items.pop(item, None)
        else:
            self.items[item] = status
        return True

    def _read_made(self, arguments: dict[str, Any], result: str) -> bool:
        subject = arguments.get("subject")
        if not isinstance(subject, str) or not subject.strip() or "command" in arguments:
            return False
        named = _NUMBER.search(result[:_LONGEST])
        item = one_line(subject, _LONGEST)
        self._made[named[1] if named else str(len(self._made) + 1)] = item
        self.items[item] = "pending"
        return True


def listed_in(arguments: dict[str, Any]) -> list[dict[str, Any]]:
    """The items of a call with a whole list; empty for any other call."""
    for value in arguments.values():
        if (
            isinstance(value, list)
            and value
            and all(isinstance(item, dict) and "status" in item for item in value)
        ):
            return value
    return []


def _label(item: dict[str, Any]) -> str:
    text = next((item[key] for key in _LABELS if isinstance(item.get(key), str) and item[key].strip()), "")
    return one_line(text, _LONGEST)
