"""What the provider's cache sees of a request, rendered once: the next request of a conversation adds what is new.

    system prompt, tools │ what a compaction wrote │ messages of the log
    rendered again where they change ──────────────┘ each one when it is first sent

Hashing and counting a long history anew for each request would take longer than everything else that is done
with it. A request of a conversation that is not known is rendered whole.
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
    """The part of a conversation's requests that stays, and the chain of blocks that grows with them."""

    key: bytes  # of system prompt and tools
    view: CompactedView | None
    messages: tuple[Message, ...]  # the same objects each time: by them the chain knows what it has rendered
    owners: tuple[int, ...]
    chain: BlockChain

    def fork(self) -> "RenderedPrefix":
        """For a conversation that begins the same way and goes its own."""
        return replace(self, chain=self.chain.fork())

    def rendered(self, log: Sequence[Message], ends: Sequence[int], wire: int) -> Rendered:
        """A request with the first `wire` messages of the client; `log` and `ends` are those of its conversation."""
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
    """How the requests of a conversation begin, from one of them as it is sent."""
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
    """A request of which nothing is known."""
    said = dialect.messages(body)
    owners, messages = _read(dialect, said, len(said))
    spoken, places = [*lead, *messages], [*(-1 for _ in lead), *owners]
    return Rendered(
        BlockChain(dialect.canonical_tools(dialect.tools(body))).prompt(spoken), spoken, places.__getitem__
    )


def _place(view: CompactedView | None) -> tuple[int, int, int]:
    """Messages of the log and of the client's list that a view covers, and those that it sends for them."""
    return (view.through, view.wire, len(view.segments)) if view else (0, 0, 0)


def _read(dialect: Dialect, said: Sequence[dict[str, Any]], count: int) -> tuple[list[int], list[Message]]:
    owners: list[int] = []
    messages: list[Message] = []
    for index in range(count):
        found = dialect.canonical(said, index)
        messages += found
        owners += [index] * len(found)
    return owners, messages
