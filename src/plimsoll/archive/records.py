"""The records of the archive as value objects.

    Session ─┬─ StoredMessage   the log: all messages, in order
             ├─ Node            a summary and its sources
             ├─ CompactionEvent a change of the view, and its reason
             ├─ Action          a user's action on it
             ├─ UsageRecord     usage and cost of a request
             └─ Lease           which process may work on it

Times are seconds since 1970 in UTC. Sequence numbers start at 1 and are the message numbers that
users see. Nothing here does I/O.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from plimsoll.archive.owners import OPERATOR, Owner
from plimsoll.messages import Message

State = Literal["active", "deleted"]
Outcome = Literal["compacted", "refused", "undone", "redone", "edited"]
NodeKind = Literal["summary", "stub", "leaf", "condensed"]


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation that outlives the process. Its id never changes."""

    id: str
    title: str
    model: str
    engine: str
    created: float
    updated: float
    messages: int = 0  # the sequence number of the newest one; shared ones of a fork's parent count
    tokens: int = 0  # of the whole log
    view: int = 0  # the current view; 0 is the log itself
    parent: str | None = None
    forked_at: int = 0  # the last message shared with the parent
    state: State = "active"
    owner: Owner = OPERATOR


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """One message of the log, unchanged."""

    session: str  # the session that was read; a fork reads its parent's messages as its own
    sequence: int
    message: Message
    tokens: int
    time: float
    digest: str  # of the whole message, whatever the order of its keys
    handle: str  # of its content, as used in stubs

    @property
    def role(self) -> str:
        return str(self.message.get("role", ""))


@dataclass(frozen=True, slots=True)
class Span:
    """Messages `first` to `last`, inclusive, verbatim."""

    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class NodeLink:
    """The summary node with this id."""

    node: str


Source = Span | NodeLink


@dataclass(frozen=True, slots=True)
class Node:
    """A summary text that replaces its sources.

    `message` is what the model sees. A stub is a node without sources that a repair inserted. Leaves and
    condensed nodes form an engine's tree over the log, independent of the views.
    """

    id: str
    message: Message
    sources: tuple[Source, ...] = ()
    kind: NodeKind = "summary"
    depth: int = 0
    tokens: int = 0
    model: str = ""  # who wrote it; empty: written without a model
    degraded: bool = False  # written while no model answered; to be written again
    details: Mapping[str, Any] = field(default_factory=dict)
    session: str = ""  # filled in by the store, as is `created`
    created: float = 0.0


@dataclass(frozen=True, slots=True)
class CompactionEvent:
    """One change of the view: a compaction attempt, a user's edit, an undo or a redo.

    The store sets the last five fields.
    """

    trigger: str
    engine: str
    outcome: Outcome = "compacted"
    reason: str = ""
    messages_before: int = 0
    messages_after: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    ledger: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""
    money: float | None = None  # USD; None if the price is unknown
    seconds: float = 0.0
    waited: float = 0.0  # seconds that the user waited
    author: str = ""  # the user who asked for it; empty: automatic
    session: str = ""
    time: float = 0.0
    view_before: int = 0
    view_after: int = 0
    number: int = 0  # among all events of the session, from 1

    @classmethod
    def refused(
        cls, trigger: str, engine: str, messages: int, tokens: int, reason: str = ""
    ) -> "CompactionEvent":
        """An attempt that did not change the view."""
        return cls(trigger, engine, "refused", reason, messages, messages, tokens, tokens)


@dataclass(frozen=True, slots=True)
class Action:
    """A user's action on a session. The store sets the last four fields."""

    action: str  # compact, edit, drop, undo, redo, pin, unpin, fork, export
    actor: str
    details: Mapping[str, Any] = field(default_factory=dict)
    session: str = ""
    time: float = 0.0
    view_before: int = 0
    view_after: int = 0


@dataclass(frozen=True, slots=True)
class PersonEdits:
    """What users removed from the current view. No compaction may bring it back."""

    dropped: tuple[int, ...] = ()  # messages
    summary: Node | None = None  # the newest summary that a user wrote
    covered: tuple[Span, ...] = ()  # the messages that this summary covers
    views: tuple[int, ...] = ()  # created by the edits

    @property
    def hidden(self) -> frozenset[int]:
        """The messages that later summaries must not use."""
        return frozenset(self.dropped).union(*(range(span.first, span.last + 1) for span in self.covered))


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """The usage of one request. Input excludes tokens read from the cache or written to it."""

    model: str
    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    money: float | None = None
    purpose: str = "turn"
    session: str = ""  # filled in by the store, as is `time`
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class UsageTotal:
    """The total of all requests of a session."""

    requests: int = 0
    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    money: float = 0.0
    unpriced: int = 0  # requests without a known price


@dataclass(frozen=True, slots=True)
class SessionFigures:
    """What a list of sessions shows about one: the size of its view, its compactions and its cost."""

    view_tokens: int = 0
    compactions: int = 0
    requests: int = 0
    money: float = 0.0
    unpriced: int = 0  # requests without a known price


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on a session until `expires`.

    `fence` increases each time the lease changes hands, so writes of an earlier holder are rejected.
    """

    session: str
    purpose: str
    holder: str
    expires: float
    fence: int


@dataclass(frozen=True, slots=True)
class AppendResult:
    """The positions of appended messages, and how many were new."""

    first: int
    last: int
    stored: int
