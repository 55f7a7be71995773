"""Handles: short names for content, made from the content itself.

The same content always has the same handle, on every machine and after every
restart, so a stub written today finds its original in any copy of the conversation.
"""

import hashlib
import json

from plimsoll.messages.content import Message

HANDLE_DIGITS = 10


def handle_of(message: Message) -> str:
    """The handle of a message's content, such as `h:3f2a9c1b7d`."""
    content = message.get("content")
    text = content if isinstance(content, str) else json.dumps(content, sort_keys=True, default=str)
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=HANDLE_DIGITS // 2)
    return f"h:{digest.hexdigest()}"
