"""Turn order, and the role that fits between two messages.

Some providers merge two adjacent user messages, or two adjacent assistant
messages; others reject them. Nothing that Plimsoll inserts creates such a pair.
"""

from collections.abc import Sequence

from plimsoll.messages.content import Message

SPEAKERS = frozenset({"user", "assistant"})
SYSTEM_ROLES = frozenset({"system", "developer"})


def leading_system_messages(messages: Sequence[Message]) -> int:
    """How many system messages a conversation starts with."""
    return next(
        (n for n, message in enumerate(messages) if message.get("role") not in SYSTEM_ROLES), len(messages)
    )


def is_same_speaker(before: str | None, after: str | None) -> bool:
    """Whether two adjacent messages are both the user's or both the assistant's."""
    return before == after and before in SPEAKERS


def fitting_role(before: str | None, after: str | None) -> str | None:
    """The role for a message between two others, different from both; None if no role fits."""
    # Anthropic rejects a conversation that starts with the assistant, so a message after
    # the system prompt has the user role if possible.
    order = ("user", "assistant") if before in SYSTEM_ROLES or before is None else ("assistant", "user")
    for role in order:
        if not is_same_speaker(before, role) and not is_same_speaker(role, after):
            return role
    return None
