"""`ArchiveStore`: a whole database of sessions, for administration.

    open_archive ──► ArchiveStore ── for_owner("key:…") ──► Archive     engines, plugins, tools, endpoints
                          └─ keys, inboxes, health, the list of all sessions: administration only

Only administration code has a store. An `Archive` has no reference to it, and none of its arguments
names another owner, so code with an `Archive` cannot reach other owners' sessions.
"""

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from plimsoll.archive.inbox import Inbox
from plimsoll.archive.interface import Archive
from plimsoll.archive.keys import KeyStore
from plimsoll.archive.owners import Owner
from plimsoll.archive.records import Session
from plimsoll.archive.replies import ReplyArchive


class ArchiveStore(ABC):
    """The sessions of every owner. All methods may be called from many tasks and many processes at once."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @abstractmethod
    async def close(self) -> None:
        """Finish what is being written and let go of the store. Its archives answer no more."""

    @abstractmethod
    def for_owner(self, owner: Owner) -> Archive:
        """The sessions of this owner; those of all others do not exist for it."""

    @property
    @abstractmethod
    def keys(self) -> KeyStore:
        """Who may use a gateway on this store."""

    @abstractmethod
    def inbox(self, account: str) -> Inbox:
        """Messages to this account on a chat platform until they are answered; no other account's."""

    @abstractmethod
    def replies(self, owner: Owner) -> ReplyArchive:
        """Replies that clients of this owner continue by their ids; no other owner's."""

    @abstractmethod
    async def session(self, id: str) -> Session:
        """The session with this id or unique prefix, of any owner; raises `UnknownSession` otherwise."""

    @abstractmethod
    async def sessions(self, *, limit: int = 50, offset: int = 0, prefix: str = "") -> list[Session]:
        """Sessions of all owners whose id begins so, the one that was last written to first."""

    @abstractmethod
    async def check(self) -> list[str]:
        """Everything that is wrong with the store, a sentence each; empty: sound."""

    @abstractmethod
    async def mend_search(self) -> int:
        """Make messages findable that search has lost; how many these were."""
