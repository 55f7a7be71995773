"""HTTP as uvicorn speaks it, with a limit on the request line and the headers.

    bytes ──► counted until the headers are complete ──► too many: 431, and the connection is closed

The parser keeps a header until its end, whatever its length, so the bytes are counted as they arrive. At most one
read of the socket (256 KB) is kept beyond the limit.
"""

import asyncio
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

DEFAULT_BYTES = 64_000
_TOLD = b"The request line and the headers are too large (gateway.header_limit)."
_ANSWER = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: %d\r\nconnection: close\r\n\r\n%s" % (len(_TOLD), _TOLD)
)


class _HeadTooLarge(Exception):
    """Ends the parsing of a request."""


class LimitedProtocol(HttpToolsProtocol):
    """One connection. The limit is `h11_max_incomplete_event_size`, uvicorn's setting of this meaning, which its
    own protocol on httptools ignores."""

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.url = b""
        self.most = config.h11_max_incomplete_event_size or DEFAULT_BYTES
        self._head_bytes = 0
        self._is_in_head = True

    def data_received(self, data: bytes) -> None:
        if self._is_in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._is_in_head and self._head_bytes > self.most and not self.transport.is_closing():
            self._refuse()

    def on_headers_complete(self) -> None:
        self._is_in_head, self._head_bytes = False, 0
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > self.most:
            raise _HeadTooLarge
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_in_head = True
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers or ()) > self.most:
            self._refuse()
        else:
            super().send_400_response(msg)

    def _refuse(self) -> None:
        self.transport.write(_ANSWER)
        self.transport.close()
