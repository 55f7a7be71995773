"""Everything that can be done with sessions, for whoever is asked to do it: REST, a messaging service, a test.

    REST ───────┐                    ┌─ archive: read, search, pin, fork
    messaging ──┼─► SessionDesk ─────┤
    a test ─────┘                    └─ places ─► one turn at a time: send, compact, undo

`owner` is whose sessions exist for the one who asks; None sees all. An id must be whole:
what begins like a session is none. A message is stored before anything else is done with
it, and one that was sent with a key is run once, however often and to whichever process it
is sent again.
"""

import asyncio
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from plimsoll.agent import Emit, Event, Reserve
from plimsoll.archive import (
    Archive,
    CompactionEvent,
    Item,
    SearchPage,
    SearchQuery,
    Session,
    StoredMessage,
    title_of,
)
from plimsoll.config import Settings
from plimsoll.errors import UnknownSession
from plimsoll.gateway.sessions.joining import Joiner, system_prompt
from plimsoll.gateway.sessions.places import Places
from plimsoll.gateway.settings import SessionLimits
from plimsoll.gateway.watch.turns import noting
from plimsoll.messages import Message
from plimsoll.sessions import Exchange

Heard = Callable[[int], None]


def nothing(_event: Event | int) -> None:
    """For whoever does not watch."""


class SessionDesk:
    """The sessions of one archive in one process. Close it before the archive and the joiner."""

    def __init__(self, archive: Archive, joiner: Joiner, limits: SessionLimits) -> None:
        self._archive = archive
        self._joiner = joiner
        self._places = Places(joiner.join, limits.waiting, limits.open)
        self._turns: dict[str, set[asyncio.Task[Exchange]]] = {}

    @classmethod
    def open(
        cls,
        settings: Settings,
        environ: Mapping[str, str],
        home: Path,
        archive: Archive,
        limits: SessionLimits,
        reserve: Reserve | None = None,
    ) -> "SessionDesk":
        """The desk of this process; tools of the agent work in the directory in which it was started.

        `reserve` makes room for a request in the limits of whoever asks.
        """
        holder = f"gateway-{os.getpid()}-{secrets.token_hex(4)}"
        joiner = Joiner(settings, environ, home, archive, holder, Path.cwd(), limits, reserve)
        return cls(archive, joiner, limits)

    async def close(self, patience: float = 0.0) -> None:
        """Leave all sessions; what is being answered may go on for so many seconds and is then stopped."""
        turns = [task for some in self._turns.values() for task in some]
        if turns:
            await asyncio.wait(turns, timeout=patience)
        for id in list(self._turns):
            await self._stop(id)
        await self._places.close()
        await self._joiner.close()

    # Sessions

    async def create(
        self, *, title: str = "", prompt: str | None = None, owner: str | None = None
    ) -> Session:
        """A new session with a system prompt, the usual one where none is given."""
        session = await self._archive.create_session(title=title, owner=owner)
        system: Message = {"role": "system", "content": system_prompt() if prompt is None else prompt}
        await self._archive.append(session.id, [system], turn="begin", after=0)
        return await self._archive.session(session.id)

    async def sessions(
        self, *, limit: int = 50, offset: int = 0, prefix: str = "", owner: str | None = None
    ) -> list[Session]:
        """Sessions whose id begins so, the one that was last written to first."""
        return await self._archive.sessions(limit=limit, offset=offset, prefix=prefix, owner=owner)

    async def session(self, id: str, *, owner: str | None = None) -> Session:
        """The session of exactly this id."""
        found = await self._archive.session(id, owner=owner)
        if found.id != id:
            raise UnknownSession(f"No session is called {id}; the nearest is {found.id}.")
        return found

    async def fork(
        self, id: str, *, at: int | None = None, title: str | None = None, owner: str | None = None
    ) -> Session:
        """A session that shares everything up to message `at`, by default all, and goes its own way."""
        await self.session(id, owner=owner)
        return await self._archive.fork(id, at=at, title=title)

    async def delete(self, id: str, *, owner: str | None = None) -> int:
        """Remove a session; whoever is being answered in it is stopped. How many messages stay for forks."""
        await self.session(id, owner=owner)
        await self._stop(id)
        await self._places.forget(id)
        return await self._archive.delete(id)

    # What is in them

    async def log(
        self, id: str, first: int = 1, last: int | None = None, *, owner: str | None = None
    ) -> list[StoredMessage]:
        """Messages `first` to `last` as they were said."""
        await self.session(id, owner=owner)
        return await self._archive.messages(id, first, last)

    async def view(self, id: str, *, owner: str | None = None) -> list[Item]:
        """What the model sees."""
        await self.session(id, owner=owner)
        return await self._archive.items(id)

    async def compactions(
        self, id: str, *, limit: int = 100, owner: str | None = None
    ) -> list[CompactionEvent]:
        """What happened to the view, the newest last."""
        await self.session(id, owner=owner)
        return await self._archive.compactions(id, limit=limit)

    async def search(self, query: SearchQuery) -> SearchPage:
        """Messages that fit; the query names the owner."""
        if query.session is not None:
            await self.session(query.session, owner=query.owner)
        return await self._archive.search(query)

    async def pin(self, id: str, number: int, *, owner: str | None = None) -> list[int]:
        """Keep a message word for word through all compactions; all that are pinned then."""
        await self.session(id, owner=owner)
        await self._archive.pin(id, number)
        return await self._archive.pins(id)

    async def unpin(self, id: str, number: int, *, owner: str | None = None) -> list[int]:
        """Let a message go its way again; all that are pinned then."""
        await self.session(id, owner=owner)
        await self._archive.unpin(id, number)
        return await self._archive.pins(id)

    async def pins(self, id: str, *, owner: str | None = None) -> list[int]:
        """The pinned messages, in order."""
        await self.session(id, owner=owner)
        return await self._archive.pins(id)

    # Turns

    async def send(
        self,
        id: str,
        message: Message,
        *,
        key: str = "",
        emit: Emit = nothing,
        heard: Heard = nothing,
        owner: str | None = None,
    ) -> Exchange:
        """Say something in a session, after whoever is being answered in it, and wait for the answer.

        `heard` is told the message's number once it is stored. Whoever stops waiting stops the turn; `begin`
        starts one that goes on.
        """
        session = await self.session(id, owner=owner)
        async with self._places.turn(id) as opened:
            if not session.title:
                await self._archive.update_session(id, title=title_of([message]))
            conversation = opened.conversation
            noted = noting(emit, conversation.agent.line.card.name)
            return await conversation.exchange(message, noted, key=key, heard=heard)

    async def send_all(
        self, id: str, said: Sequence[tuple[str, Message]], *, emit: Emit = nothing, heard: Heard = nothing
    ) -> tuple[Exchange, int]:
        """Say several things, each with its key, and wait for one answer to them; how many of them it answers."""
        session = await self.session(id)
        async with self._places.turn(id) as opened:
            if not session.title:
                await self._archive.update_session(id, title=title_of(message for _, message in said))
            return await opened.conversation.exchange_all(said, emit, heard=heard)

    async def end(self, id: str) -> None:
        """A session is over for good, and another begins in its place: the engine is told."""
        async with self._places.turn(id) as opened:
            await opened.conversation.end(reset=True)

    def begin(
        self,
        id: str,
        message: Message,
        *,
        key: str = "",
        emit: Emit = nothing,
        heard: Heard = nothing,
        owner: str | None = None,
    ) -> "asyncio.Task[Exchange]":
        """The same as a task, which ends when it is cancelled, when the session is deleted, or with the gateway."""
        task = asyncio.create_task(self.send(id, message, key=key, emit=emit, heard=heard, owner=owner))
        turns = self._turns.setdefault(id, set())
        turns.add(task)
        task.add_done_callback(lambda done: self._ended(id, done))
        return task

    async def compact(
        self, id: str, focus: str | None = None, *, emit: Emit = nothing, owner: str | None = None
    ) -> CompactionEvent:
        """Make the view lighter now; the event says what came of it."""
        await self.session(id, owner=owner)
        async with self._places.turn(id) as opened:
            conversation = opened.conversation
            return await conversation.compress(noting(emit, conversation.agent.line.card.name), focus)

    async def undo(self, id: str, *, owner: str | None = None) -> Session:
        """Back to the view before the last compaction; what was said since stays."""
        await self.session(id, owner=owner)
        async with self._places.turn(id) as opened:
            await opened.conversation.undo()
        return await self._archive.session(id)

    def _ended(self, id: str, task: "asyncio.Task[Exchange]") -> None:
        turns = self._turns[id]
        turns.discard(task)
        if not turns:
            del self._turns[id]
        if not task.cancelled():
            task.exception()  # whoever waited has seen it; where nobody did, the log of the session tells

    async def _stop(self, id: str) -> None:
        turns = list(self._turns.get(id, ()))
        for task in turns:
            task.cancel()
        await asyncio.gather(*turns, return_exceptions=True)
