"""The gate: conditions that a compacted conversation must satisfy before it replaces the original.

    valid on the wire · strictly smaller · the newest request verbatim · at most one summary

A refusal is a sentence with the reason. A refused conversation never reaches the model.
"""

from collections.abc import Sequence

from plimsoll.context.markers import find_summary, is_summary, newest_own_request
from plimsoll.messages import Message, Wire, validate
from plimsoll.models import estimate_messages_tokens_rough

WIRES: tuple[Wire, ...] = ("openai", "anthropic")


def refusal(
    before: Sequence[Message], tokens_before: int, after: Sequence[Message], wire: Wire = "openai"
) -> str:
    """Why `after` may not replace `before`, which has `tokens_before` tokens; empty if it may."""
    tokens_after = estimate_messages_tokens_rough(after)
    if tokens_after >= tokens_before:
        return (
            f"the compacted conversation would not be smaller ({tokens_before:,} → {tokens_after:,} tokens)"
        )
    return _loss(before, after) or _fault(before, after, wire)


def edit_refusal(before: Sequence[Message], after: Sequence[Message]) -> str:
    """Why a person's edit may not replace `before`; empty if it may. Either provider may be asked next."""
    return _loss(before, after) or next(
        (reason for wire in WIRES if (reason := _fault(before, after, wire))), ""
    )


def _loss(before: Sequence[Message], after: Sequence[Message]) -> str:
    newest = newest_own_request(before)
    if newest is not None and before[newest] not in after:
        return "the newest request would be lost"
    return ""


def _fault(before: Sequence[Message], after: Sequence[Message], wire: Wire) -> str:
    # A user may have quoted a summary; only Plimsoll's own must be unique.
    quoted = sum(map(is_summary, before)) - (find_summary(before) is not None)
    if sum(map(is_summary, after)) > 1 + quoted:
        return "there would be two summaries"
    broken = validate(after, wire)
    if broken and len(broken) > len(validate(before, wire)):
        return f"the result would be invalid: {broken[0].detail} ({broken[0].code})"
    return ""
