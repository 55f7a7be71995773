"""A named list of a conversation's items, stored in an archive as searchable messages.

Nothing is lost: removing the last item continues in a fork of the session, and clearing starts a new session. Earlier
items stay in the archive.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from plimsoll.archive import OPERATOR, Archive, ArchiveStore, Owner, Session
from plimsoll.archive.open_archive import open_archive
from plimsoll.archive.sqlite import SqliteStore
from plimsoll.messages import Message
from plimsoll.providers.auxiliary.bridge import LoopThread

T = TypeVar("T")
Item = dict[str, Any]
_ITEM = "item"  # the key of a stored message
_ENGINE = "items"  # marks the sessions that are lists of items: a chat may have the same title
_PAGE = 100  # sessions per read


class LazyArchive:
    """The archive at a URL or in a file, opened when it is first needed. One event loop may use it."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._store: ArchiveStore | None = None
        self._lock = asyncio.Lock()

    async def store(self) -> ArchiveStore:
        """The opened archive."""
        async with self._lock:
            if self._store is None:
                is_url = "://" in self._place
                opening = open_archive(self._place, Path()) if is_url else SqliteStore.open(Path(self._place))
                self._store = await opening
            return self._store

    async def close(self) -> None:
        """Close the archive if it is open."""
        if self._store is not None:
            await self._store.close()


class ArchivedItems:
    """The items of the newest session with this name. Any event loop may use it.

    `as_message` and `as_items` convert between an item and the message that stores it.
    """

    def __init__(
        self,
        name: str,
        archive: str,
        owner: Owner = OPERATOR,
        *,
        as_message: Callable[[Item], Message],
        as_items: Callable[[Message], list[Item]],
    ) -> None:
        self._name, self._owner, self._archive = name, owner, LazyArchive(archive)
        self._as_message, self._as_items = as_message, as_items
        self._loop = LoopThread(self._archive.close, "plimsoll-session", "the session was closed")
        self._loop.end_with(self)
        self._session: str | None = None  # the session's id, once known
        self._lock = asyncio.Lock()

    async def get(self, limit: int | None = None) -> list[Item]:
        """All items, or the newest ones, oldest first."""
        items = await self._run(self._read)
        return items if limit is None else items[max(0, len(items) - limit) :]

    async def add(self, items: Sequence[Item]) -> None:
        """Append items."""
        messages = [self._stored(item) for item in items]

        async def work(archive: Archive, session: Session) -> None:
            if messages:
                turn = f"items.{session.messages}"
                await archive.append(session.id, messages, turn=turn, after=session.messages)

        await self._run(work)

    async def pop(self) -> Item | None:
        """Remove and return the last item."""

        async def work(archive: Archive, session: Session) -> Item | None:
            items = await self._read(archive, session)
            if not items:
                return None
            if session.messages == 1:
                await self._begin(archive)
            else:
                fork = await archive.fork(session.id, at=session.messages - 1, title=self._name, view=0)
                self._session = fork.id
            return items[-1]

        return await self._run(work)

    async def clear(self) -> None:
        """Start again without items."""

        async def work(archive: Archive, session: Session) -> None:
            if session.messages:
                await self._begin(archive)

        await self._run(work)

    def close(self) -> None:
        """Close the archive."""
        self._loop.close()

    async def _read(self, archive: Archive, session: Session) -> list[Item]:
        stored = await archive.messages(session.id)
        return [item for entry in stored for item in self._restored(entry.message)]

    def _stored(self, item: Item) -> Message:
        """The message for an item; includes the item itself if the message does not restore its exact bytes."""
        message = self._as_message(item)
        is_same = json.dumps(self._as_items(message)) == json.dumps([item])
        return message if is_same else {**message, _ITEM: item}

    def _restored(self, message: Message) -> list[Item]:
        return [message[_ITEM]] if _ITEM in message else self._as_items(message)

    async def _run(self, work: Callable[[Archive, Session], Awaitable[T]]) -> T:
        return await asyncio.wrap_future(self._loop.start(self._with_session(work)))

    async def _with_session(self, work: Callable[[Archive, Session], Awaitable[T]]) -> T:
        async with self._lock:
            archive = (await self._archive.store()).for_owner(self._owner)
            return await work(archive, await self._newest(archive))

    async def _newest(self, archive: Archive) -> Session:
        """The newest list of items with this name; a new one if there is none."""
        if self._session is not None:
            return await archive.session(self._session)
        offset, found = 0, list[Session]()
        while page := await archive.sessions(limit=_PAGE, offset=offset):
            found += [entry for entry in page if entry.title == self._name and entry.engine == _ENGINE]
            offset += len(page)
        if not found:
            return await self._begin(archive)
        newest = max(found, key=lambda item: (item.created, item.id))
        self._session = newest.id
        return newest

    async def _begin(self, archive: Archive) -> Session:
        session = await archive.create_session(title=self._name, engine=_ENGINE)
        self._session = session.id
        return session
