"""A client's messages in canonical form, one wire message at a time.

    {"role": "user", "content": [tool_result, tool_result, text]}   ─►   tool · tool · user

Only what is new is read: a message means the same whatever comes after it.
"""

from collections.abc import Sequence
from typing import Any

from plimsoll.dialects import decode_anthropic_conversation
from plimsoll.gateway.dropin.inquiry import unmarked
from plimsoll.messages import Message
from plimsoll.providers.catalogue import Dialect


def canonical_of(dialect: Dialect, said: Sequence[dict[str, Any]], index: int) -> list[Message]:
    """What the wire message at this place amounts to, without markers."""
    message = unmarked(said[index])
    if dialect == "openai":
        return [_plain(message)]
    if index and message.get("role") == "user":
        # Results carry the names of their tools, which stand with the calls before them.
        before = unmarked(said[index - 1])
        known = len(decode_anthropic_conversation(None, [before]))
        return decode_anthropic_conversation(None, [before, message])[known:]
    return decode_anthropic_conversation(None, [message])


def _plain(message: Message) -> Message:
    """A message whose content is one plain text, as a text: clients write it both ways."""
    content = message.get("content")
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        only = content[0]
        if only.keys() == {"type", "text"} and only["type"] == "text" and isinstance(only["text"], str):
            return {**message, "content": only["text"]}
    return message
