"""Load for the gateway's bench: an upstream that costs next to nothing, and clients that measure.

python bench/load.py PORT              the upstream alone, which the benches start in a process of its own
python bench/load.py PORT --summaries  streams are summaries that are written at once: see isolation.py

    load      closed: each connection sends its next request when it has the answer to the last; for throughput
    streams   open: streams begin at times that nobody's slowness moves, so many that the asked number is under
              way at once, and their events are as far apart as a model's; for what a request waits

Both sides are HTTP/1.1 by hand on asyncio and run in processes of their own: what is measured must not be the bench.
"""

import asyncio
import json
import random
import re
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

PIECES = 100  # events of a stream
PAUSE = 0.05  # seconds between them: a model that writes 20 pieces a second
KEY = "sk-bench-0f5d1c7b9a3e4d2f8b6a"  # means nothing to anybody but the peer that is measured
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


# The clock of the machine is the same in all processes, so that each event tells the client how long it took.
_MOMENT = re.compile(rb'"sent":([0-9.]+)')
_EVENT = (
    b'data: {"id":"chatcmpl-1","object":"chat.completion.chunk","model":"gpt-4.1","sent":%.6f,'
    b'"choices":[{"index":0,"delta":{"content":"Pier four. "},"finish_reason":null}]}\n\n'
)


def _piece() -> bytes:
    return _chunk(_EVENT % time.monotonic())


_END = _chunk(b"data: " + json.dumps({"choices": [], "usage": _USAGE}).encode() + b"\n\ndata: [DONE]\n\n")


class Upstream(asyncio.Protocol):
    """Answers every request with the same words."""

    def __init__(self) -> None:
        self._rest = self._line = b""  # what has come, and the first line of the request

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
            self._line = head.split(b"\r\n", 1)[0]
            self._answer(body)

    def _answer(self, body: bytes) -> None:
        if b'"stream": true' not in body and b'"stream":true' not in body:
            self._transport.write(_WHOLE)
            return
        self._stream()

    def _stream(self) -> None:
        self._transport.write(_HEAD + _piece())
        asyncio.get_running_loop().call_later(PAUSE, self._next, 1)

    def _next(self, number: int) -> None:
        if self._transport.is_closing():
            return
        if number == PIECES:
            self._transport.write(_END + b"0\r\n\r\n")
            return
        self._transport.write(_piece())
        asyncio.get_running_loop().call_later(PAUSE, self._next, number + 1)


_SUMMARY = """## Goal
Read the files that the user names and tell what is in them.
## Constraints & Preferences
(none)
## Progress
### Done
Read every file up to the last one.
### In Progress
The file that the user asked for last.
### Blocked
(none)
## Key Decisions
(none)
## Relevant Files
(none)
## Next Steps
Go on.
## Critical Context
(none)
"""


def _summary_events() -> bytes:
    said = ({"choices": [{"index": 0, "delta": {"content": line}}]} for line in _SUMMARY.splitlines(True))
    lines = b"".join(_chunk(b"data: " + json.dumps(one).encode() + b"\n\n") for one in said)
    return _HEAD + lines + _END + b"0\r\n\r\n"


class SummaryUpstream(Upstream):
    """The same, but a stream is a summary, whole at once: what is left is the gateway's own work."""

    _summary = _summary_events()

    def _stream(self) -> None:
        self._transport.write(self._summary)


@dataclass(slots=True)
class Measured:
    """Seconds of each request to its first byte and to its last; of each event of a stream, how long it took."""

    first: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    events: list[float] = field(default_factory=list)
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


async def client(port: int, requests: list[bytes], into: Measured) -> None:
    """One connection, one answer after the other, whole or as a stream."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    for one in requests:
        began = time.perf_counter()
        writer.write(one)
        head = await reader.readuntil(b"\r\n\r\n")
        low = head.lower()
        if b" 200 " not in head.split(b"\r\n", 1)[0]:
            into.failed += 1
        place = low.find(b"content-length:")
        if place >= 0:
            await reader.readexactly(int(low[place + 15 :].split(b"\r\n", 1)[0]))
        else:
            await reader.readuntil(b"\r\n0\r\n\r\n")
        into.first.append(time.perf_counter() - began)
        into.whole.append(time.perf_counter() - began)
    writer.close()


async def load(
    port: int,
    connections: int,
    each: int,
    *,
    start: int = 0,
    size: int = 1_500,
    make: Callable[..., bytes] = request,
) -> Measured:
    """So many connections at once, so many requests on each; `make` writes a request."""
    into = Measured()
    began = time.perf_counter()
    await asyncio.gather(
        *(
            client(port, [make(port, start + c * each + n, size=size) for n in range(each)], into)
            for c in range(connections)
        )
    )
    into.seconds = time.perf_counter() - began
    return into


class Listener(asyncio.Protocol):
    """One connection of a client that reads streams, one after the other."""

    def __init__(self, into: Measured, idle: "deque[Listener]") -> None:
        self._into, self._idle = into, idle
        self.counts = self._is_first = True
        self._began = 0.0
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def ask(self, request: bytes, counts: bool) -> None:
        """Begin a stream; whether it counts."""
        self.counts, self._is_first, self._began = counts, True, time.perf_counter()
        self.ended = asyncio.get_running_loop().create_future()
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        now = time.monotonic()
        for sent in _MOMENT.findall(data):
            if self._is_first:
                self._is_first = False
                if self.counts:
                    self._into.first.append(time.perf_counter() - self._began)
            elif self.counts:
                self._into.events.append(now - float(sent))
        if data.endswith(b"\r\n0\r\n\r\n"):
            if self.counts:
                self._into.whole.append(time.perf_counter() - self._began)
            self._idle.append(self)
            self.ended.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self._into.failed += 1
            self.ended.set_result(None)


async def streams(port: int, at_once: int, seconds: float, *, start: int = 0, size: int = 1_500) -> Measured:
    """Streams that begin at random, `at_once` of them under way, for so many seconds of measuring.

    Those that begin before as many are under way are not counted, nor those that begin while the others end.
    """
    into, idle, loop = Measured(), deque[Listener](), asyncio.get_running_loop()
    lasts, dice, moment, number = PIECES * PAUSE, random.Random(start), 0.0, 0
    running: list[asyncio.Future[None]] = []
    began = loop.time()
    while moment < lasts + seconds:
        one = idle.popleft() if idle else None
        if one is None:
            _, one = await loop.create_connection(lambda: Listener(into, idle), "127.0.0.1", port)
        await asyncio.sleep(max(0.0, began + moment - loop.time()))
        one.ask(request(port, start + number, stream=True, size=size), moment >= lasts)
        running.append(one.ended)
        moment, number = moment + dice.expovariate(at_once / lasts), number + 1
    await asyncio.gather(*running)
    for one in idle:
        one.transport.close()
    into.seconds = seconds
    return into


async def _serve(port: int, upstream: type[Upstream]) -> None:
    server = await asyncio.get_running_loop().create_server(upstream, "127.0.0.1", port, backlog=2_048)
    await server.serve_forever()


if __name__ == "__main__":
    try:
        import uvloop

        uvloop.run(_serve(int(sys.argv[1]), SummaryUpstream if "--summaries" in sys.argv else Upstream))
    except KeyboardInterrupt:
        pass
