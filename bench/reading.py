"""How fast the ledger reads recorded conversations, how it grows, what it holds, and what reading on costs.

    python bench/reading.py            .5M, 1M and 2M tokens
    python bench/reading.py --all      and 5M

Every figure is CPU time or memory of a process that measures nothing else. A token is four characters. The input of
the memory figures is measured twice: as JSON (its bytes), and as the messages that were loaded from it (the growth of
the process while it loads them), which are larger because a text with one character outside Latin-1 takes two bytes
for each of its characters.
"""

import argparse
import gc
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from figures import report
from plimsoll import ContextCompressor
from plimsoll.context.ledger import read_facts
from plimsoll.quality import tokens

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
FILES = ("dev_claudecode_entire", "dev_codex", "dev_other_agents")
SIZES = (500_000, 1_000_000, 2_000_000, 5_000_000)
REPEATS = 3
MEMORY_SIZE = 2_000_000
CONTINUED = (500_000, 2_000_000)  # tokens before the compaction that is continued from
# Growth as in speed.py: what fits the processor's caches is read faster, and the garbage collector has less to visit.
RATE, MAX_GROWTH, MAX_MEMORY = 500_000, 1.35, 3.0
# One in a hundred messages is new. Reading it costs its share and a copy of the state; a compaction also chooses
# and writes, which costs the same however long the conversation was.
MAX_READ_ON, MAX_OF_FIRST = 0.05, 0.25


def recordings(size: int) -> list[dict[str, Any]]:
    """Recorded conversations one after another, of about so many tokens; the agents are mixed alike at every size."""
    lines = [line for name in FILES for line in (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()]
    random.Random(1).shuffle(lines)
    found: list[dict[str, Any]] = []
    total = 0
    for line in cycle(lines):
        part = json.loads(line)["messages"][1:]
        found += part
        total += tokens(part)
        if total >= size:
            break
    return found


def rate(size: int) -> dict[str, float]:
    """Tokens read in a second of CPU time, best of several passes."""
    messages = recordings(size)
    read_facts(messages[:200])  # patterns are compiled once in the life of a process
    best = min(_seconds(lambda: read_facts(messages)) for _ in range(REPEATS))
    return {"tokens": tokens(messages), "rate": tokens(messages) / best}


def memory(size: int) -> dict[str, float]:
    """Bytes: the input as JSON, the loaded messages, and the most that reading and a whole compaction add to them."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(recordings(size), file, ensure_ascii=False)
        file.flush()
        as_json = Path(file.name).stat().st_size
        # Memory that was freed is used again without growth, so each is measured where nothing was freed before.
        return {"json": as_json, **{name: measured(name, file.name)["grown"] for name in _GROWTH}}


def growth(name: str, path: str) -> dict[str, float]:
    """By how much this process grows at most while it does one thing with a conversation."""
    read_facts([{"role": "user", "content": "Never push."}])  # modules and patterns are no part of the input
    before = _resident()
    with Path(path).open("rb") as file:
        messages = json.load(file)
    gc.collect()
    if name != "loaded":
        before = _resident()
        Path("/proc/self/clear_refs").write_text("5", "ascii")  # from here on VmHWM is the peak
        _GROWTH[name](messages)
    return {"grown": (_resident() if name == "loaded" else _status("VmHWM")) - before}


def continued(size: int) -> dict[str, float]:
    """Seconds of a first pass and of one more with one in a hundred messages new: reading alone, and a compaction."""
    messages = recordings(size)
    stop = len(messages) - len(messages) // 100
    first, new = messages[:stop], messages[stop:]
    read_facts(messages[:200])
    facts = read_facts(first)
    engine = ContextCompressor(context_length=200_000)
    view: list[dict[str, Any]] = []
    return {
        "read": min(_seconds(lambda: read_facts(first)) for _ in range(REPEATS)),
        "read on": min(_seconds(lambda: read_facts(new, known=facts)) for _ in range(REPEATS)),
        "compact": _seconds(lambda: view.extend(engine.compress(first))),
        # Without keeping, so that every pass continues from the first compaction.
        "compact on": min(_seconds(lambda: engine.draft([*view, *new], keep=False)) for _ in range(REPEATS)),
    }


def _compacted(messages: list[dict[str, Any]]) -> object:
    engine = ContextCompressor(context_length=200_000)
    return engine, engine.compress(messages)


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def _resident() -> int:
    return _status("VmRSS")


_GROWTH: dict[str, Callable[[list[dict[str, Any]]], object]] = {
    "loaded": lambda messages: messages,
    "read": read_facts,
    "compact": _compacted,
}


def measured(what: str, of: int | str) -> dict[str, float]:
    """One measurement, by this file in a process of its own."""
    command = [sys.executable, __file__, "--measure", what, str(of)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--all", action="store_true", help="read 5M tokens too; some minutes")
    parser.add_argument("--measure", nargs=2, metavar=("WHAT", "OF"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if not all((DATA / f"{name}.jsonl").exists() for name in FILES):
        print(f"NOT MEASURED: the recorded conversations are missing ({DATA})")
        return 1
    if given.measure:
        what, of = given.measure
        by_size = {"rate": rate, "memory": memory, "continued": continued}
        print(json.dumps(by_size[what](int(of)) if what in by_size else growth(what, of)))
        return 0
    bars = [*_speed(SIZES if given.all else SIZES[:-1]), *_memory(), *_continued()]
    table = Table("bar", "measured", "wanted", "", title="Bars")
    missed = 0
    for name, value, wanted in bars:
        is_rate = wanted == RATE
        held = value >= wanted if is_rate else value <= wanted
        missed += not held
        sign = "≥" if is_rate else "≤"
        number = f"{value:,.0f}" if value >= 1_000 else f"{value:.3f}"
        table.add_row(name, number, f"{sign} {wanted:,g}", "held" if held else "MISSED")
        report("reading", name, value, "", "higher" if is_rate else "lower")
    Console().print(table)
    return 1 if missed else 0


def _speed(sizes: tuple[int, ...]) -> list[tuple[str, float, float]]:
    rates = {size: measured("rate", size) for size in sizes}
    table = Table("tokens", "tokens a second", title="Reading recorded conversations, CPU time")
    for one in rates.values():
        table.add_row(f"{one['tokens']:,.0f}", f"{one['rate']:,.0f}")
    Console().print(table)
    least, largest = min(one["rate"] for one in rates.values()), rates[sizes[-1]]["rate"]
    slower = rates[sizes[0]]["rate"] / largest
    return [
        ("tokens read a second, slowest size", least, RATE),
        (f"time for a token, {sizes[-1]:,} / {sizes[0]:,} tokens", slower, MAX_GROWTH),
    ]


def _memory() -> list[tuple[str, float, float]]:
    found = measured("memory", MEMORY_SIZE)
    table = Table("", "MB", "of the JSON", "of the loaded messages", title=f"Memory, {MEMORY_SIZE:,} tokens")
    for name in ("json", "loaded", "read", "compact"):
        shares = (f"{found[name] / found[unit]:.2f}" for unit in ("json", "loaded"))
        table.add_row(name, f"{found[name] / 1e6:.1f}", *shares)
    Console().print(table)
    return [
        (
            "memory that reading adds, in units of the loaded messages",
            found["read"] / found["loaded"],
            MAX_MEMORY,
        )
    ]


def _continued() -> list[tuple[str, float, float]]:
    rows = {size: measured("continued", size) for size in CONTINUED}
    table = Table("tokens before", "read", "read on", "compact", "compact on", title="1 % new, seconds")
    for size, row in rows.items():
        cells = [f"{row[name]:.3f}" for name in ("read", "read on", "compact", "compact on")]
        table.add_row(f"{size:,}", *cells)
    Console().print(table)
    longest = rows[CONTINUED[-1]]
    return [
        ("reading on / reading from the start", longest["read on"] / longest["read"], MAX_READ_ON),
        ("second compaction / first", longest["compact on"] / longest["compact"], MAX_OF_FIRST),
    ]


if __name__ == "__main__":
    sys.exit(main())
