"""The archive at a million messages: loading, opening, appending, searching.

    python bench/archive.py                    a million messages (some minutes to load, once)
    python bench/archive.py 100000 --keep F    another size, in a file that stays

Bars: words p95 under 20 ms, substrings under 150 ms, a pattern within a range under 200 ms, by relevance under
300 ms; opening a session of all messages and appending a turn under 200 MB.
"""

import argparse
import asyncio
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from plimsoll.archive import OPERATOR, Archive, CompactionEvent, Node, NodeLink, SearchQuery, Span, ViewDraft
from plimsoll.archive.ids import node_id
from plimsoll.archive.sqlite import SqliteStore
from plimsoll.messages import Message

BATCH = 5_000
MESSAGES = 1_000_000
SESSIONS = 200  # besides the long one, which has half of all messages
ROUNDS = 60
_COMMON = [
    "the", "of", "and", "a", "to", "in", "is", "you", "that", "it", "was", "for", "on", "are", "as", "with", "at",
    "be", "this", "have", "from", "or", "one", "had", "by", "but", "not", "what", "all", "we", "when", "can", "file",
    "there", "use", "an", "each", "which", "do", "how", "if", "will", "up", "other", "about", "out",
]  # fmt: skip


class Speaker:
    """Messages with the mixture of words that real ones have: few everywhere, many almost nowhere."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        letters = "abcdefghijklmnopqrstuvwxyz"
        self.rare = [
            "".join(self._random.choices(letters, k=self._random.randint(4, 10))) for _ in range(60_000)
        ]
        self._weights = list(accumulate(1 / (rank + 10) for rank in range(len(self.rare))))

    def word(self, dice: random.Random) -> str:
        return dice.choices(self.rare, cum_weights=self._weights)[0]

    def words(self, count: int) -> list[str]:
        rare = self._random.choices(self.rare, cum_weights=self._weights, k=count)
        return [self._random.choice(_COMMON) if self._random.random() < 0.45 else word for word in rare]

    def text(self, count: int) -> str:
        words = self.words(count)
        for at in range(0, len(words), 9):
            words[at] = f"{words[at]}_{self._random.choice(self.rare)}({self._random.randint(0, 99_999)})\n"
        return " ".join(words)

    def turn(self, number: int) -> list[Message]:
        """Four messages: a request, a call, its result, an answer."""
        call = f"call_{number}"
        path = f"src/{self._random.choice(self.rare)}/{self._random.choice(self.rare)}.py"
        arguments = f'{{"path": "{path}", "line": {number}}}'
        function = {"name": "read_file", "arguments": arguments}
        return [
            {"role": "user", "content": self.text(25)},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": call, "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": call, "content": self.text(120)},
            {"role": "assistant", "content": self.text(60)},
        ]


def turns(speaker: Speaker, count: int) -> Iterator[list[Message]]:
    """Batches of messages, `count` messages in all."""
    for start in range(0, count, BATCH):
        size = min(BATCH, count - start)
        yield [m for number in range(start, start + size, 4) for m in speaker.turn(number)][:size]


async def load(archive: Archive, speaker: Speaker, count: int) -> str:
    """Half of the messages in one long session, half in many short ones between them."""
    long = await archive.create_session(title="long")
    others = [(await archive.create_session(title=f"short {n}")).id for n in range(SESSIONS)]
    started = time.perf_counter()
    for number, batch in enumerate(turns(speaker, count)):
        id = long.id if number % 2 == 0 else others[(number // 2) % SESSIONS]
        await archive.append(id, batch, turn=f"load {number}")
        if number % 20 == 19:
            done = (number + 1) * BATCH
            print(
                f"   {done:>9,} messages, {done / (time.perf_counter() - started):,.0f} a second", flush=True
            )
    return long.id


async def timed(archive: Archive, queries: list[SearchQuery]) -> list[float]:
    """Milliseconds of each query."""
    found = []
    for query in queries:
        started = time.perf_counter()
        await archive.search(query)
        found.append((time.perf_counter() - started) * 1_000)
    return found


def queries(speaker: Speaker, long: str, last: int) -> dict[str, tuple[float, list[SearchQuery]]]:
    """Each kind of search with its bar in milliseconds."""
    dice = random.Random(7)

    def word() -> str:
        return speaker.word(dice)

    def span() -> tuple[int, int]:
        first = dice.randint(1, max(1, last - 2_000))
        return first, first + 2_000

    mixed = [f"{word()} {word()}" if dice.random() < 0.5 else word() for _ in range(ROUNDS)]
    everywhere = [dice.choice(_COMMON) for _ in range(ROUNDS)]
    inside = [(lambda w: w[1:] if len(w) > 4 else w)(word()) for _ in range(ROUNDS)]
    ranges = [span() for _ in range(ROUNDS)]
    return {
        "words, newest first": (20, [SearchQuery(text) for text in mixed]),
        "words in every message": (20, [SearchQuery(text) for text in everywhere]),
        "words in one session": (20, [SearchQuery(text, session=long) for text in mixed]),
        "words that are nowhere": (20, [SearchQuery(f"{text}qqq") for text in inside]),
        "substrings": (150, [SearchQuery(text, "substring") for text in inside]),
        "substrings of two words": (150, [SearchQuery(f"{text} the", "substring") for text in inside]),
        "regex in 2,000 messages": (
            200,
            [
                SearchQuery(rf"\b{text[:2]}\w+_\w+\(\d+\)", "regex", session=long, first=a, last=b)
                for text, (a, b) in zip(inside, ranges, strict=True)
            ],
        ),
        "regex with a literal": (200, [SearchQuery(rf"{text}\w*_\w+\(", "regex") for text in inside]),
        "by relevance": (300, [SearchQuery(text, order="relevance") for text in mixed]),
        "by relevance, common words": (300, [SearchQuery(text, order="relevance") for text in everywhere]),
    }


async def compacted(archive: Archive, id: str) -> None:
    """Give the long session a view of the size that sessions have."""
    session = await archive.session(id)
    if session.view == 0:
        message, gone = {"role": "assistant", "content": "summary"}, (Span(4, session.messages - 40),)
        node = Node(node_id(id, message, gone), message, gone)
        draft = ViewDraft(0, (Span(1, 3), NodeLink(node.id)), session.messages - 40, (node,))
        await archive.commit_compaction(id, draft, CompactionEvent("bench", "bench"))


async def measure(path: Path, count: int) -> bool:
    """All measurements; whether every bar held."""
    speaker = Speaker(1)
    fresh = not path.exists()
    async with await SqliteStore.open(path) as store:
        archive = store.for_owner(OPERATOR)
        if fresh:
            started = time.perf_counter()
            await compacted(archive, await load(archive, speaker, count))
            print(f"   loaded in {time.perf_counter() - started:,.0f} s, {path.stat().st_size / 1e9:.2f} GB")
        long = max(await archive.sessions(limit=SESSIONS + 1), key=lambda one: one.messages)
        held = True
        print(f"\n   {'search':<28}{'median':>10}{'p95':>10}{'bar':>10}")
        for name, (bar, asked) in queries(speaker, long.id, long.messages).items():
            times = await timed(archive, asked)
            high = statistics.quantiles(times, n=20)[-1]
            held = held and high < bar
            missed = "" if high < bar else "  MISSED"
            print(f"   {name:<28}{statistics.median(times):>7.1f} ms{high:>7.1f} ms{bar:>7} ms{missed}")
        appends = []
        for number in range(ROUNDS):
            turn = speaker.turn(number)
            started = time.perf_counter()
            await archive.append(long.id, turn, turn=f"bench {time.time_ns()}")
            appends.append((time.perf_counter() - started) * 1_000)
        high = statistics.quantiles(appends, n=20)[-1]
        print(f"   {'append a turn':<28}{statistics.median(appends):>7.1f} ms{high:>7.1f} ms")
    return held


async def open_and_append(path: Path) -> bool:
    """What a process needs that opens the long session and says something."""
    started = time.perf_counter()
    async with await SqliteStore.open(path) as store:
        archive = store.for_owner(OPERATOR)
        long = max(await archive.sessions(limit=SESSIONS + 1), key=lambda one: one.messages)
        seen = await archive.items(long.id)
        await archive.append(long.id, [{"role": "user", "content": "go on"}], turn=f"open {time.time_ns()}")
    took = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"   open, read {len(seen)} of {long.messages:,}, append: {took * 1_000:.0f} ms, {peak:.0f} MB (bar 200 MB)"
    )
    return peak < 200


def main() -> int:
    """Run it; 1 where a bar was missed."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("messages", nargs="?", type=int, default=MESSAGES)
    arguments.add_argument("--keep", type=Path)
    arguments.add_argument("--open", type=Path)
    given = arguments.parse_args()
    if given.open:
        return 0 if asyncio.run(open_and_append(given.open)) else 1
    with tempfile.TemporaryDirectory() as folder:
        path = given.keep or Path(folder) / "archive.db"
        held = asyncio.run(measure(path, given.messages))
        # Memory is that of a process of its own.
        opened = subprocess.run([sys.executable, __file__, "--open", str(path)], check=False).returncode == 0
    return 0 if held and opened else 1


if __name__ == "__main__":
    sys.exit(main())
