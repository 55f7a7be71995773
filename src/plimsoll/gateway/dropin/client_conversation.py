"""One conversation of a client: what the gateway must know about it.

    chain            h1  h2  h3  h4             one hash for each message of the client's list
    ends             1   2   4   5              canonical messages up to each: the third has two
    log              m1  m2  m3 m4  m5          canonical, as the client sent them
    compacted_view   what the model sees, where that differs

The conversation owns this state: other code reads it and changes it only through its methods. All of it can be
rebuilt from the next request and the archive.
"""

import asyncio
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from plimsoll.agent import Compactor, SharedPreparations
from plimsoll.archive import CompactionEvent, Owner
from plimsoll.caching import CacheMemory
from plimsoll.context.coverage import unanswered_from
from plimsoll.context.markers import as_said
from plimsoll.dialects import Dialect
from plimsoll.dialects.interfaces import Rendered
from plimsoll.gateway.dropin.client_request import Analysis
from plimsoll.gateway.dropin.compacted_view import CompactedView
from plimsoll.gateway.dropin.rendering import RenderedPrefix, rendered_prefix_of
from plimsoll.messages import Message, answered_id, call_ids
from plimsoll.models import UsageAnchor, estimate_message_tokens
from plimsoll.models.media_limits import MediaLimits
from plimsoll.sessions import ArchiveJournal

_PARSED = 2  # bytes in memory per byte of JSON


@dataclass(slots=True, eq=False)
class ClientConversation:
    """A conversation; one compaction of it at a time."""

    dialect: Dialect
    lead: tuple[Message, ...]  # the system prompt as first sent
    owner: Owner  # the caller; other callers cannot find it
    chain: list[bytes] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    log: list[Message] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)  # of each message of the log, estimated
    compacted_view: CompactedView | None = None
    anchor: UsageAnchor = field(default_factory=UsageAnchor)
    tools: int = 0  # estimated tokens of the tool schemas
    media_limits: MediaLimits = field(default_factory=MediaLimits)  # stated or shown by the upstream
    memory: CacheMemory | None = None
    rendered_prefix: RenderedPrefix | None = None  # of the last request
    compactor: Compactor | None = None
    # Summaries that its branches share.
    branches: SharedPreparations = field(default_factory=SharedPreparations)
    journal: ArchiveJournal | None = None  # where it is stored
    parent: tuple[str, int] | None = None  # session that it branched from, and the last shared message
    earlier_compactions: Sequence[CompactionEvent] = ()  # in the archive, not yet known to the compactor
    is_searched: bool = False  # the archive has been searched for it
    recalls: bool = False  # the model has the recall tool
    counted: int = 0  # messages of the log whose requests `policy: cost` has counted
    memory_bytes: int = 0  # approximate bytes in memory
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    # Guards `rendered_prefix`: threads render large requests.
    rendering: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_stored(self) -> bool:
        """Whether the archive has it or the session that it branched from."""
        return self.journal is not None or self.parent is not None

    @property
    def stored(self) -> tuple[str, int] | None:
        """The session that stores it or that it branched from, and the last message there that belongs to it."""
        if self.journal is not None:
            return self.journal.session, self.journal.last
        return self.parent

    @property
    def stored_name(self) -> str:
        """The session that stores it or that it branched from; empty if there is none."""
        return self.stored[0] if self.stored else ""

    def extend(
        self, messages: Sequence[dict[str, Any]], chain: Sequence[bytes], analysis: Analysis | None = None
    ) -> None:
        """Add the messages after the known ones; `analysis` already has them in canonical form.

        Drops a view that does not serve all of them.
        """
        for index in range(len(self.chain), len(messages)):
            if analysis is None:
                canonical = [as_said(message) for message in self.dialect.canonical(messages, index)]
                tokens = [estimate_message_tokens(message) for message in canonical]
            else:
                canonical, tokens = analysis.canonical[index], analysis.tokens[index]
            self.log += canonical
            self.tokens += tokens
            self.ends.append(len(self.log))
            self.chain.append(chain[index])
        if self.compacted_view is not None and not self.compacted_view.serves(self.log):
            self.compacted_view = None

    def set_lead(self, lead: Sequence[Message]) -> None:
        """Set the system prompt that the stored log begins with."""
        self.lead = tuple(lead)

    def set_tools(self, tokens: int, recalls: bool = False) -> None:
        """Set the tokens of the newest request's tool schemas; `recalls`: the recall tool is one of them."""
        self.tools, self.recalls = tokens, recalls

    def show(self, view: CompactedView | None) -> None:
        """Show the model this view from now on; None: the log."""
        self.compacted_view = view

    def store_in(self, journal: ArchiveJournal) -> None:
        """Set where the archive stores the conversation."""
        self.journal, self.parent = journal, None

    def leave_session(self, session: str, at: int) -> None:
        """Branch off from a stored session after this message."""
        self.journal, self.parent = None, (session, at)

    def forget_session(self) -> None:
        """Unlink the session: it was deleted, or another process continued it differently."""
        self.journal = None

    def forget_parent(self) -> None:
        """Unlink the parent session, which was deleted."""
        self.parent = None

    def mark_searched(self) -> None:
        """Record that the archive has been searched for it."""
        self.is_searched = True

    def set_earlier_compactions(self, events: Sequence[CompactionEvent]) -> None:
        """Set the compactions that the archive knows of."""
        self.earlier_compactions = events

    def take_earlier_compactions(self) -> Sequence[CompactionEvent]:
        """Return the compactions from `set_earlier_compactions` once."""
        events, self.earlier_compactions = self.earlier_compactions, ()
        return events

    def learn_media_limits(self, request_bytes: int | None, images: int | None) -> None:
        """Lower the limits after a rejection: the bytes of the rejected request, or the stated number of images."""
        self.media_limits = self.media_limits.lowered(request_bytes=request_bytes, images=images)

    def observe(self, reported: int, estimated: int) -> None:
        """Record that the upstream counted `reported` tokens where the estimate was `estimated`."""
        self.anchor = self.anchor.observe(reported, estimated)

    def anchor_to(self, anchor: UsageAnchor) -> None:
        """Set the usage anchor that another process stored."""
        self.anchor = anchor

    def remember_cache(self, memory: CacheMemory) -> None:
        """Set what the provider's cache holds."""
        self.memory = memory

    def count_requests(self, messages: int) -> None:
        """Count the requests up to this message of the log for `policy: cost`."""
        self.counted = max(self.counted, messages)

    def use(self, compactor: Compactor) -> None:
        """Set the compactor of this conversation."""
        self.compactor = compactor

    def kept_bytes(self, size: int) -> int:
        """Approximate bytes in memory if the newest request has `size` bytes."""
        compacting = self.branches.memory(self.compactor.engine) if self.compactor is not None else 0
        return _PARSED * size + compacting

    def set_memory_bytes(self, memory_bytes: int) -> None:
        """Set the approximate bytes in memory."""
        self.memory_bytes = memory_bytes

    def rendered(
        self,
        body: dict[str, Any],
        lead: Sequence[Message],
        key: bytes,
        view: CompactedView | None,
        wire: int,
    ) -> Rendered:
        """A request with the client's first `wire` messages, in cache blocks. Renders only what is new.

        `key` identifies its system prompt and tools.
        """
        with self.rendering:
            known = self.rendered_prefix
            if known is None or known.key != key or known.view is not view:
                known = self.rendered_prefix = rendered_prefix_of(self.dialect, body, lead, key, view)
            return known.rendered(self.log, self.ends, wire)

    def view(self) -> list[Message]:
        """The messages that the model sees, in canonical form; the same objects each time."""
        if self.compacted_view is None:
            return [*self.lead, *self.log]
        return [
            *self.compacted_view.lead,
            *self.compacted_view.messages,
            *self.log[self.compacted_view.through :],
        ]

    def overhead(self) -> int:
        """Tokens that the upstream counts besides the messages: tool schemas and its own preamble."""
        return self.anchor.predict(self.tools)

    def view_tokens(self) -> int:
        """Estimated tokens of the view, without the system prompt."""
        if self.compacted_view is None:
            return sum(self.tokens)
        return self.compacted_view.tokens + sum(self.tokens[self.compacted_view.through :])

    def sequence_at(self, wire: int) -> int:
        """The sequence number in the stored log of the last message up to a position in the client's list."""
        return len(self.lead) + (self.ends[wire - 1] if wire else 0)

    def settled(self) -> int:
        """How many messages of the log the client sends again unchanged: all before those that await an answer.

        The whole log if nothing precedes them, or if no message of the client's list ends there.
        """
        place = unanswered_from(self.log, len(self.log))
        return place if place in self.ends else len(self.log)

    def needed_of(self, numbers: Iterable[int]) -> set[int]:
        """The messages, out of `numbers` in the stored log, that this request needs.

        These are the newest request, and the calls whose results it brings.
        """
        waiting_from = unanswered_from(self.log, len(self.log))
        answers = {answered_id(message) for message in self.log[waiting_from:]}
        newest = max(
            (n for n, message in enumerate(self.log) if message.get("role") == "user"), default=waiting_from
        )
        places = {number: number - len(self.lead) - 1 for number in numbers}
        return {
            number
            for number, place in places.items()
            if place >= waiting_from or place == newest or answers.intersection(call_ids(self.log[place]))
        }

    def fork(self, wire: int) -> "ClientConversation":
        """A branch that shares the first `wire` messages with this conversation.

        It continues in the same session if nothing is stored after those messages. Its view may not serve it until
        `extend` has checked.
        """
        shared = self.ends[wire - 1] if wire else 0
        at, parent, journal = self.sequence_at(wire), self.parent, self.journal
        if journal is not None and journal.last <= at:
            journal = ArchiveJournal(journal.archive, journal.session, journal.holder, journal.last)
        elif journal is not None:
            parent = (journal.session, at)
            journal = None
        elif parent is not None:
            parent = (parent[0], min(at, parent[1]))
        return ClientConversation(
            dialect=self.dialect,
            lead=self.lead,
            owner=self.owner,
            chain=self.chain[:wire],
            ends=self.ends[:wire],
            log=self.log[:shared],
            tokens=self.tokens[:shared],
            compacted_view=self.compacted_view.shared_up_to(shared) if self.compacted_view else None,
            anchor=self.anchor,
            tools=self.tools,
            media_limits=self.media_limits,
            recalls=self.recalls,
            rendered_prefix=self.rendered_prefix.fork() if self.rendered_prefix else None,
            journal=journal,
            parent=parent,
            branches=self.branches,
            is_searched=self.is_searched,
        )
