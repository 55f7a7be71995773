"""Another provider's signed thinking, carried by a client of this dialect as a reasoning item.

    thinking_blocks   ⇄   {"type": "reasoning", "summary": […], "encrypted_content": "plimsoll-thinking:[{…}]"}

The client sends the item back with the call that depends on it, and the provider gets its thinking as it signed
it. An upstream of this dialect could not read the item: it does not get it.
"""

import json
from typing import Any

_PREFIX = "plimsoll-thinking:"


def sealed(blocks: list[dict[str, Any]]) -> str:
    """The blocks as the content of a reasoning item."""
    return _PREFIX + json.dumps(blocks, ensure_ascii=False, separators=(",", ":"))


def is_sealed(item: Any) -> bool:
    """Whether a reasoning item carries another provider's thinking."""
    content = item.get("encrypted_content") if isinstance(item, dict) else None
    return isinstance(content, str) and content.startswith(_PREFIX)


def blocks_in(item: dict[str, Any]) -> list[dict[str, Any]]:
    """The blocks in a reasoning item; none where a client has changed them."""
    if not is_sealed(item):
        return []
    try:
        blocks = json.loads(item["encrypted_content"].removeprefix(_PREFIX))
    except (ValueError, RecursionError):
        return []
    return [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
