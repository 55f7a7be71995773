"""Everything that one owner can do with their sessions, over REST or in a room of a messaging platform.

The archive is the owner's, so other owners' sessions cannot be reached with any id. An id must be complete; prefixes
do not count. A message is stored before anything else happens with it. A message with an idempotency key runs once,
even if it is sent again to another process.
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
from plimsoll.sessions import CompactionDetail, Exchange, SessionActions, open_actions

OnStored = Callable[[int], None]
LimitsFor = Callable[[str], tuple[int, int]]  # the window of a model and its threshold, in tokens


def ignore_event(_event: Event | int) -> None:
    """Ignore the event; the default listener."""


class OwnerSessions:
    """The sessions of one owner. Created by `SessionService.for_owner`."""

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
        self._actor = actor  # the name in recorded actions

    @property
    def archive(self) -> Archive:
        """The owner's archive."""
        return self._archive

    # Sessions

    async def create(self, *, title: str = "", prompt: str | None = None) -> Session:
        """Create a session, with the default system prompt if none is given."""
        session = await self._archive.create_session(title=title)
        system: Message = {"role": "system", "content": system_prompt() if prompt is None else prompt}
        await self._archive.append(session.id, [system], turn="begin", after=0)
        return await self._archive.session(session.id)

    async def sessions(self, *, limit: int = 50, offset: int = 0, prefix: str = "") -> list[Session]:
        """Sessions whose id starts with `prefix`, most recently written first."""
        return await self._archive.sessions(limit=limit, offset=offset, prefix=prefix)

    async def session(self, id: str) -> Session:
        """The session with exactly this id."""
        found = await self._archive.session(id)
        if found.id != id:
            raise UnknownSession(f"There is no session {id}; the nearest is {found.id}.")
        return found

    async def fork(self, id: str, *, at: int | None = None, title: str | None = None) -> Session:
        """Create a session that shares everything up to message `at` (by default all) and continues separately."""
        return await (await self.actions(id)).fork(at=at, title=title)

    async def delete(self, id: str) -> int:
        """Delete a session and stop its turn. Returns how many messages stay for forks."""
        await self.session(id)
        await self._turns.stop(self._archive.owner, id)
        await self._open_sessions.forget(self._archive.owner, id)
        return await self._archive.delete(id)

    # Contents

    async def log(self, id: str, first: int = 1, last: int | None = None) -> list[StoredMessage]:
        """Messages `first` to `last` of the log."""
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
        """Compactions, newest last."""
        await self.session(id)
        return await self._archive.compactions(id, limit=limit)

    async def search(self, query: SearchQuery) -> SearchPage:
        """Messages that match."""
        if query.session is not None:
            await self.session(query.session)
        return await self._archive.search(query)

    async def pin(self, id: str, number: int) -> list[int]:
        """Pin a message, so that every compaction keeps it. Returns all pinned messages."""
        return await (await self.actions(id)).pin(number)

    async def unpin(self, id: str, number: int) -> list[int]:
        """Unpin a message. Returns all pinned messages."""
        return await (await self.actions(id)).unpin(number)

    async def pins(self, id: str) -> list[int]:
        """The pinned messages, in order."""
        await self.session(id)
        return await self._archive.pins(id)

    # Turns

    async def send(
        self,
        id: str,
        message: Message,
        *,
        key: str = "",
        emit: Emit = ignore_event,
        on_stored: OnStored = ignore_event,
    ) -> Exchange:
        """Send a message to a session, after its earlier messages, and wait for the answer.

        Calls `on_stored` with the message's number once it is stored. Cancelling the call stops the turn; `begin`
        starts one that continues.
        """
        session = await self.session(id)
        async with self._open_sessions.turn(self._archive, id) as opened:
            if not session.title:
                await self._archive.update_session(id, title=title_of([message]))
            conversation = opened.conversation
            noted = recording_usage(emit)
            return await conversation.exchange(message, noted, key=key, on_stored=on_stored)

    async def send_all(
        self,
        id: str,
        messages: Sequence[tuple[str, Message]],
        *,
        emit: Emit = ignore_event,
        on_stored: OnStored = ignore_event,
    ) -> tuple[Exchange, int]:
        """Send several messages, each with its key, and wait for one answer. Also returns how many it answers."""
        session = await self.session(id)
        async with self._open_sessions.turn(self._archive, id) as opened:
            if not session.title:
                await self._archive.update_session(id, title=title_of(message for _, message in messages))
            return await opened.conversation.exchange_all(messages, emit, on_stored=on_stored)

    async def end(self, id: str) -> None:
        """End a session for good and notify its engine; another session replaces it."""
        async with self._open_sessions.turn(self._archive, id) as opened:
            await opened.conversation.end(reset=True)

    def begin(
        self,
        id: str,
        message: Message,
        *,
        key: str = "",
        emit: Emit = ignore_event,
        on_stored: OnStored = ignore_event,
    ) -> "asyncio.Task[Exchange]":
        """Like `send`, as a task. It ends when it is cancelled, the session is deleted, or the gateway stops."""
        turn = self.send(id, message, key=key, emit=emit, on_stored=on_stored)
        return self._turns.start(self._archive.owner, id, turn)

    async def compact(
        self, id: str, focus: str | None = None, *, emit: Emit = ignore_event
    ) -> CompactionEvent:
        """Compact now. The event describes the result."""
        await self.session(id)
        async with self._open_sessions.turn(self._archive, id) as opened:
            conversation = opened.conversation
            return await conversation.compress(recording_usage(emit), focus, self._actor)

    async def preview(self, id: str, focus: str | None = None) -> CompactionDetail:
        """What `compact` would do, with an extracted summary. Changes nothing."""
        await self.session(id)
        async with self._open_sessions.turn(self._archive, id) as opened:
            return await opened.conversation.preview(focus)

    # Users' actions, which need no model

    async def actions(self, id: str) -> SessionActions:
        """The actions that are possible at any time."""
        await self.session(id)
        return SessionActions(self._archive, id, self._actor)

    @asynccontextmanager
    async def open_actions(self, id: str) -> AsyncIterator[SessionActions]:
        """The actions that are possible while no turn runs; waits for the current turn."""
        await self.session(id)
        async with open_actions(self._archive, id, self._actor) as actions:
            yield actions

    async def undo(self, id: str) -> Session:
        """Undo the last compaction or edit; later messages stay."""
        async with self.open_actions(id) as actions:
            return (await actions.undo()).session
