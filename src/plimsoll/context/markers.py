"""The note and the summary prefix that a compaction adds, and how later compactions recognise them.

    [ system + note ][ first exchange ][ summary ][ tail ]
      └── the note, a separate text block      └── the summary: directly after the head, nowhere else

People paste summaries, quote notes and show them to models, so the text alone proves nothing. Plimsoll recognises its
own summary, in this order, by:

1. its type: a summary that an engine writes, or an archive stores as a node, is an `OwnSummary`; a message that only
   reads like one is a `QuotedSummary`. Both are plain dicts on the wire.
2. its position and the note, if the list is plain JSON: directly after the head, with the exact first sentence, and
   the note in the system prompt.
3. its position and role, if there is no system prompt for the note: the assistant role, or the user role right after
   a tool result. A person can paste neither. The boundaries of such a conversation are chosen so that the summary
   gets one of these positions.
"""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from plimsoll.context.ledger import SECTIONS, is_model_line, parse_sections, render_sections
from plimsoll.messages import SYSTEM_ROLES, Message, leading_system_messages, text_of, texts_of

if TYPE_CHECKING:  # the archive would double the time of `import plimsoll.ContextCompressor`
    from plimsoll.archive import ViewItem

SUMMARY_LABEL = "[CONTEXT COMPACTION]"
_OPENING = (
    f"{SUMMARY_LABEL} Earlier turns were compacted"  # recognises a summary, also one of an earlier wording
)
SUMMARY_PREFIX = (
    f"{_OPENING} into the summary below. It is a record for reference, not a request: what it lists as done is done, "
    "and what to do next is said by the user's newest message."
)
# Follows the prefix of a summary that a model wrote.
MARKS = (
    "Lines that begin with * were written by the summary model; lines that begin with - were added by code, from the "
    "messages themselves."
)
_NOTE_OPENING = "[Note: Some earlier conversation turns have been compacted"
NOTE = (
    f"{_NOTE_OPENING} into a summary that stands among the messages. Build on it and on the current state of the "
    "work instead of starting over.]"
)
_NOTE_BLOCK = re.compile(rf"\s*{re.escape(_NOTE_OPENING)}[^\]]*\]\s*")
_NO_REQUEST = SYSTEM_ROLES | {"assistant", "tool", "function"}  # roles whose messages are not requests
_HEAD = 3  # messages: the system prompt and the first exchange, without the results of its calls


class OwnSummary(dict[str, Any]):
    """A summary message that a compaction wrote."""


class QuotedSummary(dict[str, Any]):
    """A message of the conversation that reads like a summary."""


def is_summary(message: Message) -> bool:
    """Whether a message reads like a summary, regardless of its author."""
    if message.get("role") not in ("user", "assistant") or message.get("tool_calls"):
        return False
    text = text_of(message)
    return text.startswith(_OPENING) and f"## {SECTIONS[0]}" in text


def as_said(message: Message) -> Message:
    """A message as part of the conversation: one that reads like a summary becomes a `QuotedSummary`."""
    return QuotedSummary(message) if is_summary(message) else message


def as_stored(items: "Iterable[ViewItem]") -> list[Message]:
    """The messages of a view; a summary is an `OwnSummary` if the archive stores it as a node."""
    return [_as_node(item.message) if item.node else as_said(item.message) for item in items]


def find_summary(messages: Sequence[Message]) -> int | None:
    """The index of Plimsoll's summary, which is directly after the head."""
    found = [index for index in _after_head(messages) if is_summary(messages[index])]
    own = next((index for index in found if isinstance(messages[index], OwnSummary)), None)
    if own is not None:
        return own
    if messages and _is_system(messages[0]) and not has_note(messages[0]):
        return None
    return next((index for index in found if _is_ours_by_place(messages, index)), None)


def summary_body(message: Message) -> str:
    """The summary itself, without what precedes its headings."""
    text = text_of(message)
    return text[_headings_at(text) :]


def summary_preamble(message: Message) -> str:
    """The text between a summary's prefix and its first heading: the nodes of the lossless engine."""
    text = text_of(message)
    return without_prefix(text[: _headings_at(text)])


def edited_summary(message: Message, text: str) -> Message:
    """A summary with another text after its prefix; text without headings becomes critical context."""
    text = without_prefix(text)
    if f"## {SECTIONS[0]}" not in text:
        text = render_sections(parse_sections(text) or {"Critical Context": text.strip()})
    marks = f" {MARKS}" if any(map(is_model_line, text.splitlines())) else ""
    return OwnSummary({**message, "content": f"{SUMMARY_PREFIX}{marks}\n\n{text}"})


def editable_text(message: Message) -> str:
    """The editable text of a summary: everything except its prefix."""
    return without_prefix(text_of(message))


def without_prefix(text: str) -> str:
    """A summary's text without its prefix, even if the prefix is repeated."""
    rest = text.strip()
    while rest.startswith(SUMMARY_PREFIX):
        rest = rest.removeprefix(SUMMARY_PREFIX).lstrip().removeprefix(MARKS).lstrip()
    return rest


def has_note(message: Message) -> bool:
    """Whether the system prompt contains the note: as a separate block, or at the end of joined text."""
    return any(map(_NOTE_BLOCK.fullmatch, texts_of(message))) or text_of(message).rstrip().endswith(NOTE)


def newest_own_request(messages: Sequence[Message]) -> int | None:
    """The index of the newest user message other than the summary, which every compaction keeps verbatim.

    A message whose role nobody knows counts too: its provider decides what it is.
    """
    summary = find_summary(messages)
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].get("role") not in _NO_REQUEST and index != summary:
            return index
    return None


def can_be_recognised(messages: Sequence[Message], index: int, role: str) -> bool:
    """Whether a summary with this role at this index is recognisable in plain JSON."""
    if index == 0:
        return False
    if _is_system(messages[0]):
        # The first request is never a summary.
        return index > leading_system_messages(messages) or role == "assistant"
    return role == "assistant" or messages[index - 1].get("role") == "tool"


def _headings_at(text: str) -> int:
    """Where the nine headings begin; a node of the lossless engine may have headings of its own before them."""
    first = f"## {SECTIONS[0]}"
    return max(text.rfind(f"\n{first}\n") + 1, text.find(first))


def _as_node(message: Message) -> Message:
    return OwnSummary(message) if is_summary(message) else message


def _after_head(messages: Sequence[Message]) -> Iterable[int]:
    """The possible positions of a summary: after each message of the head and the results of its calls."""
    head = max(_HEAD, leading_system_messages(messages) + 1)
    for index in range(len(messages)):
        yield index
        if index >= head and messages[index].get("role") != "tool":
            return


def _is_ours_by_place(messages: Sequence[Message], index: int) -> bool:
    message = messages[index]
    if isinstance(message, QuotedSummary) or not text_of(message).startswith(SUMMARY_PREFIX):
        return False
    return can_be_recognised(messages, index, str(message.get("role")))


def _is_system(message: Message) -> bool:
    return message.get("role") in SYSTEM_ROLES
