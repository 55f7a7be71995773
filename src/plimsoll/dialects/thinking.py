"""Preserved thinking: which edits of a conversation leave its signed thinking valid.

    system · tools · user · [thinking] assistant · tool · [thinking] assistant
    └──────── bound ───────┘
    └───────────────────── bound ────────────────┘

Some models bind a signed thinking block to everything before it, and reject a
request in which that has changed. Legal edits: appending; moving cache markers;
removing thinking from the start, from the end, or all of it. Any other change
before a block invalidates it: another system prompt or tool, an edited, dropped or
moved message, a thinking block removed from the middle. Unsigned reasoning is not
bound. Routers with OpenAI's wire format pass the same blocks on as
`reasoning_details`, where they are bound in the same way.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from plimsoll.dialects.anthropic.conversation import encode_anthropic_conversation
from plimsoll.dialects.anthropic.tools import encode_tools
from plimsoll.dialects.blocks.assistant import THINKING_TYPES, is_signed
from plimsoll.dialects.request import ChatRequest
from plimsoll.messages import Message, Violation
from plimsoll.messages.untyped import objects_in

# Copies of the thinking, as plain text or in a router's fields.
_SAME_AGAIN = frozenset({"reasoning_content", "reasoning", "reasoning_details"})
_BOUND_FIELDS = _SAME_AGAIN | {"thinking_blocks", "block_order"}


@dataclass(frozen=True, slots=True)
class _Bound:
    """A signed block, and the number of other blocks before it."""

    block: dict[str, Any]
    blocks_before: int


@dataclass(frozen=True, slots=True)
class _Sent:
    """A request as a model sees it: without markers, with signed thinking separated."""

    tools: list[Any]
    system: list[Any]
    blocks: list[tuple[str, Any]]
    thinking: list[_Bound]


def illegal_edits(before: ChatRequest, after: ChatRequest) -> list[Violation]:
    """The thinking in `after` that is bound to changed content of `before`, by message of `after`.

    A block that `before` does not contain is newer and is bound to all of it.
    """
    before, after = _with_blocks(before), _with_blocks(after)
    old, new = _sent(before), _sent(after)
    places = _places([bound.block for bound in old.thinking], [bound.block for bound in new.thinking])
    violations: list[Violation] = []
    whole = True
    for index, message in enumerate(_positions(after.messages)):
        whole = whole and (index == 0 or _follows(places[index - 1], places[index], len(old.thinking)))
        broken = _prefix_change(old, new) or _history_change(old, new, new.thinking[index], places[index])
        if not broken and not whole:
            broken = ("thinking_gap", "thinking before it was taken out or moved")
        if broken:
            code, detail = broken
            text = f"its thinking is bound to the content before it, but {detail}"
            violations.append(Violation(message, code, text))
    return violations


def drop_bound_thinking(messages: Sequence[Message], changed_from: int) -> list[Message]:
    """The conversation without the signed thinking at or after the first changed message.

    All later thinking is removed too, because providers reject gaps. A change of the system prompt or the tools
    counts as a change from 0.
    """
    return [
        message if index < changed_from else without_signed_thinking(message)
        for index, message in enumerate(messages)
    ]


def without_signed_thinking(message: Message) -> Message:
    """The message without its signed thinking; the same object if it has none."""
    if message.get("role") != "assistant" or not (_signed_blocks(message) or _signed_details(message)):
        return message
    kept = {key: value for key, value in message.items() if key not in _BOUND_FIELDS}
    kept |= {key: value for key, value in _unsigned_fields(message).items() if value}
    content = message.get("content")
    if isinstance(content, list):
        rest = [part for part in content if not (_is_thinking(part) and is_signed(part))]
        kept["content"] = rest or (None if message.get("tool_calls") else "")
    return kept


def _unsigned_fields(message: Message) -> dict[str, list[Any]]:
    """The unsigned content of the thinking fields, and the order of the remaining blocks."""
    blocks = [block for block in message.get("thinking_blocks") or [] if not is_signed(block)]
    return {
        "reasoning_details": [detail for detail in _details(message) if not _is_signed_detail(detail)],
        "thinking_blocks": blocks,
        "block_order": [] if blocks else _order_without_thinking(message.get("block_order")),
    }


def _order_without_thinking(order: Any) -> list[str]:
    """The order of content and calls; empty if it is the default order.

    With unsigned thinking left, the order is unknown, because its positions are not recorded.
    """
    places = [kind for kind in order if kind != "thinking"] if isinstance(order, list) else []
    return places if places != sorted(places) else []


def _details(message: Message) -> list[dict[str, Any]]:
    return objects_in(message.get("reasoning_details"))


def _is_signed_detail(detail: dict[str, Any]) -> bool:
    return bool(detail.get("signature") or detail.get("data"))


def _signed_details(message: Message) -> list[dict[str, Any]]:
    return [detail for detail in _details(message) if _is_signed_detail(detail)]


def _with_blocks(request: ChatRequest) -> ChatRequest:
    """The request with its signed details as thinking blocks."""
    return replace(request, messages=tuple(_as_blocks(message) for message in request.messages))


def _as_blocks(message: Message) -> Message:
    signed = _signed_details(message)
    if message.get("role") != "assistant" or not signed or _signed_blocks(message):
        return message
    blocks: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": detail.get("text") or "", "signature": detail["signature"]}
        if detail.get("signature")
        else {"type": "redacted_thinking", "data": detail["data"]}
        for detail in signed
    ]
    return {key: value for key, value in message.items() if key not in _SAME_AGAIN} | {
        "thinking_blocks": blocks
    }


def _is_thinking(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in THINKING_TYPES


def _signed_blocks(message: Message) -> list[dict[str, Any]]:
    """The signed thinking of a message, in its own field and in its content."""
    lists = (message.get("thinking_blocks"), message.get("content"))
    blocks = chain.from_iterable(item for item in lists if isinstance(item, list))
    return [block for block in blocks if _is_thinking(block) and is_signed(block)]


def _positions(messages: Sequence[Message]) -> Iterator[int]:
    """The message of each signed block, in order."""
    for index, message in enumerate(messages):
        if message.get("role") == "assistant":
            yield from (index for _ in _signed_blocks(message))


def _sent(request: ChatRequest) -> _Sent:
    system, messages = encode_anthropic_conversation(request.messages)
    blocks: list[tuple[str, Any]] = []
    thinking: list[_Bound] = []
    for message in messages:
        for block in message["content"]:
            if _is_thinking(block) and is_signed(block):
                thinking.append(_Bound(block, len(blocks)))
            elif not _is_thinking(block):
                blocks.append((message["role"], _unmarked(block)))
    return _Sent(_unmarked(encode_tools(request.tools)), _unmarked(system or []), blocks, thinking)


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unmarked(item) for key, item in value.items() if key != "cache_control"}
    return [_unmarked(item) for item in value] if isinstance(value, list) else value


def _prefix_change(old: _Sent, new: _Sent) -> tuple[str, str] | None:
    if old.tools != new.tools:
        return "prefix_changed", "the tools changed"
    return ("prefix_changed", "the system prompt changed") if old.system != new.system else None


def _history_change(old: _Sent, new: _Sent, bound: _Bound, place: int) -> tuple[str, str] | None:
    """The change before one block; `place` is its position among the old blocks."""
    known = old.thinking[place] if place < len(old.thinking) else None
    reach = known.blocks_before if known else len(old.blocks)
    for index in range(reach):
        if index >= len(new.blocks) or new.blocks[index] != old.blocks[index]:
            return "history_changed", f"content block {index} changed"
    if bound.blocks_before < reach or (known and bound.blocks_before > reach):
        return "history_changed", "it was not there"
    return ("thinking_changed", "it was itself edited") if known and known.block != bound.block else None


def _follows(previous: int, place: int, count: int) -> bool:
    """Whether a block directly follows the previous one, with no old thinking missing between them."""
    return place == previous + 1 or (place == count and previous >= count - 1)


def _places(old: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> list[int]:
    """The position of each new block among the old ones; added blocks come last."""
    seals = [_seal(block) for block in old]
    return [seals.index(_seal(block)) if _seal(block) in seals else len(old) for block in new]


def _seal(block: dict[str, Any]) -> Any:
    return block.get("signature") or block.get("data")
