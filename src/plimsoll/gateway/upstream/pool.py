"""Connections to the upstreams, kept for the next request.

    ask ─► a kept connection, or a new one ─► answer ─► read to its end ─► kept again

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
from plimsoll.providers.error_messages import Said, error_for
from plimsoll.secrets import masked

MOST_KEPT = 512  # per upstream


@dataclass(frozen=True, slots=True)
class Place:
    """Scheme, host and port."""

    is_secure: bool
    host: str
    port: int

    @property
    def shown(self) -> str:
        """The address as text, such as https://host:443."""
        return f"{'https' if self.is_secure else 'http'}://{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Call:
    """One request to an upstream. `secrets` never appear in errors."""

    method: str
    url: str
    headers: tuple[Header, ...] = ()
    body: bytes = b""
    provider: str = ""
    model: str = ""
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def place(self) -> Place:
        """Where the request goes."""
        return _split(self.url)[0]

    @property
    def target(self) -> str:
        """Path and query for the request line."""
        return _split(self.url)[1]


@lru_cache(256)
def _split(url: str) -> tuple[Place, str]:
    parts = urlsplit(url)
    is_secure = parts.scheme == "https"
    place = Place(is_secure, parts.hostname or "", parts.port or (443 if is_secure else 80))
    return place, f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"


class Answer:
    """An answer whose head has arrived. Read its pieces to the end, or close it."""

    def __init__(self, pool: "Pool", call: Call, connection: Connection, timeouts: Timeouts) -> None:
        self.call = call
        self.status = connection.status
        self.headers = connection.headers
        self._pool, self._connection, self._timeouts = pool, connection, timeouts
        self._is_closed = False
        self._put_back = deque[bytes]()

    def put_back(self, pieces: Iterable[bytes]) -> None:
        """Return pieces that were read ahead; they come next again."""
        self._put_back.extend(pieces)

    async def piece(self) -> bytes:
        """The next bytes; empty at the end."""
        if self._put_back:
            return self._put_back.popleft()
        if self._is_closed:
            return b""
        seconds = self._timeouts.between_chunks
        try:
            piece = await self._connection.piece(seconds)
        except TimeoutError:
            raise self._pool.error(self.call, "timeout", f"nothing arrived for {seconds:g} s") from None
        except ConnectionBroken as error:
            raise self._pool.error(self.call, "broken", str(error)) from None
        if not piece:
            self.close()
        return piece

    async def whole(self, most: int) -> bytes:
        """The whole body; raises `BrokenReply` if it has more than `most` bytes."""
        pieces, size = [], 0
        while piece := await self.piece():
            pieces.append(piece)
            size += len(piece)
            if size > most:
                self.close()
                raise self._pool.error(self.call, "broken", f"it has more than {most:,} bytes")
        return b"".join(pieces)

    def close(self) -> None:
        """Keep the connection if it was read to its end, else close it. Idempotent."""
        if not self._is_closed:
            self._is_closed = True
            self._pool.give_back(self.call.place, self._connection)


class Pool:
    """All connections of one process."""

    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._kept: dict[Place, deque[Connection]] = {}
        self._secure: ssl.SSLContext | None = None

    async def ask(self, call: Call, first_byte: float | None = None) -> Answer:
        """Send a request and wait for the head of its answer."""
        seconds = self._timeouts.first_byte if first_byte is None else first_byte
        kept = self._take(call.place)
        if kept is not None:
            try:
                return await self._asked(call, kept, seconds)
            except ConnectionBroken as error:
                if not error.is_unused:
                    raise self._network_error(call, error) from None
        # Not another kept one: they may all have been closed for the same reason.
        fresh = await self._open(call)
        try:
            return await self._asked(call, fresh, seconds)
        except ConnectionBroken as error:
            raise self._network_error(call, error) from None

    async def _asked(self, call: Call, connection: Connection, seconds: float) -> Answer:
        """The answer over one connection. Closes it if none comes."""
        try:
            connection.send(call.method, call.target, self._headers(call), call.body)
            await connection.head(seconds)
        except TimeoutError:
            connection.close()
            raise self.error(call, "timeout", f"nothing arrived for {seconds:g} s") from None
        except BaseException:  # also when the client has disconnected
            connection.close()
            raise
        return Answer(self, call, connection, self._timeouts)

    def _network_error(self, call: Call, error: ConnectionBroken) -> ProviderError:
        return self.error(call, "network", f"{call.place.shown}: {error}")

    def give_back(self, place: Place, connection: Connection) -> None:
        """Keep a connection that can serve another request; close any other."""
        kept = self._kept.setdefault(place, deque())
        if connection.is_reusable and len(kept) < MOST_KEPT:
            kept.append(connection)
        else:
            connection.close()

    def close(self) -> None:
        """Close all kept connections."""
        for kept in self._kept.values():
            while kept:
                kept.pop().close()

    def error(self, call: Call, kind: str, words: str) -> ProviderError:
        """A failure as an error message without keys."""
        return error_for(kind, Said(call.provider, call.model, words=one_line(masked(words, call.secrets))))

    def _take(self, place: Place) -> Connection | None:
        kept = self._kept.get(place)
        while kept:
            connection = kept.pop()  # the most recently used is most likely still open
            if not connection.is_closed:
                return connection
        return None

    async def _open(self, call: Call) -> Connection:
        place, loop = call.place, asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._timeouts.connect):
                _, connection = await loop.create_connection(
                    Connection, place.host, place.port, ssl=self._context() if place.is_secure else None
                )
        except TimeoutError:
            reason = f"no connection within {self._timeouts.connect:g} s"
            raise self.error(call, "timeout", reason) from None
        except OSError as error:
            raise self.error(call, "network", f"{place.shown}: {error.strerror or error}") from None
        return connection

    def _context(self) -> ssl.SSLContext:
        if self._secure is None:
            self._secure = ssl.create_default_context()
        return self._secure

    @staticmethod
    def _headers(call: Call) -> Sequence[Header]:
        place = call.place
        usual = 443 if place.is_secure else 80
        host = f"[{place.host}]" if ":" in place.host else place.host
        named = host if place.port == usual else f"{host}:{place.port}"
        return ((b"host", named.encode("idna" if not named.isascii() else "ascii")), *call.headers)
