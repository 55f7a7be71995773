"""Values of the wrong kind anywhere in a request: it is read or refused, and never breaks the reader."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from plimsoll.dialects import ChatRequest, dialect_named, dialects
from plimsoll.errors import InvalidConversation
from plimsoll.models import card_for
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
# Fields beside the messages that an encoder for another wire reads.
FIELDS: dict[str, dict[str, Any]] = {
    "openai": {
        "stop": ["x"],
        "temperature": 0.5,
        "top_p": 0.5,
        "tool_choice": {"type": "function", "function": {"name": "look"}},
        "max_tokens": 100,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "a", "schema": {"type": "object"}},
        },
    },
    "anthropic": {
        "stop_sequences": ["x"],
        "temperature": 0.5,
        "tool_choice": {"type": "tool", "name": "look"},
        "output_config": {"effort": "low"},
    },
    "responses": {
        "temperature": 0.5,
        "tool_choice": {"type": "function", "name": "look"},
        "reasoning": {"effort": "low"},
        "text": {"format": {"type": "json_schema", "name": "a", "schema": {}}},
    },
    "gemini": {
        "generationConfig": {"temperature": 0.5, "stopSequences": ["x"], "maxOutputTokens": 50},
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["look"]}},
    },
}
MODELS = {"anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-pro"}
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


def body_of(name: str) -> dict[str, Any]:
    """A request of this dialect with every kind of field."""
    dialect, model = dialect_named(name), MODELS.get(name, "gpt-4.1")
    body = dialect.encode_request(ChatRequest(model, TALK, tools=(LOOK,), max_tokens=500)) | FIELDS[name]
    if name in OWN:
        field, own = OWN[name]
        body[field].insert(1, own)
    return body


@pytest.mark.parametrize("name", [one.name for one in dialects()])
def test_a_value_of_the_wrong_kind_is_translated_or_refused_and_breaks_no_encoder(name: str) -> None:
    client, body = dialect_named(name), body_of(name)
    path = client.url("", MODELS.get(name, "gpt-4.1"), False)
    written = refused = 0
    for at in list(places(body)):
        for value in ODD[2:6]:
            try:
                request = client.decode_request(with_value(body, at, value), path)
                for target in dialects():
                    target.encode_request(target.adapted(request), card_for(request.model))
                written += 1
            except InvalidConversation:
                refused += 1
    assert written > 80
    assert refused > 10
