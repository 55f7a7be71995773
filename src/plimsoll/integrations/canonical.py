"""Builds canonical messages from the pieces that hosts keep: texts, images, thinking, calls, results."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from plimsoll.dialects.blocks.assistant import content_from
from plimsoll.messages import Message, Part

B = TypeVar("B")

CALL = "call"  # a kind of block, see `with_blocks`


def text_part(text: str) -> Part:
    """A piece of text."""
    return {"type": "text", "text": text}


def image_part(url: str) -> Part:
    """An image by its URL; a `data:` URL contains its bytes."""
    return {"type": "image_url", "image_url": {"url": url}}


def thought(text: str, signature: str) -> dict[str, Any]:
    """Signed thinking. It may depend on everything before it, so a compaction must be able to remove it."""
    return {"type": "thinking", "thinking": text, "signature": signature}


def redacted_thought(data: str) -> dict[str, Any]:
    """Thinking that only the provider can read."""
    return {"type": "redacted_thinking", "data": data}


def message_of(
    role: str,
    parts: Sequence[Part],
    calls: Sequence[Mapping[str, Any]] = (),
    thinking: Sequence[Mapping[str, Any]] = (),
) -> Message:
    """A message with its calls and signed thinking."""
    message: Message = {"role": role, "content": content_from(parts)}
    if thinking:
        message["thinking_blocks"] = list(thinking)
    return {**message, "tool_calls": list(calls)} if calls else message


def is_unchanged_thinking(message: Message, block: Mapping[str, Any] | None) -> bool:
    """Whether a message still has this thinking; None (not signed) always stays."""
    return block is None or block in (message.get("thinking_blocks") or ())


def call_of(call_id: str, name: str, arguments: Any) -> dict[str, Any]:
    """A tool call; arguments that the host stores as text stay byte for byte."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def result_of(call_id: str, parts: Sequence[Part], *, name: str = "", failed: bool = False) -> Message:
    """The result of a call."""
    message: Message = {"role": "tool", "tool_call_id": call_id, "content": content_from(parts)}
    return {**message, **({"name": name} if name else {}), **({"is_error": True} if failed else {})}


def function_tool(name: str, description: str, parameters: Any) -> dict[str, Any]:
    """A tool in OpenAI's function format."""
    function = {"name": name, "description": description, "parameters": parameters or {"type": "object"}}
    return {"type": "function", "function": function}


def with_blocks(before: Sequence[B], kind_of: Callable[[B], str], new: Mapping[str, Sequence[B]]) -> list[B]:
    """The blocks of a host's message with those of some kinds replaced, each at the position of an old one.

    Blocks of other kinds stay. Additional blocks follow the last one of their kind, or come before the calls.
    """
    left = {kind: list(blocks) for kind, blocks in new.items()}
    last = {kind_of(block): place for place, block in enumerate(before)}
    result: list[B] = []
    for place, block in enumerate(before):
        kind = kind_of(block)
        if kind not in left:
            result.append(block)
            continue
        count = len(left[kind]) if place == last[kind] else 1
        result += left[kind][:count]
        del left[kind][:count]
    added = [block for blocks in left.values() for block in blocks]
    at = next((n for n, block in enumerate(result) if kind_of(block) == CALL), len(result))
    return [*result[:at], *added, *result[at:]]
