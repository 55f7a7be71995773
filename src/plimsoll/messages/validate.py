"""Validates a message list: every wire-format rule that it breaks, with the index.

    validate(messages, "openai")     -> [Violation(index=7, code="orphan_result", ...), ...]
    validate(messages, "anthropic")  -> the same rules, and those that Anthropic adds

The list is read in canonical form (OpenAI-chat dicts); for Anthropic the rules
are those that its messages would break once encoded. An empty list is valid.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from plimsoll.messages.calls import call_function, tool_calls
from plimsoll.messages.content import Message
from plimsoll.messages.order import SYSTEM_ROLES
from plimsoll.messages.untyped import object_of

Wire = Literal["openai", "anthropic"]
ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_ANTHROPIC_ID = re.compile(r"[a-zA-Z0-9_-]+")
_ANTHROPIC_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule: where, which, and what was found."""

    index: int
    code: str
    detail: str

    def __str__(self) -> str:
        return f"message {self.index}: {self.detail} ({self.code})"


def validate(messages: Sequence[Message], wire: Wire = "openai") -> list[Violation]:
    """Every violation in order of index; an empty list means that the provider accepts the conversation."""
    rules = _RULES.get(wire)
    if rules is None:
        raise ValueError(f"wire must be 'openai' or 'anthropic', not {wire!r}")
    return sorted(_violations(messages, rules), key=lambda violation: violation.index)


def _violations(messages: Sequence[Message], rules: "_WireRules") -> Iterator[Violation]:
    for index, message in enumerate(messages):
        yield from _shape(index, message)
    readable = [object_of(message) for message in messages]
    yield from _pairs(readable)
    yield from rules.added(readable)


def _shape(index: int, message: Any) -> Iterator[Violation]:
    if not isinstance(message, dict):
        yield Violation(index, "not_a_message", f"expected an object, found {type(message).__name__}")
        return
    role = message.get("role")
    if not isinstance(role, str) or role not in ROLES:
        yield Violation(index, "unknown_role", f"role {role!r} is not one of {', '.join(sorted(ROLES))}")
    yield from _content_shape(index, message)
    calls = message.get("tool_calls")
    if calls is None:
        return
    if role != "assistant":
        yield Violation(index, "calls_outside_assistant", f"a {role} message cannot have tool_calls")
    elif not isinstance(calls, list) or not calls:
        yield Violation(index, "bad_tool_calls", "tool_calls must be a list with at least one call")
    else:
        for call in calls:
            yield from _call_shape(index, call)


def _content_shape(index: int, message: Message) -> Iterator[Violation]:
    content = message.get("content")
    if isinstance(content, str):
        return
    if content is None:
        speaks = message.get("tool_calls") or message.get("function_call") or message.get("refusal")
        if message.get("role") != "assistant":
            yield Violation(index, "no_content", f"a {message.get('role')} message needs content")
        elif not speaks and message.get("audio") is None:
            yield Violation(index, "no_content", "an assistant message needs content or tool calls")
    elif not isinstance(content, list):
        yield Violation(index, "bad_content", f"content is a {type(content).__name__}, not text or parts")
    elif not content:
        yield Violation(index, "no_content", "content is an empty list")
    else:
        for part in content:
            if not isinstance(part, dict) or not isinstance(part.get("type"), str):
                yield Violation(index, "bad_part", "every content part must be an object with a type")
            elif part["type"] == "text" and not isinstance(part.get("text"), str):
                yield Violation(index, "bad_part", "a text part needs its text")


def _call_shape(index: int, call: Any) -> Iterator[Violation]:
    if not isinstance(call, dict) or not isinstance(call.get("id"), str) or not call["id"]:
        yield Violation(index, "call_without_id", "a tool call needs an id")
        return
    function = call_function(call)
    if not isinstance(function.get("name"), str) or not function["name"]:
        yield Violation(index, "call_without_name", f"tool call {call['id']} needs a function name")
    if not isinstance(function.get("arguments"), str):
        yield Violation(index, "bad_arguments", f"tool call {call['id']}: arguments must be a JSON string")


def _pairs(messages: Sequence[Message]) -> Iterator[Violation]:
    """Calls and results: exactly one result directly follows each call."""
    waiting: dict[str, int] = {}
    for index, message in enumerate(messages):
        if message.get("role") == "tool":
            answered = message.get("tool_call_id")
            if not isinstance(answered, str) or waiting.pop(answered, None) is None:
                yield Violation(index, "orphan_result", f"no preceding call has the id {answered!r}")
            continue
        yield from _unanswered(waiting)
        waiting = {}
        for call in tool_calls(message):
            call_id = call.get("id")
            if isinstance(call_id, str) and call_id:
                if call_id in waiting:
                    yield Violation(index, "duplicate_call_id", f"two calls share the id {call_id!r}")
                waiting[call_id] = index
    yield from _unanswered(waiting)


def _unanswered(waiting: dict[str, int]) -> Iterator[Violation]:
    for call_id, index in waiting.items():
        yield Violation(index, "unanswered_call", f"no result for call {call_id!r} follows it")


def _anthropic(messages: Sequence[Message]) -> Iterator[Violation]:
    first = next((i for i, m in enumerate(messages) if m.get("role") not in SYSTEM_ROLES), None)
    if first is not None and messages[first].get("role") != "user":
        yield Violation(first, "opens_with_assistant", "the first message must be a user message")
    for index, message in enumerate(messages):
        if message.get("role") == "user" and message.get("content") in ("", []):
            yield Violation(index, "empty_text", "a user message must not be empty")
        for call in tool_calls(message):
            yield from _anthropic_call(index, call)


def _anthropic_call(index: int, call: dict[str, Any]) -> Iterator[Violation]:
    if not _ANTHROPIC_ID.fullmatch(str(call.get("id"))):
        yield Violation(
            index,
            "bad_call_id",
            f"call id {call.get('id')!r} contains characters other than letters, digits, _ and -",
        )
    name = call_function(call).get("name")
    if not _ANTHROPIC_NAME.fullmatch(str(name)):
        yield Violation(index, "bad_tool_name", f"tool name {name!r} must have 1-128 letters, digits, _ or -")
    arguments = call_function(call).get("arguments")
    try:
        is_object = isinstance(json.loads(arguments or "{}"), dict) if isinstance(arguments, str) else False
    except (ValueError, RecursionError):
        is_object = False
    if not is_object:
        yield Violation(index, "bad_arguments", f"arguments of call {call.get('id')!r} are not a JSON object")


def _nothing_more(_messages: Sequence[Message]) -> Iterator[Violation]:
    return iter(())


@dataclass(frozen=True, slots=True)
class _WireRules:
    """The rules of one wire format, in addition to the common ones."""

    name: Wire
    added: Callable[[Sequence[Message]], Iterator[Violation]]


_RULES = {
    rules.name: rules for rules in (_WireRules("openai", _nothing_more), _WireRules("anthropic", _anthropic))
}
