"""Removes the oldest images when a request has too many bytes. Bytes and tokens have separate budgets."""

from collections.abc import Sequence

from plimsoll.messages import MEDIA_TYPES, Message, media_of, original_handle


def without_oldest_images(messages: Sequence[Message], share: float = 0.5) -> list[Message] | None:
    """The list with the older half of its images and files replaced by one line each; None if it has none.

    The newest message keeps its images while any other message has some.
    """
    holders = [index for index, message in enumerate(messages) if media_of(message)]
    if not holders:
        return None
    older = [index for index in holders if index != len(messages) - 1] or holders
    leaving = set(older[: max(1, int(len(older) * share))])
    return [_named(message) if index in leaving else message for index, message in enumerate(messages)]


def _named(message: Message) -> Message:
    handle = original_handle(message)
    parts = [
        {"type": "text", "text": f"[{part['type']} left out; full content under handle {handle}]"}
        if isinstance(part, dict) and part.get("type") in MEDIA_TYPES
        else part
        for part in message["content"]
    ]
    return {**message, "content": parts}
