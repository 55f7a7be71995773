"""`Archive`: the sessions of one owner: complete append-only logs, and the views that the model sees.

    append ──► log ◄── references ── view ◄── commit_compaction / undo
                ▲                                    │
             search                               events

Promises of every store: what `append` has returned is never lost, not by a crash
either; a message is stored once however often its turn is saved; a compaction is
stored as a whole or not at all; no row is ever copied forward; sessions do not see
each other, and a fork shares its parent's past without copying it.

An archive is bound to one owner when `ArchiveStore.for_owner` makes it. Ids of sessions, nodes,
views and handles that belong to anybody else are unknown to it, in reading and in writing alike.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from plimsoll.archive.outline import SessionOutline
from plimsoll.archive.owners import Owner
from plimsoll.archive.query import SearchPage, SearchQuery
from plimsoll.archive.records import (
    Action,
    Appended,
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
from plimsoll.archive.views import View, ViewDraft, ViewItem
from plimsoll.messages import Message


class Archive(ABC):
    """The sessions of one owner. All methods may be called from many tasks and many processes at once."""

    @property
    @abstractmethod
    def owner(self) -> Owner:
        """Whose sessions these are. It never changes."""

    # Sessions

    @abstractmethod
    async def create_session(self, *, title: str = "", model: str = "", engine: str = "") -> Session:
        """Create a session with a new id."""

    @abstractmethod
    async def session(self, id: str) -> Session:
        """The session of this id or of this unique beginning; `UnknownSession` names the nearest otherwise."""

    @abstractmethod
    async def sessions(self, *, limit: int = 50, offset: int = 0, prefix: str = "") -> list[Session]:
        """Sessions whose id begins so, the one that was last written to first."""

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
    ) -> Session:
        """A session that shares everything up to message `at` (default: the newest) and goes its own way.

        It begins with `view`, which knows nothing of later messages; by default with the newest such view. Here and
        in the methods below, `actor` names the person whose action is recorded; without one, none is.
        """

    @abstractmethod
    async def delete(self, id: str) -> int:
        """Remove a session and its messages. Those that forks share stay for them; how many is returned."""

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
    ) -> Appended:
        """Append the messages of a turn that are not stored yet.

        `shown` maps positions of messages that are too large for the model to the form that it sees. Every view
        has that form; the log, search and handles have the full message.

        Saving the same turn again stores nothing; saving it with more messages at its end appends these, unless
        other messages followed. Raises `Conflict` if the turn was stored with other messages or the log does not
        end at message `after`. With a lease, raises `StaleLease` if another process holds it now.
        """

    @abstractmethod
    async def messages(self, id: str, first: int = 1, last: int | None = None) -> list[StoredMessage]:
        """Messages `first` to `last`, as they were said. Ask in pages; a log can be long."""

    @abstractmethod
    async def outline(self, id: str, first: int = 1, evidence: str = "") -> SessionOutline:
        """Sizes of the messages from `first` on and of all views, without reading a message.

        `evidence` is the heading behind which a summary's evidence stands.
        """

    @abstractmethod
    async def find_by_handle(
        self, handle: str, *, id: str | None = None, last: int | None = None, limit: int = 10
    ) -> list[StoredMessage]:
        """Messages whose content has a handle that begins so, one for each handle.

        `last` limits it to the messages of the session `id` up to this one.
        """

    @abstractmethod
    async def pin(self, id: str, sequence: int, *, actor: str = "") -> None:
        """Keep a message word for word through all compactions; `Conflict` where one has taken it out already."""

    @abstractmethod
    async def unpin(self, id: str, sequence: int, *, actor: str = "") -> None:
        """Let a message go its way again."""

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
    async def weight(self, id: str, view: View | None = None) -> tuple[int, int]:
        """Messages and tokens of a view, without reading them."""

    @abstractmethod
    async def node(self, node: str) -> Node:
        """The node with this id; raises `UserError` if there is none."""

    @abstractmethod
    async def nodes(self, id: str, *, inherited: bool = False) -> list[Node]:
        """All nodes that this session wrote, the oldest first, those of undone compactions too.

        With `inherited`, also those that the sessions it was forked from wrote about messages that it shares.
        """

    @abstractmethod
    async def add_nodes(self, id: str, nodes: Sequence[Node], *, lease: Lease | None = None) -> None:
        """Store nodes that no view shows yet, with their edges; one that is there already is left as it is."""

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
        """Nodes, their edges, the new view, the event and a person's action, in one transaction.

        Raises `Conflict` if the view is not the draft's base or a pinned message would leave it, `StaleLease` if
        another process holds the lease now.
        """

    @abstractmethod
    async def record_compaction(self, id: str, event: CompactionEvent) -> CompactionEvent:
        """An attempt that changed nothing, and why."""

    @abstractmethod
    async def undo(self, id: str, *, lease: Lease | None = None, actor: str = "") -> View:
        """Go back to the view before the last compaction or edit. What was said since stays."""

    @abstractmethod
    async def redo(self, id: str, *, lease: Lease | None = None, actor: str = "") -> View:
        """Return to the view that was last undone; raises `UserError` if there is none, or another followed."""

    @abstractmethod
    async def undone_view(self, id: str) -> View | None:
        """The view that `redo` would return to; None if there is none."""

    @abstractmethod
    async def compactions(self, id: str, *, limit: int = 100) -> list[CompactionEvent]:
        """The newest events, oldest of them first."""

    @abstractmethod
    async def compaction(self, id: str, number: int) -> CompactionEvent:
        """The event with this number, counted from 1; raises `UserError` if there is none."""

    # People

    @abstractmethod
    async def record_action(self, id: str, action: Action) -> None:
        """What a person did that changed nothing, such as an export."""

    @abstractmethod
    async def actions(self, id: str, *, limit: int = 100) -> list[Action]:
        """The newest actions of people, oldest of them first."""

    @abstractmethod
    async def edits(self, id: str) -> PersonEdits:
        """What people removed from the current view."""

    # Money

    @abstractmethod
    async def record_usage(self, id: str, usage: UsageRecord) -> UsageRecord:
        """What a request used."""

    @abstractmethod
    async def usage(self, id: str, *, limit: int = 1_000) -> list[UsageRecord]:
        """The newest records, oldest of them first."""

    @abstractmethod
    async def usage_total(self, id: str) -> UsageTotal:
        """All requests together."""

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
        """Let others have it; nothing happens where they already do."""

    # Search

    @abstractmethod
    async def search(self, query: SearchQuery) -> SearchPage:
        """Messages that fit, a page at a time."""
