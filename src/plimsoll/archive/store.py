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
        """Finish pending writes and close the store. Its archives stop working."""

    @abstractmethod
    def for_owner(self, owner: Owner) -> Archive:
        """The sessions of this owner; other owners' sessions are not visible."""

    @property
    @abstractmethod
    def keys(self) -> KeyStore:
        """The access keys of gateways on this store."""

    @abstractmethod
    def inbox(self, account: str) -> Inbox:
        """Unanswered messages to this account on a messaging platform; no other account's."""

    @abstractmethod
    def replies(self, owner: Owner) -> ReplyArchive:
        """Replies that this owner's clients continue by their ids; no other owner's."""

    @abstractmethod
    async def session(self, id: str) -> Session:
        """The session with this id or unique prefix, of any owner; raises `UnknownSession` otherwise."""

    @abstractmethod
    async def sessions(self, *, limit: int = 50, offset: int = 0, prefix: str = "") -> list[Session]:
        """Sessions of all owners whose id starts with `prefix`, most recently written first."""

    @abstractmethod
    async def check(self) -> list[str]:
        """The problems of the store, one sentence each; empty if there are none."""

    @abstractmethod
    async def repair_search_index(self) -> int:
        """Add messages that are missing from the search index. Returns how many."""
