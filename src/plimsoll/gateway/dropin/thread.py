"""One conversation that a client keeps, as far as the gateway must know it.

    chain    h1  h2  h3  h4             one hash for each message of the client's list
    ends     1   2   4   5              canonical messages up to each: the third holds two
    log      m1  m2  m3 m4  m5          canonical, as the client sent them
    sight    what the model sees of it, where that differs

All of it can be made again from the next request and the archive.
"""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from plimsoll.agent import Compactor, SharedPreparations
from plimsoll.archive import CompactionEvent, Owner
from plimsoll.caching import CacheMemory
from plimsoll.context.markers import as_said
from plimsoll.dialects import Dialect
from plimsoll.gateway.dropin.inquiry import Analysis
from plimsoll.gateway.dropin.rendering import Beginning
from plimsoll.gateway.dropin.sight import Sight, unanswered_from
from plimsoll.messages import Message
from plimsoll.models import UsageAnchor, estimate_message_tokens
from plimsoll.sessions import ArchiveJournal


@dataclass(slots=True, eq=False)
class Thread:
    """A conversation; one compaction of it at a time."""

    dialect: Dialect
    lead: tuple[Message, ...]  # the system prompt as it was first sent
    owner: Owner  # who asks; nobody else finds it
    chain: list[bytes] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    log: list[Message] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)  # of each message of the log, estimated
    sight: Sight | None = None
    anchor: UsageAnchor = field(default_factory=UsageAnchor)
    tools: int = 0  # estimated tokens of the tool schemas that come with it
    memory: CacheMemory | None = None
    beginning: Beginning | None = None  # of its requests, as the last one was rendered
    compactor: Compactor | None = None
    branches: SharedPreparations = field(
        default_factory=SharedPreparations
    )  # summaries that its branches share
    journal: ArchiveJournal | None = None  # where it is stored
    parent: tuple[str, int] | None = None  # the stored session and message at which it left it
    past: Sequence[CompactionEvent] = ()  # what the archive told and the compactor has not heard yet
    looked_up: bool = False  # whether the archive was asked about it
    counted: int = 0  # messages of the log whose requests `policy: cost` has reckoned with
    weight: int = 0  # bytes that it keeps in memory, about
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    rendering: threading.Lock = field(default_factory=threading.Lock)  # of `beginning`, which threads share

    @property
    def is_stored(self) -> bool:
        """Whether the archive holds it, or what it left."""
        return self.journal is not None or self.parent is not None

    @property
    def stored_name(self) -> str:
        """The session of the archive that holds it, or from which it branched off; empty where none does."""
        if self.journal is not None:
            return self.journal.session
        return self.parent[0] if self.parent else ""

    def extend(
        self, said: Sequence[dict[str, Any]], chain: Sequence[bytes], analysis: Analysis | None = None
    ) -> None:
        """Take in the messages behind those that are known, as they were analysed where they were.

        A view that does not serve all of them is let go.
        """
        for index in range(len(self.chain), len(said)):
            if analysis is None:
                canonical = [as_said(message) for message in self.dialect.canonical(said, index)]
                tokens = [estimate_message_tokens(message) for message in canonical]
            else:
                canonical, tokens = analysis.canonical[index], analysis.tokens[index]
            self.log += canonical
            self.tokens += tokens
            self.ends.append(len(self.log))
            self.chain.append(chain[index])
        if self.sight is not None and not self.sight.serves(self.log):
            self.sight = None

    def view(self) -> list[Message]:
        """What the model sees, in canonical form; the same objects each time."""
        if self.sight is None:
            return [*self.lead, *self.log]
        return [*self.sight.lead, *self.sight.messages, *self.log[self.sight.through :]]

    def overhead(self) -> int:
        """What the upstream counts besides the messages: tool schemas, and what it adds itself."""
        return self.anchor.predict(self.tools)

    def view_tokens(self) -> int:
        """The estimate of what the model sees, without the system prompt."""
        if self.sight is None:
            return sum(self.tokens)
        return self.sight.tokens + sum(self.tokens[self.sight.through :])

    def sequence_at(self, wire: int) -> int:
        """The number in a stored log of the last message up to a place in the client's list."""
        return len(self.lead) + (self.ends[wire - 1] if wire else 0)

    def settled(self) -> int:
        """How many messages of the log its client sends again as they are: all before those that wait for an answer.

        The whole log if nothing comes before them, or if no message of the client's list ends there.
        """
        place = unanswered_from(self.log, len(self.log))
        return place if place in self.ends else len(self.log)

    def fork(self, wire: int) -> "Thread":
        """A conversation that shares the first messages with this one and goes its own way.

        It goes on in the same session if nothing is stored beyond those messages. Its view may not serve it before
        `extend` has looked.
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
        return Thread(
            dialect=self.dialect,
            lead=self.lead,
            owner=self.owner,
            chain=self.chain[:wire],
            ends=self.ends[:wire],
            log=self.log[:shared],
            tokens=self.tokens[:shared],
            sight=self.sight.shared_up_to(shared) if self.sight and self.sight.through <= shared else None,
            anchor=self.anchor,
            tools=self.tools,
            beginning=self.beginning.fork() if self.beginning else None,
            journal=journal,
            parent=parent,
            branches=self.branches,
            looked_up=self.looked_up,
        )
