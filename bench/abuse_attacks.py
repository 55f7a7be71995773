"""Abusive clients of bench/abuse.py: bad bodies, slow clients, and clients that disconnect.

They speak HTTP by hand, because no client library sends what they send. A bad request must be refused with a status
below 500 (503 while the disk is full), and every connection must end in time.
"""

import asyncio
import json
import random
import socket
import struct
import time
from contextlib import suppress
from urllib.parse import quote

from abuse_traffic import MODEL, Observed, Owner, said

_LONGEST = 90.0  # seconds for which the gateway may keep the connection of an abusive client
_FULL_OR_BUSY = 503


class Attacker:
    """Sends one abuse after the other until the time is over."""

    def __init__(self, number: int, owner: Owner, port: int, observed: Observed) -> None:
        self._random = random.Random(number)
        self._owner, self._port, self._observed, self._count = owner, port, observed, 0

    async def bad_requests(self, until: float) -> None:
        """Everything that is no valid request, in turn."""
        samples = _bad_requests(self._owner)
        while time.monotonic() < until:
            for name, head, body in samples:
                await self._send_bad(name, head, body)
                await asyncio.sleep(self._random.uniform(0.02, 0.2))
                if time.monotonic() >= until:
                    return

    async def slow_requests(self, until: float) -> None:
        """A request that arrives byte by byte, or an answer that nobody reads."""
        while time.monotonic() < until:
            if self._random.random() < 0.5:
                await self._bounded("slow sender", self._send_slowly())
            else:
                await self._bounded("slow reader", self._read_slowly())

    async def disconnects(self, until: float) -> None:
        """Clients that leave in the middle of a request, of an answer, or with a reset."""
        while time.monotonic() < until:
            await self._bounded("disconnect", self._leave())
            await asyncio.sleep(self._random.uniform(0.05, 0.3))

    async def _bounded(self, name: str, work: object) -> None:
        try:
            async with asyncio.timeout(_LONGEST):
                with suppress(OSError, asyncio.IncompleteReadError):
                    await work  # type: ignore[misc]
        except TimeoutError:
            self._observed.mishandled.append(f"{name}: the connection stayed open for {_LONGEST:.0f} s")
        self._observed.abuse[name] += 1

    async def _send_bad(self, name: str, head: bytes, body: bytes) -> None:
        began, status = time.monotonic(), 0
        try:
            async with asyncio.timeout(_LONGEST):
                with suppress(OSError, asyncio.IncompleteReadError):
                    status = await self._status(head, body)
        except TimeoutError:
            self._observed.mishandled.append(f"{name}: no answer within {_LONGEST:.0f} s")
            return
        if status >= 500 and status != _FULL_OR_BUSY:
            self._observed.mishandled.append(f"{name}: status {status}")
        elif 0 < status < 400:
            self._observed.mishandled.append(f"{name}: served with status {status}")
        elif status == 0 and not self._observed.was_severed(began, time.monotonic()):
            self._observed.abuse["bad request, connection closed"] += 1
        else:
            self._observed.abuse[f"bad request, {status or 'severed by a kill'}"] += 1

    async def _status(self, head: bytes, body: bytes) -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            writer.write(head + body)
            with suppress(OSError):
                await writer.drain()
            line = await reader.readline()
            return int(line.split()[1]) if line.startswith(b"HTTP/1.1 ") else 0
        finally:
            writer.close()

    def _request(self, stream: bool) -> tuple[bytes, bytes]:
        self._count += 1
        name = f"{self._owner.name}-openai-{self._random.randrange(10**9)}-{self._count}"
        messages = [{"role": "user", "content": said(self._owner, name)}]
        body = json.dumps({"model": MODEL, "messages": messages, "stream": stream, "max_tokens": 400})
        path = self._random.choice(["/v1/chat/completions", "/v1/messages"])
        return _head("POST", path, self._owner.key, len(body)), body.encode()

    async def _send_slowly(self) -> None:
        """Send the headers, or headers and body, at a pace at which they never arrive in time."""
        head, body = self._request(stream=False)
        data, at_once = head + body, self._random.choice([0, len(head)])
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        cut_off = asyncio.create_task(reader.read())
        try:
            writer.write(data[:at_once])
            for place in range(at_once, len(data)):
                if cut_off.done():
                    return
                writer.write(data[place : place + 1])
                await writer.drain()
                await asyncio.wait({cut_off}, timeout=1.0)
        finally:
            cut_off.cancel()
            writer.close()

    async def _read_slowly(self) -> None:
        """Ask for a stream and take a few bytes a second."""
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
        connection.setblocking(False)
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_connect(connection, ("127.0.0.1", self._port))
            await loop.sock_sendall(connection, b"".join(self._request(stream=True)))
            for _ in range(40):
                if not await loop.sock_recv(connection, 64):
                    return
                await asyncio.sleep(0.5)
        finally:
            connection.close()

    async def _leave(self) -> None:
        head, body = self._request(stream=True)
        _, writer = await asyncio.open_connection("127.0.0.1", self._port)
        part = self._random.choice([len(head) // 2, len(head) + len(body) // 2, len(head) + len(body)])
        writer.write((head + body)[:part])
        await writer.drain()
        await asyncio.sleep(self._random.uniform(0.0, 0.4))
        if self._random.random() < 0.5:
            # A reset instead of a proper end.
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.close()


def _head(method: str, path: str, key: str, length: int, extra: str = "") -> bytes:
    lines = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n"
    return f"{lines}content-type: application/json\r\ncontent-length: {length}\r\n{extra}\r\n".encode(
        "latin-1"
    )


def _bad_requests(owner: Owner) -> list[tuple[str, bytes, bytes]]:
    """Requests of a name, a head and a body, each of which must be refused."""
    key, chat, messages = owner.key, "/v1/chat/completions", "/v1/messages"
    deep = b'{"model":"m","messages":' + b"[" * 50_000 + b"]" * 50_000 + b"}"
    wide = b'{"model":"m","messages":[' + b"[]," * 400_000 + b"[]]}"
    bodies = {
        "no JSON": b"{not json",
        "empty body": b"",
        "bytes that are not UTF-8": b'{"model":"\xff\xfe","messages":[]}',
        "a list": b"[1,2,3]",
        "nested": deep,
        "elements": wide,
        "long model name": json.dumps(
            {"model": "m" * 300_000, "messages": [{"role": "user", "content": "x"}]}
        ).encode(),
        "messages of a wrong type": b'{"model":"m","messages":"hello"}',
        "half of a surrogate pair": b'{"model":"m","messages":"\\ud800"}',
        "infinite number": b'{"model":"m","messages":1e999999}',
        "zero bytes": bytes(5_000),
    }
    made = [
        (f"{name} to {path}", _head("POST", path, key, len(body)), body)
        for name, body in bodies.items()
        for path in (chat, messages, "/sessions")
        if not (name == "empty body" and path == "/sessions")  # a session needs no settings
    ]
    paths = {
        "recursive pattern": f"/search?mode=regex&text={quote('(?R)')}",
        "large repeat": f"/search?mode=regex&text={quote('a{10000000}')}",
        "nested pattern": f"/search?mode=regex&text={quote('(' * 450 + ')' * 450)}",
        "foreign session": "/sessions/20200101-000000-no-such-thing/messages",
        "dot segments": "/v1/models/..%2ffiles",
        "unknown path": "/admin",
        "zero byte in a path": "/sessions/%00/view",
        "cursor": "/search?text=tide&cursor=%FF%00",
    }
    made += [(name, _head("GET", path, key, 0), b"") for name, path in paths.items()]
    return [
        *made,
        ("wrong key", _head("POST", chat, "plim-wrong", 2), b"{}"),
        ("page of another site", _head("POST", chat, key, 2, "sec-fetch-site: cross-site\r\n"), b"{}"),
        ("headers", _head("POST", chat, key, 2, f"x-large: {'h' * 200_000}\r\n"), b"{}"),
        ("negative length", _head("POST", chat, key, -5), b""),
        ("no HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b""),
    ]
