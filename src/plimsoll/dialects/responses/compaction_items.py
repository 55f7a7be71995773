"""Compaction items, which replace the compacted turns in a client's history.

    {"type": "compaction", "encrypted_content": "[CONTEXT COMPACTION] Earlier turns were compacted …"}     ours
    {"type": "compaction", "encrypted_content": "gAAAAAB…"}                                     a provider's

Plimsoll's items contain readable text and become user messages before they go upstream, so any provider can read
them. A provider's item is encrypted: it goes back to that provider unchanged, and other dialects get a note in its
place.
"""

from typing import Any

from plimsoll.context.markers import SUMMARY_LABEL
from plimsoll.messages import Message

Item = dict[str, Any]
TRIGGER = "compaction_trigger"
ENCRYPTED_PREFIX = "gAAAA"  # starts everything that OpenAI has encrypted
_TYPES = ("compaction", "compaction_summary", "context_compaction")
_OPAQUE = (
    "[Earlier turns were compacted by the provider. Their summary is encrypted and cannot be read here.]"
)


def is_compaction(item: Item) -> bool:
    """Whether an item replaces compacted turns."""
    return item.get("type") in _TYPES


def compaction_item(text: str, item_id: str) -> Item:
    """The item for a summary."""
    summary = text if text.startswith(SUMMARY_LABEL) else f"{SUMMARY_LABEL} {text}"
    return {"type": "compaction", "id": item_id, "encrypted_content": summary}


def message_of_compaction(item: Item) -> Message:
    """The canonical message of a compaction item."""
    if is_readable(item):
        return {"role": "user", "content": item["encrypted_content"]}
    return {"role": "user", "content": _OPAQUE, "responses": {"whole": item}}


def is_readable(item: Any) -> bool:
    """Whether an item is a compaction item with readable text."""
    if not isinstance(item, dict) or not is_compaction(item):
        return False
    content = item.get("encrypted_content")
    return isinstance(content, str) and content.startswith(SUMMARY_LABEL)


def as_message(item: Item) -> Item:
    """A readable item as a wire message."""
    text = {"type": "input_text", "text": item["encrypted_content"]}
    return {"type": "message", "role": "user", "content": [text]}


def asks_for_compaction(body: dict[str, Any]) -> bool:
    """Whether the last input item asks for a compaction."""
    items = body.get("input")
    last = items[-1] if isinstance(items, list) and items else None
    return isinstance(last, dict) and last.get("type") == TRIGGER
