"""Everything that one owner can do with their sessions: over REST, in a room of a messaging platform, in a test.

The archive is the owner's, so sessions of others do not exist here, whatever id is given. An id
must be whole: what begins like a session is none. A message is stored before anything else is
done with it, and one that was sent with a key is run once, however often and to whichever
process it is sent again.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from plimsoll.agent import Emit, Event
from plimsoll.archive import (
    Archive,
    CompactionEvent,
    SearchPage,
    SearchQuery,
    Session,
    SessionOutline,
    StoredMessage,
    ViewItem,
    title_of,
)
from plimsoll.context.ledger import EVIDENCE
from plimsoll.errors import UnknownSession
from plimsoll.gateway.sessions.open_sessions import OpenSessions
from plimsoll.gateway.sessions.running_turns import RunningTurns
from plimsoll.gateway.sessions.session_opener import system_prompt
from plimsoll.gateway.telemetry.turn_usage import recording_usage
from plimsoll.messages import Message
from plimsoll.sessions import CompactionDetail, Exchange, SessionActions, acting

Heard = Callable[[int], None]
LimitsFor = Callable[[str], tuple[int, int]]  # the window of a model and its threshold, in tokens


def nothing(_event: Event | int) -> None:
    """For whoever does not watch."""


class OwnerSessions:
    """The sessions of one owner. `SessionService.for_owner` makes it."""

    def __init__(
        self,
        archive: Archive,
        open_sessions: OpenSessions,
        turns: RunningTurns,
        limits_for: LimitsFor,
        actor: str,
    ) -> None:
        self._archive, self._open_sessions, self._turns = archive, open_sessions, turns
        self.limits_for = limits_for
        self._actor = actor  # in the record of actions

    @property
    def archive(self) -> Archive:
        """The owner's archive."""
        return self._archive

    # Sessions

    async def create(self, *, title: str = "", prompt: str | None = None) -> Session:
        """A new session with a system prompt, the usual one where none is given."""
        session = await self._archive.create_session(title=title)
        system: Message = {"role": "system", "content": system_prompt() if prompt is None else prompt}
        await self._archive.append(session.id, [system], turn="begin", after=0)
        return await self._archive.session(session.id)

    async def sessions(self, *, limit: int = 50, offset: int = 0, prefix: str = "") -> list[Session]:
        """Sessions whose id begins so, the one that was last written to first."""
        return await self._archive.sessions(limit=limit, offset=offset, prefix=prefix)

    async def session(self, id: str) -> Session:
        """The session of exactly this id."""
        found = await self._archive.session(id)
        if found.id != id:
            raise UnknownSession(f"There is no session {id}; the nearest is {found.id}.")
        return found

    async def fork(self, id: str, *, at: int | None = None, title: str | None = None) -> Session:
        """A session that shares everything up to message `at`, by default all, and goes its own way."""
        return await (await self.actions(id)).fork(at=at, title=title)

    async def delete(self, id: str) -> int:
        """Remove a session; whoever is being answered in it is stopped. How many messages stay for forks."""
        await self.session(id)
        await self._turns.stop(self._archive.owner, id)
        await self._open_sessions.forget(self._archive.owner, id)
        return await self._archive.delete(id)

    # What is in them

    async def log(self, id: str, first: int = 1, last: int | None = None) -> list[StoredMessage]:
        """Messages `first` to `last` as they were said."""
        await self.session(id)
        return await self._archive.messages(id, first, last)

    async def outline(self, id: str, first: int = 1) -> SessionOutline:
        """Sizes of the messages from `first` on and of all views."""
        await self.session(id)
        return await self._archive.outline(id, first, f"## {EVIDENCE}")

    async def view(self, id: str) -> list[ViewItem]:
        """What the model sees."""
        await self.session(id)
        return await self._archive.items(id)

    async def compactions(self, id: str, *, limit: int = 100) -> list[CompactionEvent]:
        """List compactions, the newest last."""
        await self.session(id)
        return await self._archive.compactions(id, limit=limit)

    async def search(self, query: SearchQuery) -> SearchPage:
        """Messages that fit."""
        if query.session is not None:
            await self.session(query.session)
        return await self._archive.search(query)

    async def pin(self, id: str, number: int) -> list[int]:
        """Pin a message through all compactions; all that are pinned then."""
        return await (await self.actions(id)).pin(number)

    async def unpin(self, id: str, number: int) -> list[int]:
        """Unpin a message; all that are pinned then."""
        return await (await self.actions(id)).unpin(number)

    async def pins(self, id: str) -> list[int]:
        """The pinned messages, in order."""
        await self.session(id)
        return await self._archive.pins(id)

    # Turns

    async def send(
        self, id: str, message: Message, *, key: str = "", emit: Emit = nothing, heard: Heard = nothing
    ) -> Exchange:
        """Say something in a session, after whoever is being answered in it, and wait for the answer.

        `heard` is told the message's number once it is stored. Whoever stops waiting stops the turn; `begin`
        starts one that goes on.
        """
        session = await self.session(id)
        async with self._open_sessions.turn(self._archive, id) as opened:
            if not session.title:
                await self._archive.update_session(id, title=title_of([message]))
            conversation = opened.conversation
            noted = recording_usage(emit)
            return await conversation.exchange(message, noted, key=key, heard=heard)

    async def send_all(
        self, id: str, said: Sequence[tuple[str, Message]], *, emit: Emit = nothing, heard: Heard = nothing
    ) -> tuple[Exchange, int]:
        """Say several things, each with its key, and wait for one answer to them; how many of them it answers."""
        session = await self.session(id)
        async with self._open_sessions.turn(self._archive, id) as opened:
            if not session.title:
                await self._archive.update_session(id, title=title_of(message for _, message in said))
            return await opened.conversation.exchange_all(said, emit, heard=heard)

    async def end(self, id: str) -> None:
        """A session is over for good, and another begins in its place: the engine is told."""
        async with self._open_sessions.turn(self._archive, id) as opened:
            await opened.conversation.end(reset=True)

    def begin(
        self, id: str, message: Message, *, key: str = "", emit: Emit = nothing, heard: Heard = nothing
    ) -> "asyncio.Task[Exchange]":
        """The same as a task, which ends when it is cancelled, when the session is deleted, or with the gateway."""
        turn = self.send(id, message, key=key, emit=emit, heard=heard)
        return self._turns.start(self._archive.owner, id, turn)

    async def compact(self, id: str, focus: str | None = None, *, emit: Emit = nothing) -> CompactionEvent:
        """Compact now; the event says what came of it."""
        await self.session(id)
        async with self._open_sessions.turn(self._archive, id) as opened:
            conversation = opened.conversation
            return await conversation.compress(recording_usage(emit), focus, self._actor)

    async def preview(self, id: str, focus: str | None = None) -> CompactionDetail:
        """What `compact` would do, with a summary written by code; changes nothing."""
        await self.session(id)
        async with self._open_sessions.turn(self._archive, id) as opened:
            return await opened.conversation.preview(focus)

    # A person's actions, for which no model is needed

    async def actions(self, id: str) -> SessionActions:
        """What a person can do to a session at any time."""
        await self.session(id)
        return SessionActions(self._archive, id, self._actor)

    @asynccontextmanager
    async def acting(self, id: str) -> AsyncIterator[SessionActions]:
        """What a person can do to a session while no turn runs in it."""
        await self.session(id)
        async with acting(self._archive, id, self._actor) as actions:
            yield actions

    async def undo(self, id: str) -> Session:
        """Undo the last compaction or edit; what was said since stays."""
        async with self.acting(id) as actions:
            return (await actions.undo()).session
