"""`plimsoll bulk`: conversations per second on one core and on two, and memory over many conversations.

Every conversation is made by code, has at least 8,000 tokens and is compacted by code. Bars: two workers process at
least 1.8 times the conversations per second of one; the memory of all processes together grows by at most 10 %
between the second and the last fifth of a run. The rate is taken between the first and the last commit. Two commands
with one worker each, at the same time and independent of each other, show what two cores of this machine can reach.

python bench/bulk.py --conversations 1000 --only speed        three pairs of runs, five minutes on two idle cores
python bench/bulk.py --conversations 100000 --only memory     about 50 minutes; needs 7 GB in $TMPDIR

Every minute, a line on standard error says how far a run is.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

from figures import report
from plimsoll.models import estimate_messages_tokens_rough

MIN_TOKENS = 8_000
WINDOW = 16_000  # half of it is the threshold, so every conversation is due
MIN_SPEEDUP, MAX_GROWTH = 1.8, 1.10
EVERY = 0.25  # seconds between looks at the output
EVERY_MEMORY = 1.0  # seconds between samples of memory, which take processor time themselves
EVERY_LINE = 60.0  # seconds between lines about the progress
_WORDS = """
parser token handler cache window retry queue schema index cursor socket buffer lock worker fixture assertion module
config default timeout header payload migration column report budget summary
""".split()  # noqa: SIM905
_PROGRAM = [sys.executable, "-c", "from plimsoll.terminal.main import main; main()", "bulk"]


def conversation(seed: int) -> list[dict[str, Any]]:
    """A coding session with files read, tests that fail and are fixed, and decisions; no two are alike."""
    chance = random.Random(seed)

    def words(count: int) -> str:
        return " ".join(chance.choices(_WORDS, k=count))

    system = f"You are a coding agent. {words(60)}."
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": system},
        {
            "role": "user",
            "content": f"Fix ticket PLM-{seed} in src/module_{seed % 97}.py. Never touch src/legacy.py.",
        },
    ]
    number = counted = tokens = 0
    while True:
        tokens += estimate_messages_tokens_rough(
            messages[counted:]
        )  # counting all again takes quadratic time
        if tokens >= MIN_TOKENS:
            break
        counted = len(messages)
        path, failing = f"src/{chance.choice(_WORDS)}_{chance.randint(0, 60)}.py", chance.random() < 0.3
        tool, arguments = chance.choice(
            [
                ("terminal", {"command": f"pytest tests/test_{chance.choice(_WORDS)}.py -x"}),
                ("read_file", {"path": path}),
                ("edit_file", {"path": path, "old_string": words(12), "new_string": words(14)}),
            ]
        )
        call = {"id": f"call_{number}", "type": "function"}
        call |= {"function": {"name": tool, "arguments": json.dumps(arguments)}}
        lines = "".join(
            f"{place:4} {words(9)} {chance.randint(0, 9999)}\n" for place in range(chance.randint(4, 30))
        )
        status = f"exit code: 1\nE   ValueError: {words(5)} in {path}\n" if failing else "exit code: 0\n"
        said = f"{words(10).capitalize()}. We settled on {chance.choice(_WORDS)} because {words(6)}."
        messages.append({"role": "assistant", "content": said, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": status + lines})
        if number % 7 == 6:
            messages.append({"role": "assistant", "content": f"Done with {path}."})
            messages.append({"role": "user", "content": f"Please also {words(8)} in {path}."})
        number += 1
    messages.append({"role": "assistant", "content": "The ticket is done."})
    return messages


def write_dataset(path: Path, count: int) -> None:
    """One conversation on each line."""
    said = time.monotonic()
    with path.open("w", encoding="utf-8") as lines:
        for seed in range(count):
            lines.write(json.dumps({"id": seed, "messages": conversation(seed)}) + "\n")
            said = _told(said, f"{seed + 1:,} of {count:,} conversations written")


def _told(before: float, line: str) -> float:
    """Write a line if the last one is long ago; when the last one was written."""
    now = time.monotonic()
    if now - before < EVERY_LINE:
        return before
    print(line, file=sys.stderr, flush=True)
    return now


@dataclass
class MeasuredRun:
    """One run of the command."""

    workers: int
    samples: list[tuple[float, int, int]] = field(
        default_factory=list
    )  # time, rows committed, bytes of memory
    cpu_seconds: float = 0.0  # of the command and its workers
    driver_seconds: float = 0.0  # of the command alone, since the first commit

    @property
    def rows(self) -> int:
        return self.samples[-1][1]

    @property
    def rate(self) -> float:
        """Conversations per second between the first and the last commit."""
        first = next(sample for sample in self.samples if sample[1])
        last = next(sample for sample in self.samples if sample[1] == self.rows)
        return (last[1] - first[1]) / max(1e-9, last[0] - first[0])

    def memory(self, start: float, end: float) -> float:
        """The median of the memory while this part of the rows was done."""
        found = [
            size for _, rows, size in self.samples if start * self.rows <= rows <= end * self.rows and size
        ]
        return statistics.median(found) if found else 0.0

    @property
    def growth(self) -> float:
        before = self.memory(0.2, 0.4)
        if not before:
            raise SystemExit(f"{self.rows} conversations are too few to measure memory; pass more.")
        return self.memory(0.8, 1.0) / before


def run(source: Path, folder: Path, workers: int) -> MeasuredRun:
    """Run the command and watch it."""
    command = [*_PROGRAM, str(source), "-o", str(folder), "--window", str(WINDOW), "--workers", str(workers)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    measured = MeasuredRun(workers)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        watched = psutil.Process(process.pid)
        started = measured_at = 0.0
        told = time.monotonic()
        while process.poll() is None:
            now, rows = time.monotonic(), committed(folder)
            is_due = now - measured_at >= EVERY_MEMORY
            size = memory(watched) if is_due else 0
            measured_at = now if is_due else measured_at
            measured.samples.append((now, rows, size))
            told = _told(told, f"{rows:,} conversations with {workers} workers")
            try:
                used = sum(watched.cpu_times()[:2])
            except psutil.Error:
                break
            started = started if measured.samples[-1][1] else used
            measured.driver_seconds = used - started
            time.sleep(EVERY)
        _, said = process.communicate()
    if process.returncode:
        raise SystemExit(f"plimsoll bulk ended with {process.returncode}: {said}")
    measured.samples.append((time.monotonic(), committed(folder), 0))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    measured.cpu_seconds = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return measured


def committed(folder: Path) -> int:
    """Rows in the output so far, from the end of the manifest."""
    try:
        with (folder / "manifest.jsonl").open("rb") as lines:
            lines.seek(max(0, os.fstat(lines.fileno()).st_size - 2_000))
            found = [line for line in lines.read().split(b"\n")[:-1] if b'"rows"' in line]
            return int(json.loads(found[-1])["rows"]) if found else 0
    except (FileNotFoundError, ValueError):
        return 0


def memory(process: psutil.Process) -> int:
    """Resident bytes of the command and its workers."""
    total = 0
    try:
        for one in (process, *process.children(recursive=True)):
            total += one.memory_info().rss
    except psutil.Error:
        return 0
    return total


def independent(folder: Path, source: Path) -> float:
    """Conversations per second of two commands at the same time, each with one worker and its own output."""
    folder.mkdir()
    with ThreadPoolExecutor(2) as threads:
        runs = threads.map(lambda name: run(source, folder / name, 1), ("first", "second"))
        return sum(one.rate for one in runs)


def outcomes(folder: Path) -> tuple[int, int, int, int]:
    """Rows, those compacted, and the tokens before and after."""
    rows = compacted = before = after = 0
    with (folder / "report.jsonl").open("rb") as lines:
        for line in lines:
            row = json.loads(line)
            rows, compacted = rows + 1, compacted + (row["outcome"] == "compacted")
            before, after = before + row["tokens_before"], after + row["tokens_after"]
    return rows, compacted, before, after


def speed(scratch: Path, source: Path, repeats: int) -> bool:
    """One worker and two, one after the other; the median of the ratios of neighbours."""
    ratios, limits, runs = [], [], []
    for number in range(repeats):
        pair = [run(source, scratch / f"speed-{number}-{workers}", workers) for workers in (1, 2)]
        same = [(scratch / f"speed-{number}-{workers}" / "data.jsonl").read_bytes() for workers in (1, 2)]
        assert same[0] == same[1], "one worker and two must write the same bytes"
        ratios.append(pair[1].rate / pair[0].rate)
        limits.append(independent(scratch / f"speed-{number}-apart", source) / pair[0].rate)
        runs += pair
    rows, compacted, before, after = outcomes(scratch / "speed-0-2")
    assert compacted == rows, "every conversation must be compacted"
    ratio, limit = statistics.median(ratios), statistics.median(limits)
    cpu = statistics.median(one.cpu_seconds / one.rows for one in runs if one.workers == 2)
    driver = statistics.median(one.driver_seconds / one.rows for one in runs if one.workers == 2)
    table = Table("workers", "conversations/s", "CPU ms each", "memory MB", title=f"{rows:,} conversations")
    for one in runs:
        shown = (
            f"{one.rate:.1f}",
            f"{one.cpu_seconds / one.rows * 1e3:.0f}",
            f"{one.memory(0.5, 1) / 1e6:.0f}",
        )
        table.add_row(str(one.workers), *shown)
    Console().print(table)
    ok = ratio >= MIN_SPEEDUP
    print(
        f"two workers: {ratio:.2f} times one (bar {MIN_SPEEDUP}) {'ok' if ok else 'MISSED'}, "
        f"two independent commands: {limit:.2f} times; "
        f"{cpu * 1e3:.0f} ms CPU for each conversation of {before / rows:,.0f} tokens (after: {after / rows:,.0f}), "
        f"{driver * 1e3:.1f} ms of it in the process that commits"
    )
    report("bulk", "two workers against one", ratio, "x", "higher", resolution=0.1)
    report("bulk", "two independent commands against one", limit, "x", "higher", resolution=0.1)
    report("bulk", "CPU of a conversation", cpu * 1e3, "ms", resolution=5)
    return ok


def flat(scratch: Path, source: Path) -> bool:
    """Memory of a long run with two workers."""
    measured = run(source, scratch / "memory", 2)
    rows, compacted, *_ = outcomes(scratch / "memory")
    assert compacted == rows, "every conversation must be compacted"
    ok = measured.growth <= MAX_GROWTH
    print(
        f"memory of {rows:,} conversations: {measured.memory(0.2, 0.4) / 1e6:.0f} MB in the second fifth, "
        f"{measured.memory(0.8, 1.0) / 1e6:.0f} MB in the last, {measured.growth:.3f} times "
        f"(bar {MAX_GROWTH}) {'ok' if ok else 'MISSED'}; {measured.rate:.1f} conversations/s"
    )
    report("bulk", "growth of memory", measured.growth, "x", resolution=0.05)
    return ok


def main() -> int:
    """Measure, print, and say whether the bars hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--conversations", type=int, default=300)
    parser.add_argument("--repeats", type=int, default=3, help="pairs of runs with one worker and with two")
    parser.add_argument(
        "--dataset", type=Path, help="written if it does not exist, and kept for the next run"
    )
    parser.add_argument("--only", choices=["speed", "memory"])
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        os.environ["PLIMSOLL_HOME"] = str(scratch / "home")
        source = asked.dataset or scratch / "conversations.jsonl"
        if not source.exists():
            write_dataset(source, asked.conversations)
        held = []
        if asked.only != "memory":
            held.append(speed(scratch, source, asked.repeats))
        if asked.only != "speed":
            held.append(flat(scratch, source))
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
