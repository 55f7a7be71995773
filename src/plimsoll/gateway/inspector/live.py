"""`GET /sessions/{id}/live`: server-sent events for everyone who watches a growing session.

    one poll per session and process ─► watchers: event "changed" {"messages": 12, "view": 3, "requests": 5, …}

Other processes write to the same archive and no store sends notifications, so the session's row is read every half
second while it is watched. The event has numbers only; the page fetches what it does not have yet.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any

from starlette.routing import BaseRoute, Route

from plimsoll.archive import Archive, Owner
from plimsoll.dialects.sse import json_event
from plimsoll.errors import PlimsollError
from plimsoll.gateway.asgi import ClientDisconnected, Receive, Scope, Send, caller_in
from plimsoll.gateway.http.body import disconnected
from plimsoll.gateway.http.problems import problem_of, send_problem
from plimsoll.gateway.http.responses import EVENTS
from plimsoll.gateway.sessions.endpoint import Service

POLL_SECONDS = 0.5
QUIET_SECONDS = 15.0
# Then the page reconnects: a stopping gateway need not wait longer, and a revoked key is refused.
STREAM_SECONDS = 20.0
_NO_STORE = (b"cache-control", b"no-store")
State = dict[str, Any]


async def state_of(archive: Archive, id: str) -> State:
    """The state that a watcher compares: it differs when anything in the session has changed."""
    session, used = await archive.session(id), await archive.usage_total(id)
    return {
        "messages": session.messages,
        "tokens": session.tokens,
        "view": session.view,
        "updated": session.updated,
        "title": session.title,
        "requests": used.requests,
        "pins": await archive.pins(id),
    }


class _Watched:
    """One watched session: its newest state, and a condition that signals a new one."""

    def __init__(self) -> None:
        self.watchers = 0
        self.state: State = {}
        self.is_gone = False
        self.changed = asyncio.Condition()
        self.task: asyncio.Task[None] | None = None

    async def follow(self, archive: Archive, id: str) -> None:
        """Poll until there are no watchers or the session is deleted."""
        while not self.is_gone:
            try:
                state = await state_of(archive, id)
            except PlimsollError:
                await self.end()
                return
            if state != self.state:
                async with self.changed:
                    self.state = state
                    self.changed.notify_all()
            await asyncio.sleep(POLL_SECONDS)

    async def end(self) -> None:
        """End the watchers' streams."""
        async with self.changed:
            self.is_gone, self.state = True, {}
            self.changed.notify_all()


class LiveSessions:
    """The watched sessions, by owner and id."""

    def __init__(self) -> None:
        self._watched: dict[tuple[Owner, str], _Watched] = {}
        self._is_closed = False

    async def close(self) -> None:
        """End all streams, because a stopping server would wait for them."""
        self._is_closed = True
        for watched in self._watched.values():
            await watched.end()

    async def states(self, archive: Archive, id: str) -> AsyncGenerator[State | None, None]:
        """Yield each new state, the current one first; None after a while without one. Ends with the session."""
        if self._is_closed:
            return
        key = (archive.owner, id)
        watched = self._watched.setdefault(key, _Watched())
        watched.watchers += 1
        if watched.task is None:
            watched.task = asyncio.create_task(watched.follow(archive, id))
        try:
            seen: State = {}
            while not watched.is_gone:
                async with watched.changed:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(QUIET_SECONDS):
                            await watched.changed.wait_for(lambda: watched.is_gone or watched.state != seen)  # noqa: B023
                is_new, seen = watched.state != seen, watched.state
                if not watched.is_gone:
                    yield seen if is_new else None
        finally:
            watched.watchers -= 1
            if not watched.watchers:
                self._watched.pop(key, None)
                watched.task.cancel()


class LiveEndpoint:
    """The events of one session as an ASGI application."""

    def __init__(self, service: Service, live: LiveSessions) -> None:
        self._service, self._live = service, live

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        own = self._service().for_owner(caller_in(scope).archive_owner)
        try:
            session = await own.session(scope["path_params"]["id"])
        except PlimsollError as error:
            await send_problem(send, problem_of(error))
            return
        sending = asyncio.create_task(self._sent(own.archive, session.id, send))
        gone = asyncio.create_task(disconnected(receive))
        # A stopping server cancels its remaining requests; for a watcher this is the end of the stream.
        with suppress(asyncio.CancelledError):
            await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
        for task in (sending, gone):
            task.cancel()
        await asyncio.gather(sending, gone, return_exceptions=True)

    async def _sent(self, archive: Archive, id: str, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [EVENTS, _NO_STORE]})
        with suppress(ClientDisconnected):
            with suppress(TimeoutError):
                async with (
                    asyncio.timeout(STREAM_SECONDS),
                    aclosing(self._live.states(archive, id)) as states,
                ):
                    async for state in states:
                        piece = (
                            b": still here\n\n" if state is None else json_event(state, "changed").encode()
                        )
                        await send({"type": "http.response.body", "body": piece, "more_body": True})
            # Without its end the client would take the response for a failure, and wait before it connects again.
            await send({"type": "http.response.body", "body": b"", "more_body": False})


def live_routes(service: Service, live: LiveSessions) -> list[BaseRoute]:
    """The route of the events."""
    return [Route("/sessions/{id}/live", LiveEndpoint(service, live), methods=["GET"])]
