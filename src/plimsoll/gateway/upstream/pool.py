"""Connections to the upstreams, kept for the next request.

    send ─► a kept connection, or a new one ─► response ─► read to its end ─► kept again

The server may close a kept connection at the moment it is used. A request that got no byte of an answer is then sent
again once, on a new connection; on a new connection nothing is sent twice.
Every failure is a `ProviderError`.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import urlsplit

from plimsoll.errors import ProviderError
from plimsoll.gateway.asgi import Header
from plimsoll.gateway.upstream.connection import Connection, ConnectionBroken
from plimsoll.messages.printable import one_line
from plimsoll.providers import Timeouts
from plimsoll.providers.error_messages import ErrorSource, error_for
from plimsoll.secrets import masked

MAX_KEPT = 512  # per upstream


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port."""

    is_secure: bool
    host: str
    port: int

    @property
    def shown(self) -> str:
        """The address as text, such as https://host:443."""
        return f"{'https' if self.is_secure else 'http'}://{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class UpstreamCall:
    """One request to an upstream. `secrets` never appear in errors."""

    method: str
    url: str
    headers: tuple[Header, ...] = ()
    body: bytes = b""
    provider: str = ""
    model: str = ""
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def origin(self) -> Origin:
        """The server to which the request goes."""
        return _split(self.url)[0]

    @property
    def target(self) -> str:
        """Path and query for the request line."""
        return _split(self.url)[1]


@lru_cache(256)
def _split(url: str) -> tuple[Origin, str]:
    parts = urlsplit(url)
    is_secure = parts.scheme == "https"
    origin = Origin(is_secure, parts.hostname or "", parts.port or (443 if is_secure else 80))
    return origin, f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"


class UpstreamResponse:
    """A response whose head has arrived. Read it to its end, or close it."""

    def __init__(self, pool: "Pool", call: UpstreamCall, connection: Connection, timeouts: Timeouts) -> None:
        self.call = call
        self.status = connection.status
        self.headers = connection.headers
        self._pool, self._connection, self._timeouts = pool, connection, timeouts
        self._is_closed = False
        self._unread = deque[bytes]()

    def unread(self, pieces: Iterable[bytes]) -> None:
        """Return chunks that were read ahead; the next reads yield them again."""
        self._unread.extend(pieces)

    async def read_chunk(self) -> bytes:
        """The next bytes; empty at the end."""
        if self._unread:
            return self._unread.popleft()
        if self._is_closed:
            return b""
        seconds = self._timeouts.between_chunks
        try:
            piece = await self._connection.read_chunk(seconds)
        except TimeoutError:
            raise self._pool.error(self.call, "timeout", f"nothing arrived for {seconds:g} s") from None
        except ConnectionBroken as error:
            raise self._pool.error(self.call, "broken", str(error)) from None
        if not piece:
            self.close()
        return piece

    async def read_all(self, max_bytes: int) -> bytes:
        """The whole body; raises `BrokenReply` if it has more than `max_bytes` bytes."""
        pieces, size = [], 0
        while piece := await self.read_chunk():
            pieces.append(piece)
            size += len(piece)
            if size > max_bytes:
                self.close()
                raise self._pool.error(self.call, "broken", f"it has more than {max_bytes:,} bytes")
        return b"".join(pieces)

    def close(self) -> None:
        """Keep the connection if it was read to its end, else close it. Idempotent."""
        if not self._is_closed:
            self._is_closed = True
            self._pool.give_back(self.call.origin, self._connection)


class Pool:
    """All connections of one process."""

    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._kept: dict[Origin, deque[Connection]] = {}
        self._secure: ssl.SSLContext | None = None

    async def send(self, call: UpstreamCall, first_byte: float | None = None) -> UpstreamResponse:
        """Send a request and wait for the head of its response."""
        seconds = self._timeouts.first_byte if first_byte is None else first_byte
        kept = self._take(call.origin)
        if kept is not None:
            try:
                return await self._send(call, kept, seconds)
            except ConnectionBroken as error:
                if not error.is_unused:
                    raise self._network_error(call, error) from None
        # Not another kept one: they may all have been closed for the same reason.
        fresh = await self._open(call)
        try:
            return await self._send(call, fresh, seconds)
        except ConnectionBroken as error:
            raise self._network_error(call, error) from None

    async def _send(self, call: UpstreamCall, connection: Connection, seconds: float) -> UpstreamResponse:
        """Send a request on one connection and return the response. Closes the connection if none comes."""
        try:
            connection.send(call.method, call.target, self._headers(call), call.body)
            await connection.head(seconds)
        except TimeoutError:
            connection.close()
            raise self.error(call, "timeout", f"nothing arrived for {seconds:g} s") from None
        except BaseException:  # also when the client has disconnected
            connection.close()
            raise
        return UpstreamResponse(self, call, connection, self._timeouts)

    def _network_error(self, call: UpstreamCall, error: ConnectionBroken) -> ProviderError:
        return self.error(call, "network", f"{call.origin.shown}: {error}")

    def give_back(self, origin: Origin, connection: Connection) -> None:
        """Keep a connection that can serve another request; close any other."""
        kept = self._kept.setdefault(origin, deque())
        if connection.is_reusable and len(kept) < MAX_KEPT:
            kept.append(connection)
        else:
            connection.close()

    def close(self) -> None:
        """Close all kept connections."""
        for kept in self._kept.values():
            while kept:
                kept.pop().close()

    def error(self, call: UpstreamCall, kind: str, words: str) -> ProviderError:
        """A failure as an error message without keys."""
        return error_for(
            kind, ErrorSource(call.provider, call.model, words=one_line(masked(words, call.secrets)))
        )

    def _take(self, origin: Origin) -> Connection | None:
        kept = self._kept.get(origin)
        while kept:
            connection = kept.pop()  # the most recently used is most likely still open
            if not connection.is_closed:
                return connection
        return None

    async def _open(self, call: UpstreamCall) -> Connection:
        origin, loop = call.origin, asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._timeouts.connect):
                _, connection = await loop.create_connection(
                    Connection, origin.host, origin.port, ssl=self._context() if origin.is_secure else None
                )
        except TimeoutError:
            reason = f"no connection within {self._timeouts.connect:g} s"
            raise self.error(call, "timeout", reason) from None
        except OSError as error:
            raise self.error(call, "network", f"{origin.shown}: {error.strerror or error}") from None
        return connection

    def _context(self) -> ssl.SSLContext:
        if self._secure is None:
            self._secure = ssl.create_default_context()
        return self._secure

    @staticmethod
    def _headers(call: UpstreamCall) -> Sequence[Header]:
        origin = call.origin
        usual = 443 if origin.is_secure else 80
        host = f"[{origin.host}]" if ":" in origin.host else origin.host
        named = host if origin.port == usual else f"{host}:{origin.port}"
        return ((b"host", named.encode("idna" if not named.isascii() else "ascii")), *call.headers)
