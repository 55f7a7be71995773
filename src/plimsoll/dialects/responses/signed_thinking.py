"""Stores another provider's signed thinking in a reasoning item of the client's history.

    thinking_blocks   ⇄   {"type": "reasoning", "summary": […], "encrypted_content": "plimsoll-thinking:[{…}]"}

The client sends the item back with the call that depends on it, and the provider gets its signed thinking unchanged.
An upstream of this dialect cannot read the item, so it is not sent there.
"""

import json
from typing import Any

from plimsoll.messages.untyped import object_of, objects_in

_PREFIX = "plimsoll-thinking:"


def encoded_thinking(blocks: list[dict[str, Any]]) -> str:
    """The blocks as the content of a reasoning item."""
    return _PREFIX + json.dumps(blocks, ensure_ascii=False, separators=(",", ":"))


def is_encoded_thinking(item: Any) -> bool:
    """Whether a reasoning item contains another provider's thinking."""
    content = object_of(item).get("encrypted_content")
    return isinstance(content, str) and content.startswith(_PREFIX)


def blocks_in(item: dict[str, Any]) -> list[dict[str, Any]]:
    """The blocks in a reasoning item; empty if a client has changed them."""
    if not is_encoded_thinking(item):
        return []
    try:
        blocks = json.loads(item["encrypted_content"].removeprefix(_PREFIX))
    except (ValueError, RecursionError):
        return []
    return objects_in(blocks)
