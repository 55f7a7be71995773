"""Do small requests wait for the compactions of others? Open loop, one gateway process, everything on this machine.

python bench/isolation.py                60 s of each, in four rounds
python bench/isolation.py --seconds 10   less of it
python bench/isolation.py --workers 0    compactions in threads of the gateway

    idle          100 small requests a second, at times that nobody's slowness moves
    compactions   conversations of 200,000 tokens, each new, one compaction after the other
    both          at the same time

Bars: the p99 of small requests beside compactions is at most 3 times the idle one, and compactions run at no less
than 0.7 of the rate that they have alone. Both are ratios of one run, whose parts take turns, because machines differ
and are busy with other work.
On a machine that is busy with other work, the idle p99 rises too and the first ratio says little: an idle p99 of more
than 3 ms means that the run was disturbed.

The summary model answers at once, so that compactions are nothing but work of the gateway: with a model that takes
seconds, the gateway would mostly wait. Clients and upstream stand for other machines. They are processes of their own
with a higher priority where the system allows it, and the delay with which small requests are sent is reported.
"""

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import uvloop

from figures import report
from gateway import free_port, percentile, running
from load import KEY, request

HERE = Path(__file__).parent
RATE = 100  # small requests a second
TOKENS = 200_000
WINDOW = 200_000
TURN_TOKENS = 1_090  # of one turn of `conversation`, by the gateway's own estimate
ROUNDS = 4
PRIORITY = -10
P99_BAR, RATE_BAR = 3.0, 0.7


@dataclass(slots=True)
class Small:
    """Seconds that small requests took from the moment they were sent, and how late they were sent."""

    took: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Large:
    """Compactions, and the seconds in which they were done."""

    done: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        return self.done / self.seconds


class Wire:
    """Connections to one port, kept while they are unused."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def ask(self, data: bytes) -> tuple[int, bytes]:
        """The status and the head of the answer to one request."""
        while self._idle:
            reader, writer = self._idle.pop()
            try:
                return await self._asked(reader, writer, data)
            except (ConnectionError, asyncio.IncompleteReadError):
                writer.close()  # the gateway closed it, as it was unused for some seconds
        return await self._asked(
            *await asyncio.open_connection("127.0.0.1", self._port, limit=1_000_000), data
        )

    async def _asked(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, data: bytes
    ) -> tuple[int, bytes]:
        writer.write(data)
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        self._idle.append((reader, writer))
        return int(head.split()[1]), head

    def close(self) -> None:
        """Close what is unused."""
        for _, writer in self._idle:
            writer.close()


async def small_requests(port: int, seconds: float, first: int) -> Small:
    """Requests of a few hundred tokens at a steady rate."""
    wire, found = Wire(port), Small()

    async def one(at: float, data: bytes) -> None:
        sent = time.perf_counter()
        status, _ = await wire.ask(data)
        assert status == 200, status
        found.took.append(time.perf_counter() - sent)
        found.late.append(sent - at)

    tasks = []
    start = time.perf_counter()
    for tick in range(int(seconds * RATE)):
        at = start + tick / RATE
        data = request(port, first + tick)
        await asyncio.sleep(max(0.0, at - time.perf_counter()))
        tasks.append(asyncio.create_task(one(at, data)))
    await asyncio.gather(*tasks)
    wire.close()
    return found


@cache
def turns() -> list[bytes]:
    """Turns of an agent that reads a file, as JSON with `NUMBER` for what makes each of them new."""
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnoprstu", k=chance.randint(3, 9))) for _ in range(2_000)]

    def line(number: int) -> str:
        return f"{number}: {' '.join(chance.choices(words, k=8))} = {chance.randint(0, 9_999)}"

    def turn() -> bytes:
        said = [line(number) for number in range(60)]
        call = {"name": "read_file", "arguments": json.dumps({"path": f"src/{said[0].split()[1]}.py"})}
        messages = [
            {"role": "user", "content": f"NUMBER {' '.join(said[10:17])}"},
            {
                "role": "assistant",
                "content": " ".join(said[20:23]),
                "tool_calls": [{"id": "cNUMBER", "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": "cNUMBER", "content": "\n".join(said)},
            {"role": "assistant", "content": " ".join(said[30:36])},
        ]
        return json.dumps(messages)[1:-1].encode()

    return [turn() for _ in range(500)]


def conversation(port: int, number: int) -> bytes:
    """A request with a conversation of so many tokens, as an agent has it, that nobody has seen before."""
    chosen = random.Random(number).choices(turns(), k=TOKENS // TURN_TOKENS)
    said = (turn.replace(b"NUMBER", b"%d_%d" % (number, place)) for place, turn in enumerate(chosen))
    # The upstream reports the same usage for everything, from which the gateway would learn a wrong ratio by model.
    body = b'{"model":"bench-%d","messages":[{"role":"system","content":"You are agent %d."},%b,%b]}' % (
        number,
        number,
        b",".join(said),
        b'{"role":"user","content":"Go on."}',
    )
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {KEY}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def compactions(port: int, seconds: float, first: int) -> Large:
    """One after the other; the last one may end later than that."""
    wire, found = Wire(port), Large()
    start = time.perf_counter()
    while found.seconds < seconds:
        status, head = await wire.ask(conversation(port, first + found.done))
        assert status == 200, status
        assert b"x-plimsoll-view: compacted" in head, head
        assert _tokens_before(head) >= TOKENS, head
        found.done += 1
        found.seconds = time.perf_counter() - start
    wire.close()
    return found


def _tokens_before(head: bytes) -> int:
    return int(head.split(b"x-plimsoll-tokens-before:")[1].split(b"\r\n")[0])


def run_small(port: int, seconds: float, first: int) -> Small:
    """In a process of its own."""
    return uvloop.run(small_requests(port, seconds, first))


def run_large(port: int, seconds: float, first: int) -> Large:
    """In another one."""
    return uvloop.run(compactions(port, seconds, first))


def client() -> ProcessPoolExecutor:
    """A process that sends requests."""
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), initializer=go_first)


def go_first() -> None:
    """Whoever measures must not wait for what it measures."""
    with contextlib.suppress(PermissionError):
        os.nice(PRIORITY)
    turns()


def measure(port: int, seconds: float) -> tuple[Small, Small, Large, Large]:
    """Small requests alone and beside compactions; compactions alone and beside small requests."""
    idle, busy, alone, beside = Small(), Small(), Large(), Large()
    numbers = _numbers()
    with client() as first, client() as second:
        second.submit(run_large, port, 0.01, next(numbers)).result()  # the worker process starts
        first.submit(run_small, port, 1.0, next(numbers)).result()
        part = seconds / ROUNDS
        for _ in range(ROUNDS):
            _add_small(idle, first.submit(run_small, port, part, next(numbers)).result())
            _add_large(alone, second.submit(run_large, port, part, next(numbers)).result())
            both = (
                first.submit(run_small, port, part, next(numbers)),
                second.submit(run_large, port, part, next(numbers)),
            )
            _add_small(busy, both[0].result())
            _add_large(beside, both[1].result())
    return idle, busy, alone, beside


def _numbers() -> Iterator[int]:
    """Where each part starts to number its conversations."""
    yield from range(1_000_000, 2_000_000_000, 1_000_000)


def _add_small(to: Small, found: Small) -> None:
    to.took += found.took
    to.late += found.late


def _add_large(to: Large, found: Large) -> None:
    to.done += found.done
    to.seconds += found.seconds


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
        serve = ["nice", "-n", str(PRIORITY), sys.executable, str(HERE / "load.py"), str(upstream)]
        gateway = [sys.executable, "-m", "plimsoll.gateway", "--port", str(port)]
        with running([*serve, "--summaries"], upstream), running(gateway, port, PLIMSOLL_HOME=home):
            idle, busy, alone, beside = measure(port, asked.seconds)
    return 0 if told(idle, busy, alone, beside) else 1


def told(idle: Small, busy: Small, alone: Large, beside: Large) -> bool:
    """Print and report the figures; whether the bars hold."""
    for name, found in (("idle", idle), ("beside compactions", busy)):
        print(
            f"small requests, {name}: median {statistics.median(found.took) * 1e3:.1f} ms, "
            f"p99 {percentile(found.took, 0.99):.1f} ms ({len(found.took):,} requests, "
            f"sent {percentile(found.late, 0.99):.1f} ms late at p99)"
        )
    print(
        f"compactions of {TOKENS:,} tokens: {alone.rate:.2f}/s alone, {beside.rate:.2f}/s beside small requests"
    )
    ratio, share = percentile(busy.took, 0.99) / percentile(idle.took, 0.99), beside.rate / alone.rate
    print(f"p99 {ratio:.2f} times the idle one (bar {P99_BAR}); compactions at {share:.2f} (bar {RATE_BAR})")
    report("isolation", "p99 beside compactions to idle p99", ratio, "times")
    report("isolation", "compactions beside small requests to alone", share, "times", "higher")
    report("isolation", "compactions alone", alone.rate, "a second", "higher")
    return ratio <= P99_BAR and share >= RATE_BAR


if __name__ == "__main__":
    sys.exit(main())
