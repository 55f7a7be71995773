"""uvicorn's HTTP protocol, with limits on everything in a request that is not its body.

    request line, headers, chunk sizes, trailers ──► counted until the next byte of a body
        too many: 431, too late: 408 ──► the connection is closed

The parser keeps a header of any length until its end, so the bytes are counted as they arrive. At most one read of
the socket (256 KB) is kept beyond the limit. Without the time limit, a client could hold connections open without a
key by sending its headers one byte at a time. A request that was answered before its body was complete (401, 408,
413) has a few seconds to end: closing at once could destroy the answer on its way to the client.

Trailers are ignored: they arrive after the headers were checked. A request that asks for an upgrade is an ordinary
request, body included. The parser stops at such a body and would read it as the next request on the connection.
"""

import asyncio
from typing import Any

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

DEFAULT_BYTES = 64_000
DEFAULT_SECONDS = 60.0


def _answer(status: bytes, body: bytes) -> bytes:
    return (
        b"HTTP/1.1 %s\r\ncontent-type: text/plain; charset=utf-8\r\n"
        b"content-length: %d\r\nconnection: close\r\n\r\n%s" % (status, len(body), body)
    )


_TOO_LARGE = _answer(
    b"431 Request Header Fields Too Large",
    b"The request line and the headers are too large (gateway.header_limit).",
)
_INVALID = "Invalid HTTP request received."
_FRAMING = (b"content-length", b"transfer-encoding")
_TOO_LATE = _answer(b"408 Request Timeout", b"The headers did not arrive in time (gateway.receive_seconds).")


class _HeadTooLarge(Exception):
    """Stops the parsing of a request."""


class LimitedProtocol(HttpToolsProtocol):
    """One connection. The limit in bytes is uvicorn's setting `h11_max_incomplete_event_size`, which uvicorn's own
    httptools protocol ignores. `head_seconds` is the time limit for the headers."""

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        head_seconds: float = DEFAULT_SECONDS,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.url = b""
        self.max_head_bytes = config.h11_max_incomplete_event_size or DEFAULT_BYTES
        self._bytes_without_body = 0  # received since the last byte of a body or the end of the headers
        self._read_bytes = 0  # bytes of the last read
        self._is_in_head = True
        self._framing = b""  # the headers that delimit the body at which the parser has stopped
        self._is_repeated_head = False
        self._head_seconds = head_seconds
        self._head_timer: asyncio.TimerHandle | None = None
        self._rest_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._request_is_over()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._read_bytes = len(data)
        self._bytes_without_body += len(data)
        self._unset_keepalive_if_required()
        self._parse(data)
        if self.transport.is_closing():
            return
        if self._bytes_without_body > self.max_head_bytes:
            self._refuse(_TOO_LARGE)
        elif self._is_in_head and self._bytes_without_body:
            self._wait_for_head()  # the first bytes of another request on this connection

    def _parse(self, data: bytes) -> None:
        while data:
            try:
                self.parser.feed_data(data)
                return
            except httptools.HttpParserError:
                self.logger.warning(_INVALID)
                self.send_400_response(_INVALID)
                return
            except httptools.HttpParserUpgrade as stopped:
                data = data[stopped.args[0] :]
                if self._framing:
                    self._read_body_after_upgrade()

    def _read_body_after_upgrade(self) -> None:
        """Give the parser the head of the request again, without what made it stop."""
        head, self._framing = b"POST / HTTP/1.1\r\n" + self._framing + b"\r\n", b""
        self._is_repeated_head = True
        self.parser.feed_data(head)
        self._is_repeated_head = False

    def on_message_begin(self) -> None:
        if not self._is_repeated_head:
            super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        if not self._is_repeated_head:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._is_repeated_head:
            return
        # Another request may begin in the middle of a read; those bytes are not counted as its own.
        may_be_too_large = self._bytes_without_body + self._read_bytes > self.max_head_bytes
        self._is_in_head, self._bytes_without_body = False, 0
        self._stop_waiting()
        if may_be_too_large and self._head_size() > self.max_head_bytes:
            raise _HeadTooLarge
        if self.parser.should_upgrade():
            framing = ((name, value) for name, value in self.headers if name in _FRAMING)
            self._framing = b"".join(b"%b: %b\r\n" % pair for pair in framing)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._bytes_without_body = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self._framing:
            return  # the body follows
        self._is_in_head, self._bytes_without_body = True, 0
        self._request_is_over()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        if not self._is_in_head and self._rest_timer is None:
            # uvicorn's own timer restarts with each byte that arrives.
            self._rest_timer = self.loop.call_later(self.timeout_keep_alive, self.transport.close)
        super().on_response_complete()

    def _should_upgrade(self) -> bool:
        return False  # no WebSocket here: an upgrade is an ordinary request, and the answer says so

    def send_400_response(self, msg: str) -> None:
        if self._head_size() > self.max_head_bytes:
            self._refuse(_TOO_LARGE)
        else:
            super().send_400_response(msg)

    def _head_size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers or ())

    def _wait_for_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self._head_seconds, self._head_is_late)

    def _stop_waiting(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _request_is_over(self) -> None:
        if self._rest_timer is not None:
            self._rest_timer.cancel()
            self._rest_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        if self.cycle is not None and not self.cycle.response_complete:
            self._wait_for_head()  # stray bytes after a request must not end its answer
        elif not self.transport.is_closing():
            self._refuse(_TOO_LATE)

    def _refuse(self, answer: bytes) -> None:
        is_answering = (
            self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete
        )
        if not is_answering:
            self.transport.write(answer)
        self.transport.close()
