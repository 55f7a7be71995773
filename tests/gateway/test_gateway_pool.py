"""A request is sent again only where a reused connection was closed before a byte of its answer, and once."""

import asyncio
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from plimsoll.errors import NetworkFailed
from plimsoll.gateway.upstream.pool import Pool, UpstreamCall
from plimsoll.providers import Timeouts

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
TOGETHER = 12  # requests under way at once, so that as many connections are kept


class ResettingServer:
    """Answers every request until it is told to reset connections, and counts how often each body arrives."""

    def __init__(self, resets: int = 0, before_reset: bytes = b"") -> None:
        self.arrived: list[bytes] = []
        self.connections = 0
        self.resets, self.before_reset = resets, before_reset
        self.is_resetting = False
        self._lock = threading.Lock()
        self._meeting = threading.Barrier(TOGETHER)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/v1"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as reader:
            while line := reader.readline():
                length = 0
                while line not in (b"\r\n", b""):
                    name, _, value = line.partition(b":")
                    length = int(value) if name.lower() == b"content-length" else length
                    line = reader.readline()
                body = reader.read(length)
                with self._lock:
                    self.arrived.append(body)
                    resets = self.is_resetting and self.resets > 0
                    self.resets -= resets
                if resets and self.before_reset:
                    connection.sendall(self.before_reset)  # then the end: a reset could overtake these bytes
                    return
                if resets:
                    # Closing with a linger time of zero sends a reset.
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return
                if body == b"together":
                    self._meeting.wait(30)  # so that each of them has a connection of its own
                connection.sendall(ANSWER)


@contextmanager
def resetting(resets: int, before_reset: bytes = b"") -> Iterator[ResettingServer]:
    server = ResettingServer(resets, before_reset)
    try:
        yield server
    finally:
        server.close()


async def answered(pool: Pool, server: ResettingServer, body: bytes) -> bytes:
    answer = await pool.send(UpstreamCall("POST", server.url, body=body))
    return await answer.read_all(100)


async def with_kept_connections(pool: Pool, server: ResettingServer) -> None:
    await asyncio.gather(*(answered(pool, server, b"together") for _ in range(TOGETHER)))
    assert server.connections == TOGETHER
    server.is_resetting = True


def test_a_reset_on_a_reused_connection_is_retried_on_a_fresh_one() -> None:
    async def run() -> None:
        pool = Pool(Timeouts())
        with resetting(resets=1) as server:
            await with_kept_connections(pool, server)
            assert await answered(pool, server, b"late") == b"ok"
            assert server.arrived.count(b"late") == 2
            assert server.connections == TOGETHER + 1  # not one of those that were kept
        pool.close()

    asyncio.run(run())


@pytest.mark.parametrize("resets", [2, TOGETHER, 100])
def test_a_request_whose_connections_are_reset_arrives_twice_at_most(resets: int) -> None:
    async def run() -> None:
        pool = Pool(Timeouts())
        with resetting(resets) as server:
            await with_kept_connections(pool, server)
            with pytest.raises(NetworkFailed):
                await answered(pool, server, b"late")
            assert server.arrived.count(b"late") == 2
        pool.close()

    asyncio.run(run())


def test_a_reset_on_a_fresh_connection_is_not_retried() -> None:
    async def run() -> None:
        pool = Pool(Timeouts())
        with resetting(resets=1) as server:
            server.is_resetting = True
            with pytest.raises(NetworkFailed):
                await answered(pool, server, b"first")
            assert server.arrived == [b"first"]
        pool.close()

    asyncio.run(run())


@pytest.mark.parametrize("begun", [b"H", b"HTTP/1.1 20", b"HTTP/1.1 100 Continue\r\n\r\n"])
def test_a_connection_that_ends_after_the_first_byte_of_an_answer_is_not_retried(begun: bytes) -> None:
    async def run() -> None:
        pool = Pool(Timeouts())
        with resetting(1, begun) as server:
            await with_kept_connections(pool, server)
            with pytest.raises(NetworkFailed):
                await answered(pool, server, b"late")
            assert server.arrived.count(b"late") == 1
        pool.close()

    asyncio.run(run())
