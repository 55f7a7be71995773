"""Turn order, and the role that fits between two messages.

Two user messages in a row, or two assistant messages, are merged by some
providers and refused by others, so nothing that Plimsoll inserts creates them.
"""

SPEAKERS = frozenset({"user", "assistant"})
SYSTEM_ROLES = frozenset({"system", "developer"})


def meets_itself(before: str | None, after: str | None) -> bool:
    """Whether two neighbours are both the user or both the assistant."""
    return before == after and before in SPEAKERS


def fitting_role(before: str | None, after: str | None) -> str | None:
    """The role for a message between two others: neither neighbour may have it; None where both are taken."""
    # A conversation that opens with the assistant is refused on Anthropic's wire, so a
    # message behind the system prompt speaks as the user where it can.
    order = ("user", "assistant") if before in SYSTEM_ROLES or before is None else ("assistant", "user")
    for role in order:
        if not meets_itself(before, role) and not meets_itself(role, after):
            return role
    return None
