"""Cache markers (`cache_control`) on a client's request, in its wire format.

the client set markers     they stay; if a compaction removed the last one, the last message gets one
the client set none        Plimsoll adds them, if the model's provider accepts them
"""

from typing import Any

from plimsoll.caching import MAX_BREAKPOINTS, cache_marker
from plimsoll.messages.untyped import object_of, objects_in

MARKER = "cache_control"
MARKER_BYTES = b'"cache_control"'
_ITEMS = ("content", "tool_calls")
_UNMARKABLE = frozenset({"thinking", "redacted_thinking"})


def unmarked(message: dict[str, Any]) -> dict[str, Any]:
    """A message without its cache markers; the same object if it has none."""
    marked = [
        name
        for name in _ITEMS
        if isinstance(items := message.get(name), list)
        and any(isinstance(item, dict) and MARKER in item for item in items)
    ]
    if not marked and MARKER not in message:
        return message
    plain = {key: value for key, value in message.items() if key != MARKER}
    return plain | {name: [_without_marker(item) for item in message[name]] for name in marked}


def keep_rolling(body: dict[str, Any], ttl: str) -> dict[str, Any]:
    """Keep a client's own markers after a compaction: mark the last message if it had a marker before."""
    messages = body.get("messages") or []
    if MARKER in body or any(_is_marked(message) for message in messages):
        return body
    placed = [block for name in ("tools", "system") for block in blocks(body.get(name)) if MARKER in block]
    if not messages or len(placed) >= MAX_BREAKPOINTS:
        return body
    last = messages[-1]
    return {
        **body,
        "messages": [*messages[:-1], {**last, "content": marked_on_last(blocks(last["content"]), ttl)}],
    }


def marked_on_last(blocks: list[dict[str, Any]], ttl: str) -> list[dict[str, Any]]:
    """The blocks with a marker on the last one that may have one."""
    place = next((n for n in range(len(blocks) - 1, -1, -1) if can_carry(blocks[n])), None)
    if place is not None:
        blocks[place] = {**blocks[place], MARKER: cache_marker(ttl)}
    return blocks


def blocks(content: Any) -> list[dict[str, Any]]:
    """The content as a new list of blocks; a string is one block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return objects_in(content)


def can_carry(block: dict[str, Any]) -> bool:
    """Whether a block may have a marker."""
    kind = block.get("type")
    return kind not in _UNMARKABLE and (kind != "text" or bool(str(block.get("text") or "").strip()))


def _is_marked(message: Any) -> bool:
    content = object_of(message).get("content")
    return any(MARKER in block for block in blocks(content))


def _without_marker(item: Any) -> Any:
    return {key: value for key, value in item.items() if key != MARKER} if isinstance(item, dict) else item
