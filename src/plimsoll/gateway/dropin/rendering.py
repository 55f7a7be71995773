"""Renders a request as the provider's cache sees it; the next request of a conversation only adds what is new.

    system prompt, tools │ written by a compaction │ messages of the log
    rendered again if they change ─────────────────┘ each one when it is first sent

Hashing and counting a long history for each request would take longer than everything else. A request of an unknown
conversation is rendered whole.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from plimsoll.caching import BlockChain
from plimsoll.dialects import Dialect
from plimsoll.dialects.interfaces import Rendered
from plimsoll.gateway.dropin.compacted_view import CompactedView
from plimsoll.messages import Message


@dataclass(frozen=True, slots=True)
class RenderedPrefix:
    """The part of a conversation's requests that stays the same, and the chain of blocks that grows."""

    key: bytes  # of system prompt and tools
    view: CompactedView | None
    messages: tuple[Message, ...]  # the same objects each time, which identify what is rendered
    owners: tuple[int, ...]
    chain: BlockChain

    def fork(self) -> "RenderedPrefix":
        """A copy for a conversation that begins the same way and continues differently."""
        return replace(self, chain=self.chain.fork())

    def rendered(self, log: Sequence[Message], ends: Sequence[int], wire: int) -> Rendered:
        """A request with the client's first `wire` messages; `log` and `ends` are those of its conversation."""
        through, covered, opening = _place(self.view)
        messages = [*self.messages, *log[through : ends[wire - 1] if wire else 0]]

        def owner(place: int) -> int:
            if place < len(self.owners):
                return self.owners[place]
            return opening + bisect_right(ends, through + place - len(self.owners)) - covered

        return Rendered(self.chain.prompt(messages), messages, owner)


def rendered_prefix_of(
    dialect: Dialect,
    body: dict[str, Any],
    lead: Sequence[Message],
    key: bytes,
    view: CompactedView | None,
) -> RenderedPrefix:
    """The rendered prefix of a conversation's requests, from one of them as it is sent."""
    opening = _place(view)[2]
    owners, messages = _read(dialect, dialect.messages(body), opening)
    return RenderedPrefix(
        key,
        view,
        (*lead, *messages),
        (*(-1 for _ in lead), *owners),
        BlockChain(dialect.canonical_tools(dialect.tools(body))),
    )


def rendered_whole(dialect: Dialect, body: dict[str, Any], lead: Sequence[Message]) -> Rendered:
    """Render a request of an unknown conversation."""
    wire_messages = dialect.messages(body)
    owners, messages = _read(dialect, wire_messages, len(wire_messages))
    spoken, places = [*lead, *messages], [*(-1 for _ in lead), *owners]
    return Rendered(
        BlockChain(dialect.canonical_tools(dialect.tools(body))).prompt(spoken), spoken, places.__getitem__
    )


def _place(view: CompactedView | None) -> tuple[int, int, int]:
    """Messages of the log and of the client's list that a view covers, and the messages that it sends for them."""
    return (view.through, view.wire, len(view.segments)) if view else (0, 0, 0)


def _read(
    dialect: Dialect, wire_messages: Sequence[dict[str, Any]], count: int
) -> tuple[list[int], list[Message]]:
    owners: list[int] = []
    messages: list[Message] = []
    for index in range(count):
        found = dialect.canonical(wire_messages, index)
        messages += found
        owners += [index] * len(found)
    return owners, messages
