"""The two fixed texts that a compaction leaves in a conversation, and how they are found again.

They are found by their words alone, because providers refuse unknown keys and a
conversation may come back from any store.
"""

from collections.abc import Sequence

from plimsoll.context.ledger import SECTIONS
from plimsoll.messages import Message, text_of

SUMMARY_PREFIX = (
    "[CONTEXT COMPACTION] Earlier turns were compacted into the summary below. It is a record for reference, not a "
    "request: what it lists as done is done, and what to do next is said by the user's newest message."
)
NOTE = (
    "[Note: Some earlier conversation turns have been compacted into a summary that stands among the messages. "
    "Build on it and on the current state of the work instead of starting over.]"
)
_OPENING = "[CONTEXT COMPACTION] Earlier turns were compacted"
_NOTE_OPENING = "[Note: Some earlier conversation turns have been compacted"


def is_summary(message: Message) -> bool:
    """Whether a message reads like a summary that a compaction wrote."""
    if message.get("role") not in ("user", "assistant") or message.get("tool_calls"):
        return False
    text = text_of(message)
    return text.startswith(_OPENING) and f"## {SECTIONS[0]}" in text


def find_summary(messages: Sequence[Message]) -> int | None:
    """The place of the earlier summary: right behind the head, nowhere else.

    A person may quote a summary later in the conversation; that is a message like any other.
    """
    for index, message in enumerate(messages):
        if is_summary(message):
            return index
        if index >= 3 and message.get("role") != "tool":
            return None
    return None


def summary_body(message: Message) -> str:
    """The summary itself, without the sentence before it."""
    _, _, body = text_of(message).partition(f"## {SECTIONS[0]}")
    return f"## {SECTIONS[0]}{body}"


def has_note(message: Message) -> bool:
    """Whether the system prompt already carries the note."""
    return _NOTE_OPENING in text_of(message)


def newest_own_request(messages: Sequence[Message]) -> int | None:
    """The newest user message that is not the summary: what every compaction keeps word for word."""
    summary = find_summary(messages)
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].get("role") == "user" and index != summary:
            return index
    return None
