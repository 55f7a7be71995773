"""Do small requests wait for the compactions of others? Open loop, one gateway process, everything on this machine.

python bench/isolation.py                60 s of each, in four rounds
python bench/isolation.py --seconds 10   less of it

    idle          100 small requests a second, at times that nobody's slowness moves
    compactions   conversations of 200,000 tokens, each new, one compaction after the other
    both          at the same time

Bars: the p99 of small requests under compactions is at most 3 times the idle one, and compactions run at no less
than 0.7 of the rate that they have alone. Both are ratios of one run, whose parts take turns, because machines differ
and are busy with other work.
"""

import argparse
import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from gateway import free_port, percentile, running
from load import KEY, request

HERE = Path(__file__).parent
RATE = 100  # small requests a second
TOKENS = 200_000
WINDOW = 200_000
ROUNDS = 4
P99_BAR, RATE_BAR = 3.0, 0.7


class Wire:
    """Connections to one port, kept while they are unused."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def ask(self, data: bytes) -> tuple[int, bytes]:
        """The status and the head of the answer to one request."""
        reader, writer = (
            self._idle.pop()
            if self._idle
            else await asyncio.open_connection("127.0.0.1", self._port, limit=1_000_000)
        )
        writer.write(data)
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        self._idle.append((reader, writer))
        return int(head.split()[1]), head

    def forget(self) -> None:
        """Close what is unused: the gateway does so too, after some seconds."""
        while self._idle:
            self._idle.pop()[1].close()


async def small_requests(wire: Wire, seconds: float, numbers: Iterator[int], port: int) -> list[float]:
    """What each of them took, counted from the moment at which it should have been sent."""
    start = time.perf_counter()

    async def one(at: float, data: bytes) -> float:
        status, _ = await wire.ask(data)
        assert status == 200, status
        return time.perf_counter() - at

    tasks = []
    for tick in range(int(seconds * RATE)):
        at = start + tick / RATE
        data = request(port, next(numbers))
        await asyncio.sleep(max(0.0, at - time.perf_counter()))
        tasks.append(asyncio.create_task(one(at, data)))
    return list(await asyncio.gather(*tasks))


def texts() -> list[str]:
    """Listings as tools print them; making them takes longer than sending them."""
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnoprstu", k=chance.randint(3, 9))) for _ in range(2_000)]

    def line(number: int) -> str:
        return f"{number}: {' '.join(chance.choices(words, k=8))} = {chance.randint(0, 9_999)}"

    return ["\n".join(line(number) for number in range(60)) for _ in range(500)]


def conversation(port: int, number: int, listings: list[str]) -> bytes:
    """A request with a conversation of so many tokens, as an agent has it, that nobody has seen before."""
    chance = random.Random(number)
    messages: list[dict[str, object]] = [{"role": "system", "content": f"You are agent {number}."}]
    for turn, listing in enumerate(chance.choices(listings, k=TOKENS // 1_250)):
        said = listing.splitlines()
        call = {"name": "read_file", "arguments": json.dumps({"path": f"src/{said[0].split()[1]}.py"})}
        messages += [
            {"role": "user", "content": f"{number}.{turn} {' '.join(said[10:17])}"},
            {
                "role": "assistant",
                "content": " ".join(said[20:23]),
                "tool_calls": [{"id": f"c{turn}", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": f"c{turn}", "content": listing},
            {"role": "assistant", "content": " ".join(said[30:36])},
        ]
    messages.append({"role": "user", "content": "Go on."})
    # The upstream reports the same usage for everything, from which the gateway would learn a wrong ratio by model.
    body = json.dumps({"model": f"bench-{number}", "messages": messages}).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {KEY}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def compactions(wire: Wire, seconds: float, bodies: Iterator[bytes]) -> tuple[int, float]:
    """How many were done, one after the other, and in how many seconds."""
    start, done = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        status, head = await wire.ask(next(bodies))
        assert status == 200, status
        assert b"x-plimsoll-view: compacted" in head, head
        done += 1
    return done, time.perf_counter() - start


async def measure(
    port: int, seconds: float, ready: list[bytes]
) -> tuple[list[float], list[float], float, float]:
    """Small requests alone and under compactions; compactions a second alone and under small requests."""
    small, large, numbers = Wire(port), Wire(port), count(1)
    bodies = iter(ready)
    await compactions(large, 0.01, bodies)  # the worker process starts
    await small_requests(small, 1.0, numbers, port)
    idle: list[float] = []
    busy: list[float] = []
    alone, beside = [0.0, 0.0], [0.0, 0.0]
    for _ in range(ROUNDS):
        part = seconds / ROUNDS
        small.forget()
        idle += await small_requests(small, part, numbers, port)
        large.forget()
        done, took = await compactions(large, part, bodies)
        alone = [alone[0] + done, alone[1] + took]
        small.forget()
        waited, (done, took) = await asyncio.gather(
            small_requests(small, part, numbers, port), compactions(large, part, bodies)
        )
        busy += waited
        beside = [beside[0] + done, beside[1] + took]
    return idle, busy, alone[0] / alone[1], beside[0] / beside[1]


def main() -> int:
    """Measure, print, and say whether the bars hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each part")
    parser.add_argument(
        "--workers", type=int, default=1, help="compaction_workers of the gateway; 0: threads"
    )
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        upstream, port = free_port(), free_port()
        (Path(home) / "config.yaml").write_text(
            f"model:\n  provider: bench\n  base_url: http://127.0.0.1:{upstream}/v1\n  context_length: {WINDOW}\n"
            f"gateway:\n  log: 'off'\n"
            f"  compaction_workers: {asked.workers}\n"
        )
        most = int(asked.seconds * 2 * 4) + 4  # a compaction takes at least a quarter of a second
        listings = texts()
        ready = [conversation(port, number, listings) for number in range(most)]
        serve = [sys.executable, str(HERE / "load.py"), str(upstream)]
        gateway = [sys.executable, "-m", "plimsoll.gateway", "--port", str(port)]
        with running(serve, upstream), running(gateway, port, PLIMSOLL_HOME=home):
            idle, busy, alone, beside = asyncio.run(measure(port, asked.seconds, ready))
    ratio, share = percentile(busy, 0.99) / percentile(idle, 0.99), beside / alone
    for name, found in (("idle", idle), ("under compactions", busy)):
        print(
            f"small requests, {name}: median {statistics.median(found) * 1e3:.1f} ms, "
            f"p99 {percentile(found, 0.99):.1f} ms ({len(found):,} requests)"
        )
    print(f"compactions of {TOKENS:,} tokens: {alone:.2f}/s alone, {beside:.2f}/s beside small requests")
    print(f"p99 {ratio:.2f} times the idle one (bar {P99_BAR}); compactions at {share:.2f} (bar {RATE_BAR})")
    return int(ratio > P99_BAR or share < RATE_BAR)


if __name__ == "__main__":
    sys.exit(main())
