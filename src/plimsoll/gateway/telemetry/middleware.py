"""Wraps every request: collects its facts for metrics, the log and traces.

    TelemetryMiddleware ─► Authentication ─► paths        the outermost, so that refused requests are counted too

It adds some microseconds and one header, `x-plimsoll-request`, which identifies the line in the log.
"""

import asyncio
import os
import secrets
import time
from collections.abc import MutableMapping
from itertools import count
from typing import Any

from plimsoll.gateway.asgi import App, ClientDisconnected, Receive, Scope, Send
from plimsoll.gateway.telemetry.dispatcher import TelemetryDispatcher
from plimsoll.gateway.telemetry.request_facts import CURRENT, RequestFacts

REQUEST_HEADER = b"x-plimsoll-request"
MAX_BODY_BYTES = 65_536  # bytes of a request and of a reply in the log, if contents are logged


class _UnsentPiece:
    """The piece of an answer that a client has not read yet, and the task that waits for it."""

    __slots__ = ("facts", "is_late", "is_waiting", "since", "task")

    def __init__(self, facts: RequestFacts) -> None:
        self.facts, self.since, self.is_late, self.is_waiting = facts, 0.0, False, False
        self.task: asyncio.Task[Any] | None = None


class TelemetryMiddleware:
    """ASGI middleware. `send_seconds` is how long a client may take to read a piece of its answer."""

    def __init__(self, app: App, dispatcher: TelemetryDispatcher, send_seconds: float) -> None:
        self._app, self._dispatcher, self._send_seconds = app, dispatcher, send_seconds
        self._prefix = f"{os.getpid():x}-{secrets.token_hex(3)}-"
        self._numbers = count(1)
        self._pieces: set[_UnsentPiece] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        facts = RequestFacts(
            id=f"{self._prefix}{next(self._numbers):x}",
            method=scope["method"],
            path=scope["path"],
            began=time.time(),
            start=time.perf_counter(),
            listener=self._dispatcher,
        )
        if self._dispatcher.has_contents:
            facts.bodies = (bytearray(), bytearray())
            receive = _recording(receive, facts.bodies[0])
        if self._dispatcher.has_traces:
            facts.traceparent = dict(scope["headers"]).get(b"traceparent", b"").decode("latin-1")
        token = CURRENT.set(facts)
        self._dispatcher.begun()
        piece = _UnsentPiece(facts)
        self._pieces.add(piece)
        if self._timer is None:
            self._start_timer()
        try:
            await self._app(scope, receive, _sending(send, piece))
        except BaseException as error:
            facts.error = type(error).__name__
            raise
        finally:
            CURRENT.reset(token)
            self._pieces.discard(piece)
            self._dispatcher.ended(facts, scope, time.perf_counter())

    def _start_timer(self) -> None:
        """Use one timer for all requests: a timer for each piece would cost more than sending it."""
        self._timer = asyncio.get_running_loop().call_later(self._send_seconds / 4, self._cut_off)

    def _cut_off(self) -> None:
        self._timer = None
        late = time.perf_counter() - self._send_seconds
        for piece in self._pieces:
            if piece.task is not None and piece.is_waiting and piece.since < late:
                piece.is_late = True
                piece.task.cancel()
        if self._pieces:
            self._start_timer()


def _sending(send: Send, piece: _UnsentPiece) -> Send:
    facts = piece.facts

    async def sending(message: MutableMapping[str, Any]) -> None:
        now = time.perf_counter()
        if message["type"] == "http.response.start":
            facts.status = message["status"]
            named = (REQUEST_HEADER, facts.id.encode())
            message = {**message, "headers": [*message.get("headers", ()), named]}
        else:
            body = message.get("body", b"")
            if facts.first_byte is None and body:
                facts.first_byte = now
            facts.sent_bytes += len(body)
            if facts.bodies is not None:
                _keep(facts.bodies[1], body)
        if piece.task is None:
            piece.task = asyncio.current_task()  # one task sends all pieces of an answer
        piece.since, piece.is_waiting = now, True
        try:
            await send(message)
        except asyncio.CancelledError:
            if not piece.is_late or piece.task is None:
                raise
            piece.task.uncancel()
            facts.error = "ClientStalled"
            raise ClientDisconnected from None
        finally:
            piece.is_waiting = False

    return sending


def _recording(receive: Receive, body: bytearray) -> Receive:
    async def receiving() -> MutableMapping[str, Any]:
        message = await receive()
        _keep(body, message.get("body", b""))
        return message

    return receiving


def _keep(body: bytearray, piece: bytes) -> None:
    room = MAX_BODY_BYTES - len(body)
    if room > 0:
        body += piece[:room]
