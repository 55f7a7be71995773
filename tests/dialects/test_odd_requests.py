"""Values of the wrong kind anywhere in a request: it is read or refused, and never breaks the reader."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from plimsoll.dialects import ChatRequest, dialect_named, dialects
from plimsoll.errors import InvalidConversation
from plimsoll.request_compaction import WireRequest

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"key": "a"}'}}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
TALK: tuple[dict[str, Any], ...] = (
    {"role": "system", "content": [{"type": "text", "text": "Be careful."}]},
    {"role": "user", "content": [{"type": "text", "text": "Look."}, IMAGE]},
    {"role": "assistant", "content": "I look.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "name": "look", "content": "Two files."},
    {"role": "assistant", "content": "Two files."},
    {"role": "user", "content": "Go on."},
)
LOOK = {
    "type": "function",
    "function": {"name": "look", "description": "Look.", "parameters": {"type": "object"}},
}
# What only one of the wires has: where it goes, and what.
OWN: dict[str, tuple[str, dict[str, Any]]] = {
    "anthropic": (
        "messages",
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "text", "text": "Hm."},
            ],
        },
    ),
    "responses": (
        "input",
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "Hm."}]},
    ),
    "gemini": (
        "contents",
        {"role": "model", "parts": [{"text": "Hm.", "thought": True, "thoughtSignature": "s"}]},
    ),
}
ODD: tuple[Any, ...] = (None, [], [1], {"a": [1]}, 5, "x", "\ud800", 10**400)
Place = tuple[str | int, ...]


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """Where the values are in a body."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*at, key)
        yield from places(one, (*at, key))


def with_value(body: dict[str, Any], at: Place, value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(body)
    holder: Any = changed
    for key in at[:-1]:
        holder = holder[key]
    holder[at[-1]] = value
    return changed


@pytest.mark.parametrize("name", [one.name for one in dialects()])
def test_a_value_of_the_wrong_kind_is_read_or_refused_and_breaks_nothing(name: str) -> None:
    dialect = dialect_named(name)
    model = "claude-sonnet-4-5" if name == "anthropic" else "gpt-4.1"
    body = dialect.encode_request(ChatRequest(model, TALK, tools=(LOOK,), max_tokens=500))
    if name in OWN:
        field, own = OWN[name]
        body[field].insert(1, own)
    read = refused = 0
    for at in list(places(body)):
        for value in ODD:
            odd = with_value(body, at, value)
            try:
                request = WireRequest(dialect, odd)
                assert request.tokens >= 0
                assert dialect.choices(odd) >= 1
                dialect.limits(odd), dialect.continues(odd), dialect.is_stored(odd)
                dialect.with_messages(odd, dialect.messages(odd), has_note=True)
                dialect.with_tool(odd, LOOK), dialect.outgoing(odd)
                read += 1
            except InvalidConversation:
                refused += 1
    assert read > 200
    assert refused > 10
