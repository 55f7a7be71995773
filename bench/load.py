"""Load for the gateway's bench: an upstream that costs next to nothing, and clients that measure.

python bench/load.py PORT     the upstream alone, which bench/gateway.py starts in a process of its own

Both are HTTP/1.1 by hand on asyncio: what is measured must not be the bench.
"""

import asyncio
import json
import sys
import time
from dataclasses import dataclass, field
from typing import cast

PIECES = 20  # events of a stream
KEY = "sk-bench-0f5d1c7b9a3e4d2f8b6a"  # means nothing to anybody but the peer that is measured
PAUSE = 0.05  # seconds between them
_USAGE = {"prompt_tokens": 420, "completion_tokens": 40, "total_tokens": 460}
_REPLY = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "gpt-4.1",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "Pier four. " * 8},
                "finish_reason": "stop",
            }
        ],
        "usage": _USAGE,
    }
).encode()
_WHOLE = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (
    len(_REPLY),
    _REPLY,
)
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _event(**delta: object) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    body = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "gpt-4.1", "choices": [choice]}
    return _chunk(b"data: " + json.dumps(body).encode() + b"\n\n")


_PIECE = _event(content="Pier four. ")
_END = _chunk(b"data: " + json.dumps({"choices": [], "usage": _USAGE}).encode() + b"\n\ndata: [DONE]\n\n")


class Upstream(asyncio.Protocol):
    """Answers every request with the same words."""

    def __init__(self) -> None:
        self._rest = b""
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._rest += data
        while (end := self._rest.find(b"\r\n\r\n")) >= 0:
            head = self._rest[:end].lower()
            place = head.find(b"content-length:")
            length = int(head[place + 15 :].split(b"\r\n", 1)[0]) if place >= 0 else 0
            if len(self._rest) < end + 4 + length:
                return
            body, self._rest = self._rest[end + 4 : end + 4 + length], self._rest[end + 4 + length :]
            self._answer(body)

    def _answer(self, body: bytes) -> None:
        if b'"stream": true' not in body and b'"stream":true' not in body:
            self._transport.write(_WHOLE)
            return
        task = asyncio.get_running_loop().create_task(self._stream())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _stream(self) -> None:
        self._transport.write(_HEAD + _PIECE)
        for _ in range(PIECES - 1):
            await asyncio.sleep(PAUSE)
            self._transport.write(_PIECE)
        self._transport.write(_END + b"0\r\n\r\n")


@dataclass(slots=True)
class Measured:
    """Seconds of each request: to its first byte, and to its last; per event of a stream, how late it was."""

    first: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    failed: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        return len(self.whole) / self.seconds if self.seconds else 0.0


def request(port: int, number: int, *, stream: bool = False, size: int = 1_500) -> bytes:
    """A request as bytes; each number is a conversation of its own."""
    messages = [
        {"role": "system", "content": "You know every ship in the harbour."},
        {
            "role": "user",
            "content": f"Ship {number}: where does it lie? " + "It came in with the tide. " * (size // 26),
        },
    ]
    body = json.dumps({"model": "gpt-4.1", "messages": messages, "stream": stream}).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
    )
    return f"{head}authorization: Bearer {KEY}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


async def client(port: int, requests: list[bytes], into: Measured, wait: float = 0.0) -> None:
    """One connection, one request after the other."""
    await asyncio.sleep(wait)
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    for one in requests:
        began = time.perf_counter()
        writer.write(one)
        head = await reader.readuntil(b"\r\n\r\n")
        low = head.lower()
        if b" 200 " not in head.split(b"\r\n", 1)[0]:
            into.failed += 1
        if b"transfer-encoding: chunked" in low:
            is_first = True
            while True:
                size = int(await reader.readline(), 16)
                await reader.readexactly(size + 2)
                if is_first:
                    into.first.append(time.perf_counter() - began)
                    is_first = False
                if size == 0:
                    break
        else:
            place = low.find(b"content-length:")
            await reader.readexactly(int(low[place + 15 :].split(b"\r\n", 1)[0]))
            into.first.append(time.perf_counter() - began)
        into.whole.append(time.perf_counter() - began)
    writer.close()


async def load(
    port: int, connections: int, each: int, *, stream: bool = False, start: int = 0, size: int = 1_500
) -> Measured:
    """So many connections at once, so many requests on each; streams begin one after the other, as people do."""
    into = Measured()
    began = time.perf_counter()
    apart = PIECES * PAUSE / connections if stream else 0.0
    await asyncio.gather(
        *(
            client(
                port,
                [request(port, start + c * each + n, stream=stream, size=size) for n in range(each)],
                into,
                c * apart,
            )
            for c in range(connections)
        )
    )
    into.seconds = time.perf_counter() - began
    return into


async def _serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Upstream, "127.0.0.1", port, backlog=2_048)
    await server.serve_forever()


if __name__ == "__main__":
    try:
        import uvloop

        uvloop.run(_serve(int(sys.argv[1])))
    except KeyboardInterrupt:
        pass
