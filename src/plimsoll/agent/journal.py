"""The interface through which the agent reports what happens to the store of the conversation.

    user message ─► add      reply ─► add, used      results ─► add      compacted view ─► compacted

When `add` returns, the messages are stored: the model sees nothing that was not added first.
Implementations store in an archive (`sessions`) or in memory (tests).
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
        """The view changes from `before` to `after`; raises if it may not, and then nothing has changed."""

    async def refused(self, event: CompactionEvent) -> CompactionEvent:
        """A compaction was tried and changed nothing."""

    async def used(self, usage: UsageRecord) -> None:
        """A request was answered."""

    async def recall(self, handle: str) -> Message | None:
        """The original message whose content has this handle."""
