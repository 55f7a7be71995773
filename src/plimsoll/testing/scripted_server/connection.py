"""HTTP/1.1 over one connection, implemented here so that tests can break it.

A response can end in four ways: normally, by closing in the middle, by a reset, and
never. Request bodies may have a known length or be chunked.
"""

import asyncio
import contextlib
import json
import re
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any

_HEADER_LIMIT = 65_536
_LINGER = 1.0  # seconds in which a client that is still sending may read the error
_SIZE = re.compile(rb"[0-9a-fA-F]{1,15}")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One HTTP request; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str] = field(repr=False)  # contains the key
    body: bytes = field(repr=False)
    is_too_large: bool = False


class BadHttp(Exception):
    """The received data is not an HTTP request; `request` is what arrived before the error."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status
        self.request = HttpRequest("", "", {}, b"")


class HttpConnection:
    """One client connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.is_open = True

    async def read(self, max_bytes: int) -> HttpRequest | None:
        """The next request; None if the client has disconnected."""
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            if error.partial.strip():
                raise BadHttp("the connection ended within the headers") from error
            return None
        except asyncio.LimitOverrunError as error:
            raise BadHttp(f"headers of more than {_HEADER_LIMIT} bytes", 431) from error
        first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        words = first.split(" ")
        if len(words) != 3:
            raise BadHttp(f"not a request line: {first[:80]!r}")
        headers = {
            name.strip().lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)
        }
        if headers.get("expect", "").lower() == "100-continue":
            await self._write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request = HttpRequest(words[0], words[1].partition("?")[0], headers, b"")
        try:
            body, is_too_large = await self._body(headers, max_bytes)
        except BadHttp as error:
            error.request = request
            raise
        return replace(request, body=body, is_too_large=is_too_large)

    async def gone(self) -> None:
        """Wait until the client closes the connection."""
        while await self._reader.read(_HEADER_LIMIT):
            pass

    async def send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """Send a complete response."""
        await self._write(_head(status, {**headers, "content-length": str(len(body))}) + body)

    async def send_json(self, status: int, headers: Mapping[str, str], body: dict[str, Any]) -> None:
        """A whole response that holds an object."""
        data = json.dumps(body, ensure_ascii=False).encode("utf-8", "backslashreplace")
        await self.send(status, {"content-type": "application/json", **headers}, data)

    async def send_part(self, status: int, headers: Mapping[str, str], body: bytes, length: int) -> None:
        """Send the first `length` bytes of a response that announces more, then close the connection."""
        await self._write(_head(status, {**headers, "content-length": str(len(body))}) + body[:length])
        self.close()

    async def begin(self, headers: Mapping[str, str]) -> None:
        """Send the headers of a streamed response."""
        kind = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
        await self._write(_head(200, {**kind, **headers, "transfer-encoding": "chunked"}))

    async def chunk(self, data: bytes, is_whole: bool = True) -> None:
        """Send a chunk; an incomplete one announces more bytes than it contains."""
        size = len(data) if is_whole else 2 * len(data)
        await self._write(f"{size:x}\r\n".encode() + data + (b"\r\n" if is_whole else b""))

    async def end(self) -> None:
        """End a streamed response normally."""
        await self._write(b"0\r\n\r\n")

    async def end_after_error(self) -> None:
        """Close the connection once the client has read the error or a second has passed.

        Closing with unread data resets the connection, and the client would lose the error.
        """
        with contextlib.suppress(TimeoutError, OSError):  # the client may have left already
            self._writer.write_eof()
            await asyncio.wait_for(self.gone(), _LINGER)
        self.close()

    def close(self) -> None:
        """Close the connection after sending all written data."""
        self.is_open = False
        self._writer.close()

    def reset(self) -> None:
        """Reset the connection."""
        self.is_open = False
        plain = self._writer.get_extra_info("socket")
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def _write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def _body(self, headers: Mapping[str, str], max_bytes: int) -> tuple[bytes, bool]:
        coding, length = headers.get("transfer-encoding", "").lower(), headers.get("content-length") or "0"
        if coding == "chunked":
            return await self._chunked(max_bytes)
        if coding:
            raise BadHttp("transfer-encoding is not chunked", 501)
        if not re.fullmatch("[0-9]{1,15}", length):
            raise BadHttp("content-length is not a number")
        left = int(length)
        if left <= max_bytes:
            return await self._exactly(left), False
        # Read the body anyway, because a client that is still sending would not see the response.
        while left > 0 and (piece := await self._reader.read(min(left, _HEADER_LIMIT))):
            left -= len(piece)
        return b"", True

    async def _chunked(self, max_bytes: int) -> tuple[bytes, bool]:
        body, is_too_large = bytearray(), False
        while True:
            try:
                line = (await self._reader.readline()).split(b";")[0].strip()
            except ValueError as error:  # a line beyond the limit
                raise BadHttp("not a chunk") from error
            if not _SIZE.fullmatch(line):
                raise BadHttp("not a chunk")
            size = int(line, 16)
            piece = (await self._exactly(size + 2))[:size]
            if size == 0:
                return bytes(body), is_too_large
            is_too_large = is_too_large or len(body) + size > max_bytes
            body = bytearray() if is_too_large else body + piece

    async def _exactly(self, size: int) -> bytes:
        try:
            return await self._reader.readexactly(size)
        except asyncio.IncompleteReadError as error:
            raise BadHttp("the connection ended within the body") from error


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Overloaded" if status == 529 else "Unknown"
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
