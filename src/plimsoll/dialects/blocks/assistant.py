"""One assistant message ⇄ its content blocks, including thinking and order.

    canonical                                   Anthropic
    thinking_blocks: [signed or redacted]   ⇄   thinking, redacted_thinking
    content: text or parts                  ⇄   text, server tools, …
    tool_calls                              ⇄   tool_use

The default order is thinking, content, calls. If the model interleaved them
differently, the message has `block_order`, the kinds of blocks in their order.
An edit that changes the number of blocks invalidates it. Unsigned thinking is the
canonical `reasoning_content`, as in OpenAI-compatible servers.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from plimsoll.dialects.blocks.arguments import arguments_from, input_of
from plimsoll.dialects.blocks.parts import block_from_part, part_from_block, part_with_extras, with_extras
from plimsoll.dialects.blocks.tool_ids import CallIds
from plimsoll.messages import Message, Part, arguments_text, call_name, parts_of, tool_calls
from plimsoll.messages.untyped import list_of, object_of

THINKING_TYPES = frozenset({"thinking", "redacted_thinking"})
Kind = Literal["thinking", "content", "tool_use"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of an assistant message: a thinking block, a canonical part or a canonical call."""

    kind: Kind
    item: dict[str, Any]


def is_signed(block: dict[str, Any]) -> bool:
    """Whether a thinking block is bound to the content before it; redacted ones always are."""
    return block.get("type") == "redacted_thinking" or bool(block.get("signature"))


def without_index(block: dict[str, Any]) -> dict[str, Any]:
    """A thinking block without its position in a stream, which clients of OpenAI's wire send back."""
    return {key: value for key, value in block.items() if key != "index"}


def thinking_of(message: Message) -> list[dict[str, Any]]:
    """The thinking blocks of a canonical message, including unsigned reasoning."""
    blocks = message.get("thinking_blocks")
    if isinstance(blocks, list) and blocks:
        return [without_index(block) for block in blocks if isinstance(block, dict)]
    reasoning = message.get("reasoning_content")
    if isinstance(reasoning, str) and reasoning:
        return [{"type": "thinking", "thinking": reasoning, "signature": ""}]
    return []


def entries_of(message: Message) -> list[Entry]:
    """The entries of a canonical assistant message, in the model's order."""
    parts = parts_of(message)
    refusal = message.get("refusal")
    if not parts and isinstance(refusal, str):
        parts = [{"type": "text", "text": refusal}]
    entries = [Entry("thinking", block) for block in thinking_of(message)]
    for part in parts:
        if part.get("type") in THINKING_TYPES:
            entries.append(Entry("thinking", part))
        elif (normal := _normal_part(part)) is not None:
            entries.append(Entry("content", normal))
    entries += [Entry("tool_use", call) for call in _calls(message)]
    return _marked(_reordered(entries, message.get("block_order")), message.get("cache_control"))


def blocks_from(entries: Iterable[Entry], ids: CallIds, unsigned_thinking: bool) -> list[dict[str, Any]]:
    """The wire blocks; unsigned thinking only if the receiver accepts it."""
    blocks: list[dict[str, Any]] = []
    for entry in entries:
        if entry.kind == "thinking":
            if unsigned_thinking or is_signed(entry.item):
                blocks.append(dict(entry.item))
        elif entry.kind == "tool_use":
            blocks.append(_tool_use(entry.item, ids))
        elif (block := block_from_part(entry.item)) is not None:
            blocks.append(block)
    return blocks


def entries_from(content: Any) -> list[Entry]:
    """The entries of a wire message's content; a string counts as one block."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    entries: list[Entry] = []
    for block in list_of(blocks):
        kind = object_of(block).get("type")
        if kind in THINKING_TYPES:
            entries.append(Entry("thinking", dict(block)))
        elif kind == "tool_use":
            entries.append(Entry("tool_use", call_from(block)))
        elif (part := part_from_block(block)) is not None:
            entries.append(Entry("content", part))
    return entries


def message_from(entries: Sequence[Entry]) -> Message:
    """The canonical assistant message with these entries."""
    thinking = [entry.item for entry in entries if entry.kind == "thinking"]
    parts = [entry.item for entry in entries if entry.kind == "content"]
    calls = [entry.item for entry in entries if entry.kind == "tool_use"]
    message: Message = {"role": "assistant"}
    if len(thinking) == 1 and thinking_of({"reasoning_content": thinking[0].get("thinking")}) == thinking:
        message["reasoning_content"] = thinking[0]["thinking"]
    elif thinking:
        message["thinking_blocks"] = thinking
    message["content"] = content_from(parts) if parts or not calls else None
    if calls:
        message["tool_calls"] = calls
    order = [entry.kind for entry in entries]
    if order != sorted(order, key=("thinking", "content", "tool_use").index):
        message["block_order"] = order
    return message


def content_from(parts: Sequence[Part]) -> str | list[Part]:
    """Content in its shortest form: a single plain text becomes a string."""
    if not parts:
        return ""
    if len(parts) == 1 and parts[0].keys() == {"type", "text"} and parts[0]["type"] == "text":
        return str(parts[0]["text"])
    return list(parts)


def call_from(block: dict[str, Any]) -> dict[str, Any]:
    """The canonical call for a `tool_use` block."""
    function = {"name": str(block.get("name") or ""), "arguments": arguments_from(block.get("input"))}
    call = {"id": str(block.get("id") or ""), "type": "function", "function": function}
    return part_with_extras(call, block, {"type", "id", "name", "input"})


def _tool_use(call: dict[str, Any], ids: CallIds) -> dict[str, Any]:
    block = {
        "type": "tool_use",
        "id": ids.for_call(str(call.get("id") or "")),
        "name": call_name(call),
        "input": input_of(arguments_text(call)),
    }
    return with_extras(block, call)


def _normal_part(part: Part) -> Part | None:
    if part.get("type") == "gemini":
        return part
    block = block_from_part(part)
    normal = None if block is None else part_from_block(block)
    return {**normal, "gemini": part["gemini"]} if normal and "gemini" in part else normal


def _calls(message: Message) -> list[dict[str, Any]]:
    calls = tool_calls(message)
    legacy = message.get("function_call")
    if not calls and isinstance(legacy, dict):
        calls = [{"id": legacy_call_id(legacy.get("name")), "type": "function", "function": legacy}]
    return calls


def legacy_call_id(name: Any) -> str:
    """The id that links a legacy `function_call` to its `function` message."""
    return f"function_{name or 'call'}"


def _reordered(entries: list[Entry], order: Any) -> list[Entry]:
    if not isinstance(order, list) or Counter(order) != Counter(entry.kind for entry in entries):
        return entries
    waiting = {kind: iter([entry for entry in entries if entry.kind == kind]) for kind in set(order)}
    return [next(waiting[kind]) for kind in order]


def _marked(entries: list[Entry], marker: Any) -> list[Entry]:
    """Move a marker from the message to its last block that may have one."""
    if marker is None:
        return entries
    for index in range(len(entries) - 1, -1, -1):
        entry = entries[index]
        if entry.kind != "thinking":
            if entry.item.get("cache_control") is None:
                entries[index] = Entry(entry.kind, {**entry.item, "cache_control": marker})
            break
    return entries
