"""Makes a conversation portable, so that another agent can continue it.

    system prompt of the agent      removed: the next agent has its own
    thinking, signatures, item ids  removed: only the provider that issued them accepts them
    calls and results               in pairs, with ids and names that every provider accepts
    empty messages                  removed
    documents the target lacks      described: files stored at another provider, and all where none is possible

An unchanged conversation that stays with its agent keeps everything.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from plimsoll.dialects.blocks.tool_ids import CallIds
from plimsoll.messages import (
    SYSTEM_ROLES,
    Message,
    Part,
    call_name,
    media_of,
    parts_of,
    repair,
    tool_calls,
)
from plimsoll.models.media_facts import facts_of

_PRIVATE = frozenset(
    {"thinking_blocks", "block_order", "reasoning_content", "reasoning", "reasoning_details"}
    | {"responses", "gemini", "anthropic", "cache_control", "extra_content"}
)
_ILLEGAL_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]+")
LONGEST_NAME = 64  # OpenAI's limit for tool names; others accept more
_READABLE_ANYWHERE = ("data:", "http://", "https://")
_GOOGLE = "https://generativelanguage.googleapis.com/"  # serves a stored file only to its owner
OPENING = "[The conversation begins with the assistant's message.]"


def split_system_prompt(messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    """The system messages at the start, and the rest."""
    start = next((n for n, m in enumerate(messages) if m.get("role") not in SYSTEM_ROLES), len(messages))
    return list(messages[:start]), list(messages[start:])


def without_private_fields(messages: Sequence[Message]) -> list[Message]:
    """The messages without provider-specific fields."""
    return [_public(message) for message in messages]


def without_files(messages: Sequence[Message], *, stored_only: bool) -> tuple[list[Message], int]:
    """The messages with a description in place of each file, and the number of files.

    `stored_only`: only of files that a provider stores, which the messages name by an id or an address of its own.
    """
    left_out = 0
    changed = []
    for message in messages:
        if any(_is_leaving(part, stored_only) for part in media_of(message)):
            parts = parts_of(message)
            kept = [_described(part) if _is_leaving(part, stored_only) else part for part in parts]
            left_out += sum(_is_leaving(part, stored_only) for part in parts)
            message = {**message, "content": kept}
        changed.append(message)
    return changed, left_out


def _is_leaving(part: Part, stored_only: bool) -> bool:
    kind = part.get("type")
    file = part.get(kind) if kind in ("file", "image_url") else None
    if not isinstance(file, dict):
        return False
    if kind == "file" and not stored_only:
        return True
    place = next((file[key] for key in ("file_data", "file_url", "url") if file.get(key)), None)
    return not isinstance(place, str) or not place.startswith(_READABLE_ANYWHERE) or place.startswith(_GOOGLE)


def _described(part: Part) -> Part:
    facts = facts_of(part)
    described = f": {facts.described}" if facts.described else ""
    return {"type": "text", "text": f"[{facts.kind} left out{described}]"}


def made_valid(messages: Sequence[Message]) -> list[Message]:
    """The messages with paired calls and results, legal ids and names, no empty messages, and the user first."""
    system, kept = split_system_prompt(messages)
    kept = [message for message in kept if _says_something(message)]
    whole = _with_legal_calls(repair(kept))
    if whole and whole[0].get("role") == "assistant":
        whole = [{"role": "user", "content": OPENING}, *whole]
    return [*system, *whole]


def legal_name(name: str) -> str:
    """A tool name in the characters that every provider accepts."""
    return _ILLEGAL_IN_NAMES.sub("_", name)[:LONGEST_NAME] or "tool"


def _public(message: Message) -> Message:
    message = {key: value for key, value in message.items() if key not in _PRIVATE}
    if isinstance(message.get("content"), list):
        message["content"] = [_public_part(part) for part in parts_of(message)]
    if calls := tool_calls(message):
        message["tool_calls"] = [
            {key: value for key, value in call.items() if key not in _PRIVATE} for call in calls
        ]
    return message


def _public_part(part: Part) -> Part:
    kind = part.get("type")
    if kind in _PRIVATE:  # a provider-specific part, such as code that Google ran
        return {"type": "text", "text": json.dumps(part.get(kind), ensure_ascii=False)}
    return {key: value for key, value in part.items() if key not in _PRIVATE}


def _says_something(message: Message) -> bool:
    content: Any = message.get("content")
    if message.get("role") == "tool" or tool_calls(message) or message.get("refusal"):
        return True
    return bool(content.strip()) if isinstance(content, str) else bool(content)


def _with_legal_calls(messages: Sequence[Message]) -> list[Message]:
    """Give every call a unique id, and every result the id of its call."""
    ids = CallIds()
    legal: list[Message] = []
    for message in messages:
        if message.get("role") == "tool":
            answered = ids.for_result(str(message.get("tool_call_id") or ""))
            named = {"name": legal_name(str(message["name"]))} if message.get("name") else {}
            message = {**message, "tool_call_id": answered, **named}
        elif calls := tool_calls(message):
            message = {**message, "tool_calls": [_legal_call(call, ids) for call in calls]}
        legal.append(message)
    return legal


def _legal_call(call: dict[str, Any], ids: CallIds) -> dict[str, Any]:
    function = {**call.get("function", {}), "name": legal_name(call_name(call))}
    return {**call, "id": ids.for_call(str(call.get("id") or "")), "function": function}
