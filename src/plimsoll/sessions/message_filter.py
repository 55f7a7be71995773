"""Which messages a search accepts besides their text: by tool, by file, by failure.

tool     calls of the tool, and their results
file     messages that name it, calls with it among their arguments, and the results of these calls
errors   results of calls that failed
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from plimsoll.context.ledger import outcome_of
from plimsoll.messages import Message, answered_id, arguments_text, call_name, text_of, tool_calls


@dataclass(frozen=True, slots=True)
class MessageFilter:
    """A predicate for `SearchQuery.accepts`. Empty fields do not filter."""

    tool: str = ""
    file: str = ""
    errors: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether it accepts every message."""
        return not (self.tool or self.file or self.errors)

    def __call__(self, message: Message, caller: Message | None) -> bool:
        calls = list(_calls(message, caller))
        if self.tool and message.get("name") != self.tool and self.tool not in map(call_name, calls):
            return False
        if self.file and not self._names_file(message, calls):
            return False
        return not self.errors or _is_failure(message, calls)

    def _names_file(self, message: Message, calls: list[dict[str, Any]]) -> bool:
        return self.file in text_of(message) or any(self.file in arguments_text(call) for call in calls)


def _calls(message: Message, caller: Message | None) -> Iterator[dict[str, Any]]:
    """The calls of a message, or the call that it answers."""
    yield from tool_calls(message)
    answered = answered_id(message)
    if answered is not None and caller is not None:
        yield from (call for call in tool_calls(caller) if call.get("id") == answered)


def _is_failure(message: Message, calls: list[dict[str, Any]]) -> bool:
    if message.get("role") != "tool":
        return False
    return outcome_of(calls[0] if calls else {}, text_of(message)).failed
