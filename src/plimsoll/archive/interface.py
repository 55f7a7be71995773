"""`Archive`: the sessions of one owner: complete append-only logs, and the views that the model sees.

    append ──► log ◄── references ── view ◄── commit_compaction / undo
                ▲                                    │
             search                               events

Every store guarantees: messages that `append` has stored are never lost, not even in a crash; a message is stored
once, however often its turn is saved; a compaction is stored completely or not at all; rows are never copied;
sessions do not see each other, and a fork shares its parent's messages without copying them.

`ArchiveStore.for_owner` binds an archive to one owner. Ids of sessions, nodes, views and handles of other owners are
unknown to it, for reading and for writing.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from plimsoll.archive.outline import SessionOutline
from plimsoll.archive.owners import Owner
from plimsoll.archive.query import SearchPage, SearchQuery
from plimsoll.archive.records import (
    Action,
    AppendResult,
    CompactionEvent,
    Lease,
    Node,
    PersonEdits,
    Session,
    SessionFigures,
    StoredMessage,
    UsageRecord,
    UsageTotal,
)
from plimsoll.archive.views import Rewrite, View, ViewDraft, ViewItem
from plimsoll.messages import Message


class Archive(ABC):
    """The sessions of one owner. All methods may be called from many tasks and many processes at once."""

    @property
    @abstractmethod
    def owner(self) -> Owner:
        """The owner of these sessions. It never changes."""

    # Sessions

    @abstractmethod
    async def create_session(self, *, title: str = "", model: str = "", engine: str = "") -> Session:
        """Create a session with a new id."""

    @abstractmethod
    async def session(self, id: str) -> Session:
        """The session with this id or unique prefix; otherwise raises `UnknownSession`, which names the nearest."""

    @abstractmethod
    async def sessions(self, *, limit: int = 50, offset: int = 0, prefix: str = "") -> list[Session]:
        """Sessions whose id starts with `prefix`, most recently written first."""

    @abstractmethod
    async def figures(self, ids: Sequence[str]) -> list[SessionFigures]:
        """Sizes, counts and costs of these sessions, in the same order, without reading their messages."""

    @abstractmethod
    async def update_session(
        self, id: str, *, title: str | None = None, model: str | None = None, engine: str | None = None
    ) -> Session:
        """Change the given fields; the id never changes."""

    @abstractmethod
    async def fork(
        self,
        id: str,
        *,
        at: int | None = None,
        title: str | None = None,
        view: int | None = None,
        actor: str = "",
        rewrite: Rewrite | None = None,
    ) -> Session:
        """Create a session that shares everything up to message `at` (default: the newest) and continues separately.

        It starts with `view`, which must not cover later messages; by default with the newest such view. If dropped
        messages are left out of that view, `rewrite` gets its messages and the place of the first change, and
        returns the messages for the model. Here and in the methods below, `actor` names the user whose action is
        recorded; without one, none is.
        """

    @abstractmethod
    async def delete(self, id: str) -> int:
        """Delete a session and its messages. Returns how many messages stay because forks share them."""

    # The log

    @abstractmethod
    async def append(
        self,
        id: str,
        messages: Sequence[Message],
        *,
        turn: str,
        after: int | None = None,
        tokens: Sequence[int] | None = None,
        lease: Lease | None = None,
        shown: Mapping[int, Message] | None = None,
    ) -> AppendResult:
        """Append the messages of a turn that are not stored yet.

        `shown` maps positions of messages that are too large for the model to the form that it sees. Every view
        has that form; the log, search and handles have the full message.

        Saving the same turn again stores nothing; saving it with more messages at its end appends these, unless
        other messages followed. Raises `Conflict` if the turn was stored with other messages or the log does not
        end at message `after`. With a lease, raises `StaleLease` if another process holds it now.
        """

    @abstractmethod
    async def messages(self, id: str, first: int = 1, last: int | None = None) -> list[StoredMessage]:
        """Messages `first` to `last` of the log. Read in pages; a log can be long."""

    @abstractmethod
    async def outline(self, id: str, first: int = 1, evidence: str = "") -> SessionOutline:
        """Sizes of the messages from `first` on and of all views, without reading a message.

        `evidence` is the heading that starts a summary's evidence.
        """

    @abstractmethod
    async def find_by_handle(
        self, handle: str, *, id: str | None = None, last: int | None = None, limit: int = 10
    ) -> list[StoredMessage]:
        """Messages whose content has a handle with this prefix, one for each handle.

        `last` limits it to messages of the session `id` up to this one.
        """

    @abstractmethod
    async def pin(self, id: str, sequence: int, *, actor: str = "") -> None:
        """Keep a message verbatim through all compactions; raises `Conflict` if one has already removed it."""

    @abstractmethod
    async def unpin(self, id: str, sequence: int, *, actor: str = "") -> None:
        """Unpin a message."""

    @abstractmethod
    async def pins(self, id: str) -> list[int]:
        """The pinned messages, in order."""

    # Views

    @abstractmethod
    async def view(self, id: str, number: int | None = None) -> View:
        """The current view, or an earlier one."""

    @abstractmethod
    async def items(self, id: str, view: View | None = None) -> list[ViewItem]:
        """What the model sees: the current view, or `view`. Reads no other messages."""

    @abstractmethod
    async def view_size(self, id: str, view: View | None = None) -> tuple[int, int]:
        """Messages and tokens of a view, without reading them."""

    @abstractmethod
    async def node(self, node: str) -> Node:
        """The node with this id; raises `UserError` if there is none."""

    @abstractmethod
    async def nodes(self, id: str, *, inherited: bool = False) -> list[Node]:
        """All nodes that this session wrote, oldest first, including those of undone compactions.

        With `inherited`, also those that its parent sessions wrote about messages that it shares.
        """

    @abstractmethod
    async def add_nodes(self, id: str, nodes: Sequence[Node], *, lease: Lease | None = None) -> None:
        """Store nodes that are in no view yet, with their edges; existing ones are not changed."""

    @abstractmethod
    async def commit_compaction(
        self,
        id: str,
        draft: ViewDraft,
        event: CompactionEvent,
        *,
        lease: Lease | None = None,
        action: Action | None = None,
    ) -> View:
        """Nodes, their edges, the new view, the event and a user's action, in one transaction.

        Raises `Conflict` if the view is not the draft's base or a pinned message would leave it, `StaleLease` if
        another process holds the lease now.
        """

    @abstractmethod
    async def record_compaction(self, id: str, event: CompactionEvent) -> CompactionEvent:
        """Record an attempt that changed nothing, and why."""

    @abstractmethod
    async def undo(self, id: str, *, lease: Lease | None = None, actor: str = "") -> View:
        """Return to the view before the last compaction or edit. Later messages stay."""

    @abstractmethod
    async def redo(self, id: str, *, lease: Lease | None = None, actor: str = "") -> View:
        """Return to the view that was last undone; raises `UserError` if there is none, or another followed."""

    @abstractmethod
    async def undone_view(self, id: str) -> View | None:
        """The view that `redo` would return to; None if there is none."""

    @abstractmethod
    async def compactions(self, id: str, *, limit: int = 100) -> list[CompactionEvent]:
        """The newest events, in chronological order."""

    @abstractmethod
    async def compaction(self, id: str, number: int) -> CompactionEvent:
        """The event with this number, counted from 1; raises `UserError` if there is none."""

    # Users' actions

    @abstractmethod
    async def record_action(self, id: str, action: Action) -> None:
        """Record a user's action that changed nothing, such as an export."""

    @abstractmethod
    async def actions(self, id: str, *, limit: int = 100) -> list[Action]:
        """The newest actions of users, in chronological order."""

    @abstractmethod
    async def edits(self, id: str) -> PersonEdits:
        """What users removed from the current view."""

    # Usage

    @abstractmethod
    async def record_usage(self, id: str, usage: UsageRecord) -> UsageRecord:
        """Record what a request used."""

    @abstractmethod
    async def usage(self, id: str, *, limit: int = 1_000) -> list[UsageRecord]:
        """The newest records, in chronological order."""

    @abstractmethod
    async def usage_total(self, id: str) -> UsageTotal:
        """The total of all requests."""

    # Leases

    @abstractmethod
    async def acquire(
        self, id: str, holder: str, seconds: float, *, purpose: str = "compact"
    ) -> Lease | None:
        """The lease, or None while another process holds it. The holder's own lease is extended."""

    @abstractmethod
    async def renew(self, lease: Lease, seconds: float) -> Lease:
        """The extended lease; raises `StaleLease` if it was taken over."""

    @abstractmethod
    async def release(self, lease: Lease) -> None:
        """Release the lease; has no effect if another process holds it."""

    # Search

    @abstractmethod
    async def search(self, query: SearchQuery) -> SearchPage:
        """Matching messages, one page at a time."""
