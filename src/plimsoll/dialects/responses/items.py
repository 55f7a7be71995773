"""The items of a conversation ⇄ canonical messages.

    message (user, system, developer)                       ⇄   that message
    reasoning, message (assistant), calls, server tools     ⇄   one assistant message: one reply
    the output of a call                                    ⇄   a tool message
    anything else                                           ⇄   a user message that names it

The items of one reply form one message, so a reasoning item is kept or dropped together with the call or message
that depends on it. Fields without a canonical equivalent are under the message's key `responses`: for a reply, the
order of its items with ids and reasoning. If the message has changed so that the order no longer fits, its text and
calls are written without ids, because an id refers to a reasoning item that would be missing.

Guarantee: `items_of(message_of(items)) == items`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from plimsoll.dialects.responses.calls import call_from, call_item, is_call
from plimsoll.dialects.responses.compaction_items import is_compaction, message_of_compaction
from plimsoll.dialects.responses.outputs import is_output, output_item, tool_message
from plimsoll.dialects.responses.parts import EXTRAS, content_from, parts_from, shortest, wire_parts
from plimsoll.dialects.responses.signed_thinking import blocks_in
from plimsoll.messages import Message, parts_of, tool_calls
from plimsoll.messages.untyped import object_of

Item = dict[str, Any]
GROUP = "items"  # the key of a wire message with several items
BETWEEN_THOUGHTS = "\n\n"  # between the parts of a reasoning summary
_OF_ANSWERS = frozenset({"reasoning", "mcp_list_tools", "mcp_approval_request", "program"})


def is_message(item: Item) -> bool:
    """Whether an item is a message; the short form has a role and no type."""
    return item.get("type", "message") == "message" and isinstance(item.get("role"), str)


def is_of_answer(item: Item) -> bool:
    """Whether an item is part of a model's reply."""
    if is_message(item):
        return bool(item["role"] == "assistant")
    kind = str(item.get("type"))
    return kind in _OF_ANSWERS or kind.endswith("_call")


def grouped(items: Iterable[Item]) -> list[dict[str, Any]]:
    """Wire messages: the items of one reply grouped, every other item by itself."""
    messages: list[dict[str, Any]] = []
    for item in items:
        if not is_of_answer(item):
            messages.append(item)
        elif messages and GROUP in messages[-1]:
            messages[-1][GROUP].append(item)
        else:
            messages.append({GROUP: [item]})
    return messages


def ungrouped(messages: Iterable[dict[str, Any]]) -> Iterator[Item]:
    """The items of wire messages."""
    for message in messages:
        if GROUP in message:
            yield from message[GROUP]
        else:
            yield message


def message_of(messages: Sequence[dict[str, Any]], index: int) -> Message:
    """The canonical message of one wire message."""
    wire = messages[index]
    if GROUP in wire:
        return assistant_message(wire[GROUP])
    if is_output(wire):
        message = tool_message(wire)
        name = _name_of_call(messages[:index], message["tool_call_id"])
        return {**message, "name": name} if name else message
    if is_compaction(wire):
        return message_of_compaction(wire)
    if is_message(wire):
        return _plain_message(wire)
    return {"role": "user", "content": f"[{wire.get('type') or 'untyped'} item]", EXTRAS: {"whole": wire}}


def items_of(message: Message) -> list[Item]:
    """The items of one canonical message."""
    role, own = message.get("role"), message.get(EXTRAS)
    own = object_of(own)
    if "whole" in own:
        return [dict(own["whole"])]
    if role == "assistant":
        return list(_answer_items(message, own))
    if role in ("tool", "function"):
        return [output_item(message, own)]
    rest = own.get("item", {"type": "message"})
    content = message.get("content")
    if own.get("is_text") and isinstance(content, str):
        return [{**rest, "role": role, "content": content}]
    return [{**rest, "role": role, "content": wire_parts(content, is_output=False)}]


def assistant_message(items: Sequence[Item]) -> Message:
    """The items of one reply as one canonical message."""
    thoughts: list[str] = []
    signed: list[dict[str, Any]] = []  # another provider's thinking, which must be sent back to it
    parts: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    order: list[dict[str, Any]] = []
    for item in items:
        if is_message(item):
            content = item.get("content")
            rest = {key: value for key, value in item.items() if key not in ("role", "content")}
            if isinstance(content, str):
                own_parts = parts_of({"content": content})
                order.append({"of": "text", "parts": len(own_parts), "item": rest})
            else:
                own_parts = parts_from(content)
                order.append({"of": "message", "parts": len(own_parts), "item": rest})
            parts += own_parts
        elif is_call(item):
            call, rest = call_from(item)
            calls.append(call)
            order.append({"of": "call", "item": rest})
        else:
            thoughts += _thoughts(item)
            signed += blocks_in(item)
            order.append({"of": "item", "item": item})
    message: Message = {"role": "assistant"}
    if signed:
        message["thinking_blocks"] = signed
    elif thoughts:
        message["reasoning_content"] = BETWEEN_THOUGHTS.join(thoughts)
    message["content"] = shortest(parts) if parts or not calls else None
    if calls:
        message["tool_calls"] = calls
    return message if items_of(message) == list(items) else {**message, EXTRAS: {"order": order}}


def _answer_items(message: Message, own: dict[str, Any]) -> Iterator[Item]:
    parts, calls = parts_of(message), tool_calls(message)
    refusal = message.get("refusal")
    if not parts and isinstance(refusal, str) and refusal:
        parts = [{"type": "refusal", "refusal": refusal}]
    order = own.get("order")
    if not isinstance(order, list) or not _fits(order, len(parts), len(calls)):
        if written := wire_parts(parts, is_output=True):
            yield {"type": "message", "role": "assistant", "content": written}
        yield from (call_item(call, {}) for call in calls)
        return
    waiting, calling = iter(parts), iter(calls)
    for entry in order:
        if entry["of"] == "item":
            yield entry["item"]
        elif entry["of"] == "call":
            yield call_item(next(calling), entry["item"])
        else:
            written = [next(waiting) for _ in range(entry["parts"])]
            text = "".join(str(part.get("text") or "") for part in written)
            content = text if entry["of"] == "text" else wire_parts(written, is_output=True)
            yield {**entry["item"], "role": "assistant", "content": content}


def _fits(order: Sequence[dict[str, Any]], parts: int, calls: int) -> bool:
    """Whether the stored order still matches the message."""
    counted = sum(entry.get("parts", 0) for entry in order)
    return bool(counted == parts) and sum(entry["of"] == "call" for entry in order) == calls


def _plain_message(item: Item) -> Message:
    content, role = item.get("content"), item["role"]
    message: Message = {"role": role, "content": content_from(content)}
    if items_of(message) == [item]:
        return message
    rest = {key: value for key, value in item.items() if key not in ("role", "content")}
    own: dict[str, Any] = {"item": rest, "is_text": True} if isinstance(content, str) else {"item": rest}
    return {**message, EXTRAS: own}


def _thoughts(item: Item) -> list[str]:
    """The readable text of a reasoning item."""
    if item.get("type") != "reasoning":
        return []
    lists = [part for part in (item.get("summary"), item.get("content")) if isinstance(part, list)]
    texts = [part for parts in lists for part in parts]
    return [str(part["text"]) for part in texts if isinstance(part, dict) and part.get("text")]


def _name_of_call(before: Sequence[dict[str, Any]], call_id: str) -> str:
    """The tool name for an output, from its call in the preceding reply."""
    answer = next((wire[GROUP] for wire in reversed(before) if GROUP in wire), ())
    calls = (call_from(item)[0] for item in answer if is_call(item))
    return next((str(call["function"]["name"]) for call in calls if call["id"] == call_id), "")
