"""Phase 4 of 4: assemble the compacted conversation.

    system + note │ first exchange │ summary │ newest request, if it was in the middle │ tail, unchanged

The note is a separate text block after the system prompt and is written once, so the bytes of
the prompt before it, and its cache entry, survive every compaction.
"""

from collections.abc import Sequence

from plimsoll.context.compressor.boundaries import Boundaries
from plimsoll.context.ledger import is_model_line
from plimsoll.context.markers import MARKS, NOTE, SUMMARY_PREFIX, OwnSummary, has_note
from plimsoll.messages import SYSTEM_ROLES, Message, is_whole, repair, with_block


def assemble(messages: Sequence[Message], bounds: Boundaries, summary: str) -> list[Message]:
    """The compacted list; without a summary, the parts unchanged."""
    head = list(messages[: bounds.head_end])
    after = [*messages[bounds.kept.start : bounds.kept.stop], *messages[bounds.tail_start :]]
    if summary:
        head = [with_note(message) if index == 0 else message for index, message in enumerate(head)]
        head.append(summary_message(summary, bounds.summary_role))
    joined = [*head, *after]
    return joined if is_whole(joined) else repair(joined)


def with_note(message: Message) -> Message:
    """The system prompt with the note appended once; any other message unchanged."""
    if message.get("role") not in SYSTEM_ROLES or has_note(message):
        return message
    return with_block(message, NOTE)


def summary_message(summary: str, role: str) -> Message:
    """The message that replaces everything between head and tail."""
    marks = f" {MARKS}" if any(map(is_model_line, summary.splitlines())) else ""
    return OwnSummary(role=role, content=f"{SUMMARY_PREFIX}{marks}\n\n{summary}")
