"""Converts a message to the text that a model reads, and measures its size.

    {"content": "…", "tool_calls": [{"arguments": '{"path": "a.py", "old": "x\\ny"}'}]}  ──►  "…\na.py\nx\ny"

Arguments are decoded: their values count as text; their names, which every call repeats, do not. Sizes are
characters / 4, so that no compactor benefits from its own token counter.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from plimsoll.messages import Message, arguments_text, call_name, text_of, tool_calls

CHARACTERS_PER_TOKEN = 4  # for all sizes in this package


def read_text(message: Message) -> str:
    """The content, and the decoded values of the tool calls' arguments."""
    parts = [text_of(message)]
    for call in tool_calls(message):
        parts += values_of(decoded(call))
    return "\n".join(part for part in parts if part)


def joined(messages: Sequence[Message]) -> str:
    """A conversation as one text."""
    return "\n".join(map(read_text, messages))


def decoded(call: dict[str, Any]) -> Any:
    """The decoded arguments of a call; the raw text if it is not JSON."""
    written = arguments_text(call)
    try:
        return json.loads(written)
    except ValueError:
        return written


def values_of(value: Any) -> Iterator[str]:
    """Every value within a JSON value, as text, in order."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from values_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from values_of(inner)
    else:
        yield str(value)


def characters(message: Message) -> int:
    """The number of characters that a model reads: the text, and the names and raw arguments of tool calls."""
    calls = sum(len(call_name(call)) + len(arguments_text(call)) for call in tool_calls(message))
    return len(text_of(message)) + calls


def tokens(messages: Sequence[Message]) -> int:
    """The number of tokens, at four characters each."""
    return sum(map(characters, messages)) // CHARACTERS_PER_TOKEN
