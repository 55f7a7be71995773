"""Fabrications: identifiers in a compacted context that are not in the conversation.

    original  … src/app.py …      result  … src/api.py …   ──►  src/api.py

A truncated term is part of the original, not a fabrication. An engine's handles do not count.
"""

import re
from collections.abc import Sequence

from plimsoll.messages import Message, arguments_text, call_name, tool_calls
from plimsoll.quality.terms import terms_in
from plimsoll.quality.texts import joined

_HANDLE = re.compile(r"\bh:[0-9a-f]{4,}\b")


def fabrications(
    history: Sequence[Message], result: Sequence[Message], own: frozenset[str] = frozenset()
) -> list[str]:
    """The terms of the result that are not in the history, sorted; `own` are the engine's own words."""
    original = set(map(id, history))
    new = [message for message in result if id(message) not in original]
    candidates = terms_in(_HANDLE.sub(" ", joined(new))) - own
    if not candidates:
        return []
    text = _everything(history)
    return sorted(term for term in candidates if term not in text)


def _everything(history: Sequence[Message]) -> str:
    """The conversation as text, with tool names and with arguments both decoded and raw."""
    written = (
        f"{call_name(call)} {arguments_text(call)}" for message in history for call in tool_calls(message)
    )
    names = (str(message.get("name") or "") for message in history)
    return "\n".join((joined(history), *written, *names))
