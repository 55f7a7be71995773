"""What the model sees of a conversation after a compaction, in the words of the client's wire.

    archive    1' 2 3 [node: 4–8] 9 │ 10 11 …         items of the view, each knowing its place in the log
    view       0 · 1 · {summary} · 5 │ 6 7 …          places in the client's list, or messages of our own

A view serves a request only where everything that the request asks for is in it word for word, at its end: a
client that goes back to an earlier message would otherwise be answered about the summary.

    view       0 · 1 · {summary of 2–5} │        6 7 8
    request    0   1   2  3  4  5                         its newest message is inside the summary: another view

The stored view names handles. What is sent names them, and the recall tool, only where the client's model has that
tool (`gateway.recall`).

A message that the view holds unchanged is sent as the client has it, byte for byte, whatever fields it has;
only what the compaction wrote is written here. So the upstream sees the same beginning each time although
the client's list grows, and the client keeps the whole.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from plimsoll.archive import ViewItem
from plimsoll.context.markers import as_stored, has_note
from plimsoll.context.media_budget import without_media_handles
from plimsoll.dialects import Dialect
from plimsoll.dialects.rewriting import KeptMessage, Segment, wire_segments
from plimsoll.gateway.dropin.recall_definition import SUMMARY_LINE
from plimsoll.messages import Message, text_of, with_text, without_handle


@dataclass(frozen=True, slots=True)
class CompactedView:
    """A view that differs from the log. Everything after `wire` and `through` follows unchanged."""

    number: int  # of the view in the archive
    lead: tuple[Message, ...]
    messages: tuple[Message, ...]  # canonical, after the system prompt, as they are stored
    sent: tuple[Message, ...]  # the same as the client's model sees them
    tokens: int  # of `messages`, estimated
    through: int  # canonical messages of the log that it covers
    wire: int  # messages of the client's list that it covers
    segments: tuple[Segment, ...]
    whole: frozenset[int] = frozenset()  # places of the log, of those covered, that are in it unchanged
    made_at: int = 0  # messages of the log when it was made; 0 where its log went on differently
    # Messages of the log up to the newest reply at that time: what its summary takes into account.
    answered: int = 0

    @property
    def has_note(self) -> bool:
        """Whether the system prompt carries the note of a compaction."""
        return any(map(has_note, self.lead))

    def serves(self, log: Sequence[Message]) -> bool:
        """Whether a request with exactly these messages may be sent with it."""
        if len(log) < self.through:
            return False
        asked = unanswered_from(log, len(log))
        if 0 < self.made_at <= len(log) and unanswered_from(log, self.made_at) == asked:
            return True  # made for these very messages; of those, only results that cannot fit are shortened
        request = next((n for n in range(len(log) - 1, -1, -1) if log[n].get("role") == "user"), None)
        is_whole = request is None or request >= self.through or request in self.whole
        return self.through <= asked and is_whole

    def shared_up_to(self, last: int) -> "CompactedView | None":
        """The same for a log of which only the first `last` messages are the ones that it was made for.

        None where its summary takes later messages into account.
        """
        if last < max(self.through, self.answered):
            return None
        return self if self.made_at <= last else replace(self, made_at=0)

    def messages_for(self, said: Sequence[dict[str, Any]], dialect: Dialect) -> list[dict[str, Any]]:
        """The messages to send, made from those that the client sent."""
        opening = [said[segment] if isinstance(segment, int) else segment for segment in self.segments]
        whole = [*opening, *said[self.wire :]]
        return dialect.settled(whole, len(opening))


def make_compacted_view(
    items: Sequence[ViewItem],
    ends: Sequence[int],
    lead: int,
    last: int,
    *,
    number: int,
    dialect: Dialect,
    model: str,
    made_at: int = 0,
    answered: int = 0,
    recalls: bool = False,
) -> CompactedView:
    """The view of these items; `ends` are the canonical messages up to each wire message, `last` is their number.

    `lead` is how many messages at the start of the log are the system prompt, `made_at` how many messages after
    them the log had when the view was made, `answered` how many it had up to the newest reply. `recalls`: its reader
    has the recall tool.
    """
    spoken = [item for item in items if item.node or item.sequence > lead]
    places = [KeptMessage(_readable(item, recalls), _place(item, lead)) for item in spoken]
    segments = list(wire_segments(places, ends, dialect, model))
    wire = bisect_right(ends, last)
    # What follows unchanged at the end belongs to the view by itself, so that a fork there keeps it.
    while segments and segments[-1] == wire - 1:
        segments.pop()
        wire -= 1
    through = ends[wire - 1] if wire else 0
    kept = spoken[: len(spoken) - (last - through)]
    return CompactedView(
        number=number,
        lead=tuple(item.message for item in items if not item.node and item.sequence <= lead),
        messages=tuple(as_stored(kept)),
        sent=tuple(_readable(item, recalls) for item in kept),
        tokens=sum(item.tokens for item in kept),
        through=through,
        wire=wire,
        segments=tuple(segments),
        whole=frozenset(place for item in kept if (place := _place(item, lead)) is not None),
        made_at=made_at,
        answered=answered,
    )


def unanswered_from(log: Sequence[Message], end: int) -> int:
    """The first of the messages, up to `end`, that wait for an answer; a reply that is to be continued is one."""
    first = end
    while first and log[first - 1].get("role") != "assistant":
        first -= 1
    return first if first < end else max(0, end - 1)


def _place(item: ViewItem, lead: int) -> int | None:
    """Where the log after its system prompt has the message of an item unchanged."""
    return None if item.node or item.shortened else item.sequence - lead - 1


def _readable(item: ViewItem, recalls: bool) -> Message:
    """A message in the words that its reader can follow."""
    if recalls:
        return _with_line(item.message) if item.node else item.message
    if item.node:
        return without_handle(item.message, is_own=True)
    return without_media_handles(without_handle(item.message)) if item.shortened else item.message


def _with_line(summary: Message) -> Message:
    return with_text(summary, f"{text_of(summary)}\n\n{SUMMARY_LINE}")
