"""What the model sees of a conversation after a compaction, in the client's wire format.

    archive    1' 2 3 [node: 4–8] 9 │ 10 11 …         items of the view, each with its position in the log
    view       0 · 1 · {summary} · 5 │ 6 7 …          positions in the client's list, or new messages

`context/coverage.py` decides which requests a view may serve.

The stored view names handles. The request names them, and the recall tool, only if the client's model has that
tool (`gateway.recall`).

A message that the view keeps unchanged is sent as the client sent it, byte for byte, with all its fields; only new
messages are written here. So the upstream sees the same prefix each time although the client's list grows, and the
client keeps its whole history.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from plimsoll.archive import ViewItem
from plimsoll.context.coverage import is_shared, serves
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
    sent: tuple[Message, ...]  # the same, as the client's model sees them
    tokens: int  # of `messages`, estimated
    through: int  # canonical messages of the log that it covers
    wire: int  # messages of the client's list that it covers
    segments: tuple[Segment, ...]
    whole: frozenset[int] = frozenset()  # positions of covered log messages that it keeps unchanged
    made_at: int = 0  # messages of the log when it was made; 0 if its log continued differently
    # Messages of the log up to the newest reply at that time, which the summary takes into account.
    answered: int = 0

    @property
    def has_note(self) -> bool:
        """Whether the system prompt has the compaction note."""
        return any(map(has_note, self.lead))

    def serves(self, log: Sequence[Message]) -> bool:
        """Whether a request with exactly these messages may be sent with this view."""
        return serves(self, log)

    def shared_up_to(self, last: int) -> "CompactedView | None":
        """This view for a log that shares only the first `last` messages with the one that it was made for.

        None if its summary takes later messages into account.
        """
        if not is_shared(self, last):
            return None
        return self if self.made_at <= last else replace(self, made_at=0)

    def messages_for(self, messages: Sequence[dict[str, Any]], dialect: Dialect) -> list[dict[str, Any]]:
        """The messages to send, built from those that the client sent."""
        opening = [messages[segment] if isinstance(segment, int) else segment for segment in self.segments]
        whole = [*opening, *messages[self.wire :]]
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
    """A view of these items; `ends` counts the canonical messages up to each wire message, `last` is their number.

    `lead` is the number of system messages at the start of the log, `made_at` the number of messages after them when
    the view was made, `answered` the number up to the newest reply. `recalls`: the reader has the recall tool.
    """
    spoken = [item for item in items if item.node or item.sequence > lead]
    places = [KeptMessage(_readable(item, recalls), _place(item, lead)) for item in spoken]
    segments = list(wire_segments(places, ends, dialect, model))
    wire = bisect_right(ends, last)
    # Unchanged messages at the end become part of the view, so that a fork there keeps it.
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


def _place(item: ViewItem, lead: int) -> int | None:
    """The position after the system prompt where the log has this item's message unchanged, or None."""
    return None if item.node or item.shortened else item.sequence - lead - 1


def _readable(item: ViewItem, recalls: bool) -> Message:
    """A message as its reader sees it: without handles if there is no recall tool."""
    if recalls:
        return _with_line(item.message) if item.node else item.message
    if item.node:
        return without_handle(item.message, is_own=True)
    return without_media_handles(without_handle(item.message)) if item.shortened else item.message


def _with_line(summary: Message) -> Message:
    return with_text(summary, f"{text_of(summary)}\n\n{SUMMARY_LINE}")
