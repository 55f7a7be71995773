"""Reads and checks the list of messages in a body."""

from typing import Any

from plimsoll.dialects.interfaces import Body, WireMessage
from plimsoll.errors import InvalidConversation


def listed_messages(body: Body, field: str = "messages") -> list[Any]:
    """The list in a field of the body. Raises `InvalidConversation` if it is not a list."""
    messages = body.get(field)
    if not isinstance(messages, list):
        raise InvalidConversation(f"{field} must be a list, not {type(messages).__name__}")
    return messages


def checked_messages(body: Body, start: int = 0) -> list[WireMessage]:
    """The messages of a body from `start` on. Raises `InvalidConversation` if one is malformed."""
    messages = listed_messages(body)[start:]
    for index, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise InvalidConversation(f"message {index}: every message is an object with a role")
    return messages
