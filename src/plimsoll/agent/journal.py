"""The interface through which the agent reports what happens to the store of the conversation.

    user message ─► add      reply ─► add, used      results ─► add      lighter view ─► compacted

What `add` has returned from is safe: the agent shows nothing to the model that was not
added first. The keeper may store it in an archive (`sessions`) or in memory (tests).
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from plimsoll.archive import CompactionEvent, UsageRecord
from plimsoll.messages import Message


class Journal(Protocol):
    """The keeper of one conversation."""

    async def add(self, messages: Sequence[Message], shown: Mapping[int, Message] | None = None) -> None:
        """Messages were said, in this order; those in `shown`, by their place, reach the model in that form."""

    async def compacted(
        self, before: Sequence[Message], after: Sequence[Message], event: CompactionEvent
    ) -> CompactionEvent:
        """The view changed from `before` to `after`; raises where it may not, and then it has not changed."""

    async def refused(self, event: CompactionEvent) -> CompactionEvent:
        """A compaction was tried and changed nothing."""

    async def used(self, usage: UsageRecord) -> None:
        """A request was answered."""

    async def recall(self, handle: str) -> Message | None:
        """The original message whose content has this handle."""
