"""What survives a compaction: Plimsoll at several sizes, plain windows, and nine peers, on recorded conversations.

python bench/quality/run.py                     everything; peers from their cache, filled where it is empty
python bench/quality/run.py --quick             a fifth of the cuts, for a change that is being tried
python bench/quality/run.py --sections sets     only the main tables; also recorded, reach, decay, money. What is left
                                                out is taken from the last run, where the engine is the same
python bench/quality/run.py --no-peers          Plimsoll and the plain windows alone
python bench/quality/run.py --peers hermes adk  only these

Figures land in bench/results/quality.json, those of a quick or partial run in .local/bench-cache. Exit code 1 where a
bar is missed, 2 where the data is missing.
"""

import argparse
import datetime
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import decay
import ours
import peer_rows
import peer_runs
import reach
import rows
from bars import bars
from corpus import DATA, ROOT, SETS, Cut, cuts, recorded_cuts, sample
from pins import PINS
from prepared import prepared
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from tables import show

import money
from plimsoll import __version__

RESULTS = ROOT / "bench" / "results" / "quality.json"
PARTIAL = peer_runs.CACHE / "quality.json"
SECTIONS = ("sets", "recorded", "reach", "decay", "money")
QUICK = {"code": 40, "airline": 4, "research": 4}
RECORDED, RECORDED_QUICK = 66, 12
CALIBRATION, CALIBRATION_QUICK = 30, 12
DECAY, DECAY_QUICK = 8, 2
Stage = Callable[[str, int], Callable[[], None]]


def main() -> int:
    """Measure, print, write, judge."""
    given = _arguments()
    console = Console(width=None if sys.stdout.isatty() else 150)
    if not given.data.is_dir():
        console.print(f"{given.data} is missing: this benchmark needs the recorded conversations (--data).")
        return 2
    peers = [] if given.no_peers else given.peers or list(PINS)
    if peers:
        peer_runs.run(peers, given.data, given.minutes, Console(stderr=True))
    with _pool(given.workers) as pool, _stages(Console(stderr=True)) as stage:
        results = measure_all(given, peers, pool, stage)
    show(results, console)
    if results["engine_changed"]:
        console.print(
            "[yellow]The engine's source changed during this run: its rows do not belong together.[/]"
        )
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
    console.print(f"written to {given.output}")
    return 1 if any(bar.verdict == "MISSED" for bar in bars(results)) else 0


def measure_all(given: argparse.Namespace, peers: list[str], pool: Executor, stage: Stage) -> dict[str, Any]:
    """Every section of the results."""
    every = {name: sample(cuts(given.data, name), QUICK[name] if given.quick else 10_000) for name in SETS}
    recorded = sample(recorded_cuts(given.data), RECORDED_QUICK if given.quick else RECORDED)
    of_peers = peer_runs.peer_cuts(given.data) if peers else []
    wanted = {cut.name: cut for part in (*every.values(), recorded, of_peers) for cut in part}
    facts = prepared(list(wanted.values()), given.data, pool, stage("reading", len(wanted)))
    # A cut behind which nothing far was needed says nothing about far facts, and is not measured.
    telling = [cut for cut in every["code"] if facts[cut.name].far]
    every["code"] = telling
    most = CALIBRATION_QUICK if given.quick else CALIBRATION
    knobs = ours.calibrated(telling, most, pool, stage("settings for budgets", len(ours.BUDGETS)))
    labels = {str(budget): found for budget, found in knobs.items()} | {rows.OWN: ours.SizeSettings()}
    results = _heading(given, knobs)
    results["sets"] = {
        name: rows.run([rows.Job(cut, facts[cut.name], labels) for cut in part], pool, stage(name, len(part)))
        for name, part in every.items()
        if "sets" in given.sections
    }
    if "recorded" in given.sections:
        results["recorded"] = _recorded(recorded, facts, labels, pool, stage)
    if "reach" in given.sections:
        results["reach"] = reach.run(telling, facts, pool, stage)
    if "decay" in given.sections:
        results["decay"] = decay.run(given.data, DECAY_QUICK if given.quick else DECAY, pool, stage)
    if "money" in given.sections:
        results["money"] = money.run(recorded, pool, stage)
    if peers:
        results["peers"] = peer_rows.run(peers, of_peers, facts, pool, stage)
    _carry_over(results, given.output)
    results["engine_changed"] = results["engine"] != ours.engine_digest()
    results["bars"] = [
        {"bar": bar.name, "wanted": bar.wanted, "measured": bar.measured, "verdict": bar.verdict}
        for bar in bars(results)
    ]
    return results


def _carry_over(results: dict[str, Any], path: Path) -> None:
    """Take the parts that this run left out from the last one, where that was the same engine on the same cuts."""
    last = json.loads(path.read_text("utf-8")) if path.exists() else {}
    if all(last.get(key) == results[key] for key in ("engine", "quick", "settings")):
        for part in (*SECTIONS, "peers"):
            if not results.get(part) and last.get(part):
                results[part] = last[part]


def _recorded(
    recorded: list[Cut],
    facts: dict[str, Any],
    labels: dict[str, ours.SizeSettings],
    pool: Executor,
    stage: Stage,
) -> dict[str, Any]:
    """The same cuts with the recorded summaries and without a model."""
    some = {key: labels[key] for key in ("11000", rows.OWN)}
    jobs = [rows.Job(cut, facts[cut.name], some, windows=False) for cut in recorded]
    given = rows.run(jobs, pool, stage("recorded summaries", len(jobs)))
    bare = [replace(job, cut=replace(job.cut, summary=None)) for job in jobs]
    without = rows.run(bare, pool, stage("the same, no model", len(jobs)))
    return given | {f"{name}, no model": row for name, row in without.items()}


def _heading(given: argparse.Namespace, knobs: dict[int, ours.SizeSettings]) -> dict[str, Any]:
    return {
        "date": datetime.date.today().isoformat(),
        "version": __version__,
        "engine": ours.engine_digest(),
        "python": platform.python_version(),
        "quick": given.quick,
        "window": ours.WINDOW,
        "settings": {str(budget): asdict(one) for budget, one in knobs.items()},
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What survives a compaction.")
    parser.add_argument("--quick", action="store_true", help="a sample of the cuts")
    parser.add_argument("--no-peers", action="store_true", help="Plimsoll and plain windows alone")
    parser.add_argument("--peers", nargs="*", choices=list(PINS), help="only these peers")
    parser.add_argument(
        "--sections",
        nargs="*",
        choices=SECTIONS,
        default=SECTIONS,
        help="only these parts",
    )
    parser.add_argument(
        "--minutes", type=float, default=peer_runs.MINUTES, help="at most so long for each peer"
    )
    parser.add_argument("--workers", type=int, default=min(4, os.cpu_count() or 1))
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the recorded conversations")
    parser.add_argument("--output", type=Path, help="where the figures go; bench/results for a full run")
    given = parser.parse_args()
    is_full = not given.quick and set(given.sections) == set(SECTIONS)
    given.output = given.output or (RESULTS if is_full else PARTIAL)
    return given


def _pool(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"))


@contextmanager
def _stages(console: Console) -> Iterator[Stage]:
    """A bar for each stage; where nobody watches, a line when it begins."""
    columns = (TextColumn("{task.description:<22}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:

        def stage(name: str, total: int) -> Callable[[], None]:
            if not console.is_terminal:
                console.print(f"{datetime.datetime.now():%H:%M:%S} {name}: {total}")
            task = progress.add_task(name, total=total)
            return lambda: progress.advance(task)

        yield stage


if __name__ == "__main__":
    sys.exit(main())
