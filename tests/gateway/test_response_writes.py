"""How the bytes of a response are written: its head with the start of its body, and a stream's head at once."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any, cast

import uvicorn

from plimsoll.gateway.asgi import App, Receive, Scope, Send
from plimsoll.gateway.http.protocol import LimitedProtocol

SECONDS = 30.0


class RecordingProtocol(LimitedProtocol):
    """Records what is written to the socket."""

    writes: list[bytes]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(cast(asyncio.Transport, _Recorder(transport, self.writes)))


class _Recorder:
    def __init__(self, transport: asyncio.Transport, writes: list[bytes]) -> None:
        self._transport, self._writes = transport, writes

    def write(self, data: bytes) -> None:
        self._writes.append(bytes(data))
        self._transport.write(data)

    def writelines(self, pieces: tuple[bytes, ...]) -> None:
        self.write(b"".join(pieces))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def answered(app: App, read: Callable[[asyncio.StreamReader], Awaitable[None]]) -> list[bytes]:
    """The writes for one request to this application."""

    async def run() -> list[bytes]:
        writes: list[bytes] = []
        protocol = type("Protocol", (RecordingProtocol,), {"writes": writes})
        listening = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(app, http=protocol, log_level="error", lifespan="off")
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve([listening]))
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        writer.write(b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        await asyncio.wait_for(read(reader), SECONDS)
        writer.close()
        server.should_exit = True
        await asyncio.wait_for(serving, SECONDS)
        return writes

    return asyncio.run(run())


def test_a_whole_response_is_one_write():
    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        headers = [(b"content-length", b"5")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"ahoy!"})

    async def read(reader: asyncio.StreamReader) -> None:
        await reader.readuntil(b"ahoy!")

    (written,) = answered(app, read)
    assert written.startswith(b"HTTP/1.1 200 OK\r\n")
    assert written.endswith(b"\r\n\r\nahoy!")


def test_the_head_of_a_stream_does_not_wait_for_its_first_event():
    is_read = asyncio.Event()

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await is_read.wait()
        await send({"type": "http.response.body", "body": b"ahoy!"})

    async def read(reader: asyncio.StreamReader) -> None:
        await reader.readuntil(b"\r\n\r\n")
        is_read.set()
        await reader.readuntil(b"ahoy!")

    assert len(answered(app, read)) == 2


def test_a_connection_that_closes_after_the_head_sends_the_head():
    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        headers = [(b"content-length", b"0"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 204, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def read(reader: asyncio.StreamReader) -> None:
        assert (await reader.read()).startswith(b"HTTP/1.1 204 ")

    answered(app, read)
