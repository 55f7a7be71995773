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
    """The store of one conversation."""

    async def add(self, messages: Sequence[Message], shown: Mapping[int, Message] | None = None) -> None:
        """Store messages in this order; those in `shown`, by position, reach the model in that form."""

    async def compacted(
        self, before: Sequence[Message], after: Sequence[Message], event: CompactionEvent
    ) -> CompactionEvent:
        """Change the view from `before` to `after`. Raises, with nothing changed, if it may not."""

    async def refused(self, event: CompactionEvent) -> CompactionEvent:
        """Record a compaction attempt that changed nothing."""

    async def used(self, usage: UsageRecord) -> None:
        """Record an answered request."""

    async def recall(self, handle: str) -> Message | None:
        """The original message whose content has this handle."""
