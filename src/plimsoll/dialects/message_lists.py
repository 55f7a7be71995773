"""Reads and checks the list of messages in a body."""

from typing import Any

from plimsoll.dialects.interfaces import Body, WireMessage
from plimsoll.errors import InvalidConversation
from plimsoll.messages.untyped import list_of


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
        require_part_types(message.get("content"), f"message {index}")
    return messages


def checked_conversation(body: Body) -> list[WireMessage]:
    """The messages of a body with a separate system prompt. Raises `InvalidConversation` like the others."""
    require_part_types(body.get("system"), "the system prompt")
    return checked_messages(body)


def require_part_types(parts: Any, where: str) -> None:
    """Raise `InvalidConversation` if a part, or a part of a tool result, has a type that is not a string.

    Parts are recognised by their type, so all later code may rely on it.
    """
    for part in list_of(parts):
        if not isinstance(part, dict):
            continue
        inner = part.get("content")
        for item in (part, *inner) if isinstance(inner, list) else (part,):
            if isinstance(item, dict) and not isinstance(item.get("type", ""), str | None):
                raise InvalidConversation(f"{where}: the type of a content part must be a string")
