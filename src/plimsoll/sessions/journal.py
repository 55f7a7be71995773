"""The agent's journal in the archive: every message is stored before the model sees it."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from plimsoll.archive import (
    Action,
    Archive,
    Author,
    CompactionEvent,
    Lease,
    UsageRecord,
    View,
    ViewDraft,
    ViewItem,
    draft_of,
)
from plimsoll.errors import Conflict
from plimsoll.messages import Message


class ArchiveJournal:
    """The journal of one session. `holder` identifies this process in leases."""

    def __init__(self, archive: Archive, session: str, holder: str, last: int) -> None:
        self.archive = archive
        self.session = session
        self.holder = holder
        self.last = last  # the newest message that this process knows
        self.lease: Lease | None = None  # of the current turn
        self.action: Action | None = None  # of the user who asked for the next compaction
        self.key = ""  # idempotency key of the next message that is added

    async def add(self, messages: Sequence[Message], shown: Mapping[int, Message] | None = None) -> None:
        key, self.key = self.key, ""
        stored = await self.archive.append(
            self.session,
            messages,
            # Named by its position, so that saving it again after a lost response stores it once.
            turn=_name(key) if key else f"after.{self.last}",
            after=self.last,
            lease=self.lease,
            shown=shown,
        )
        self.last = stored.last

    async def place_of(self, key: str) -> int | None:
        """The number of the message stored under a key; None if there is none."""
        # Appending nothing to a turn returns its position.
        found = await self.archive.append(self.session, [], turn=_name(key), lease=self.lease)
        return found.first if found.first <= found.last else None

    async def compacted(
        self, before: Sequence[Message], after: Sequence[Message], event: CompactionEvent
    ) -> CompactionEvent:
        view = await self.archive.view(self.session)
        items = await self.archive.items(self.session, view)
        author = Author(event.model, degraded=bool(event.ledger.get("degraded")))
        # Takes 8 ms for 200,000 tokens, which would delay other conversations.
        draft = await asyncio.to_thread(_drafted, self.session, view, items, before, after, author)
        # Without a turn lock, the second of two processes finds another view than its draft is based on. A
        # separate lease would only lock the session for a minute after a process is killed.
        action, event = self.action, self._authored(event)
        await self.archive.commit_compaction(self.session, draft, event, lease=self.lease, action=action)
        return (await self.archive.compactions(self.session, limit=1))[-1]

    async def refused(self, event: CompactionEvent) -> CompactionEvent:
        return await self.archive.record_compaction(self.session, self._authored(event))

    def _authored(self, event: CompactionEvent) -> CompactionEvent:
        return replace(event, author=self.action.actor) if self.action else event

    async def used(self, usage: UsageRecord) -> None:
        await self.archive.record_usage(self.session, usage)

    async def recall(self, handle: str) -> Message | None:
        found = await self.archive.find_by_handle(handle, id=self.session, limit=1)
        return found[0].message if found else None


def _drafted(
    session: str,
    view: View,
    items: Sequence[ViewItem],
    before: Sequence[Message],
    after: Sequence[Message],
    author: Author,
) -> ViewDraft:
    if [item.message for item in items] != list(before):
        raise Conflict("The session changed during the compaction, so the result was discarded.")
    # Unchanged messages are identified by identity, because several may be equal.
    same = [replace(item, message=message) for item, message in zip(items, before, strict=True)]
    return draft_of(session, view, same, after, author)


def _name(key: str) -> str:
    return f"key.{key}"
