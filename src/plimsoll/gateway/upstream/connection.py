"""One HTTP/1.1 connection to an upstream: sends a request, receives the head and the pieces of its answer.

    send ─► head() ─► read_chunk() · read_chunk() · … · b""        then it can serve the next request

The parser is llhttp's. Reading pauses while pieces are not consumed, so that a slow client slows its own upstream and
uses no memory. A caller that stops in the middle closes the connection.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import cast

import httptools

from plimsoll.gateway.asgi import Header

HIGH_WATER = 256 * 1024  # unread bytes at which reading from the socket pauses


class ConnectionBroken(Exception):
    """The connection ended, or the answer is not HTTP. `is_unused`: no byte of an answer arrived."""

    def __init__(self, words: str, *, is_unused: bool = False) -> None:
        super().__init__(words)
        self.is_unused = is_unused


class Connection(asyncio.Protocol):
    """An open connection; one request at a time."""

    def __init__(self) -> None:
        self.is_closed = False
        self.uses = 0
        self.status = 0
        self.headers: list[Header] = []
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._pieces: deque[bytes] = deque()
        self._waiting = 0  # bytes in `_pieces`
        self._waiter: asyncio.Future[None] | None = None
        self._deadline = 0.0
        self._alarm: asyncio.TimerHandle | None = None
        self._has_bytes = self._has_head = self._is_whole = self._is_paused = False
        self._ends_with_connection = self._is_kept = False
        self._failure: ConnectionBroken | None = None

    # Called by the pool and the relay

    def send(self, method: str, target: str, headers: Sequence[Header], body: bytes) -> None:
        """Start a request; read the answer with `head` and `piece`."""
        if self._transport is None or self.is_closed:
            raise ConnectionBroken("the connection was closed", is_unused=True)
        self.uses += 1
        self.status, self.headers = 0, []
        self._pieces.clear()
        self._waiting = 0
        self._has_bytes = self._has_head = self._is_whole = False
        self._ends_with_connection = self._is_kept = False
        self._parser = httptools.HttpResponseParser(self)
        lines = [f"{method} {target} HTTP/1.1".encode("ascii")]
        lines += [name + b": " + value for name, value in headers]
        if method != "GET":
            lines.append(b"content-length: %d" % len(body))
        self._transport.write(b"\r\n".join(lines) + b"\r\n\r\n" + body)

    async def head(self, seconds: float) -> None:
        """Wait for the status and the headers."""
        while not self._has_head:
            await self._wait(seconds)

    async def read_chunk(self, seconds: float) -> bytes:
        """The next bytes of the body; empty at its end."""
        while not self._pieces:
            if self._is_whole:
                return b""
            await self._wait(seconds)
        piece = self._pieces.popleft() if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces.clear()
        self._waiting = 0
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
        return piece

    @property
    def is_reusable(self) -> bool:
        """Whether the answer was read to its end and the server keeps the connection open."""
        return self._is_whole and not self.is_closed and not self._ends_with_connection and self._is_kept

    def close(self) -> None:
        """Close at once; unread data is lost."""
        self.is_closed = True
        if self._transport is not None:
            self._transport.abort()

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._parser is None or self._is_whole:
            self.close()  # unsolicited data
            return
        self._has_bytes = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._fail(ConnectionBroken(f"the answer is not HTTP: {error}"))
            self.close()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_closed = True
        if self._alarm is not None:
            self._alarm.cancel()
        if self._has_head and not self._is_whole and self._ends_with_connection and exc is None:
            self._is_whole = True
        elif not self._is_whole:
            words = str(exc) if exc else "the connection was closed in the middle of the answer"
            self._fail(ConnectionBroken(words, is_unused=not self._has_bytes))
        self._wake()

    # Called by the parser

    def on_message_begin(self) -> None:
        self.headers = []

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        status = self._parser.get_status_code()
        if status < 200:
            return  # informational (1xx); the answer follows
        self.status, self._has_head = status, True
        self._is_kept = bool(self._parser.should_keep_alive())  # known only at this point
        named = {name for name, _ in self.headers}
        self._ends_with_connection = not named & {b"content-length", b"transfer-encoding"}

    def on_body(self, body: bytes) -> None:
        self._pieces.append(body)
        self._waiting += len(body)
        if self._waiting > HIGH_WATER and not self._is_paused and self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        if self._has_head:
            self._is_whole = True

    def _fail(self, failure: ConnectionBroken) -> None:
        self._failure = self._failure or failure

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _wait(self, seconds: float) -> None:
        """Wait for an event; raises if none can come or none came in time."""
        if self._failure is not None:
            raise self._failure
        if self.is_closed:
            raise ConnectionBroken("the connection was closed", is_unused=not self._has_bytes)
        waiter = self._waiter = self._loop.create_future()
        ends = self._deadline = self._loop.time() + seconds
        # One timer for many waits: a stream has thousands of them, and few time out.
        if self._alarm is None or self._alarm.when() > ends:
            self._set_alarm(seconds)
        try:
            await waiter
        finally:
            self._waiter = None

    def _set_alarm(self, seconds: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = self._loop.call_later(seconds, self._give_up)

    def _give_up(self) -> None:
        """The time of an earlier wait is over; check the deadline of the current one."""
        self._alarm = None
        if self._waiter is None or self._waiter.done():
            return
        left = self._deadline - self._loop.time()
        if left > 0:
            self._set_alarm(left)
        else:
            self._waiter.set_exception(TimeoutError())
