"""What the peers make of the cuts: run once, kept under `.local/bench-cache`, bounded in time.

    cut × budget ──► cache? ──► Peer.compact ──► cache ──► the measuring half reads it

python bench/quality/peer_runs.py [--minutes 8] [PEER …]     fill the cache ahead of run.py

Cuts come in a fixed random order and each is done at all budgets before the next, so that a peer whose time is up has
a fair sample behind it. What is in the cache is a peer's result and not a figure: measures may change without asking
anew.
"""

import argparse
import gzip
import hashlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

from client import Peer
from corpus import DATA, ROOT, Cut, cuts, recorded_cuts, sample
from pins import PINS, SUMMARISERS, distribution_of
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

CACHE = ROOT / ".local" / "bench-cache"
WINDOW = 64_000
BUDGETS: tuple[int | None, ...] = (None, 8_000, 11_000, 16_000)
EACH = 30  # cuts without a model, and as many with the recorded summaries
MINUTES = 8.0
PATIENCE = 180.0  # seconds for one question, also on a busy machine


def peer_cuts(data: Path) -> list[Cut]:
    """The cuts that peers are measured on, those with a recorded summary and those without taking turns."""
    without = sample(cuts(data, "code"), EACH)
    given = sample(recorded_cuts(data), EACH)
    return [cut for pair in zip(without, given, strict=True) for cut in pair]


def cuts_for(name: str, every: Sequence[Cut]) -> list[Cut]:
    """Those that say something about a peer: a recorded summary is for those who ask a model."""
    return [cut for cut in every if name in SUMMARISERS or not cut.summary]


def place_of(name: str, cut: Cut, budget: int | None) -> Path:
    """Where the result of one question is kept; another release, window or conversation has another place."""
    version = distribution_of(name)[1]
    asked = json.dumps([cut.history, summary_for(name, cut), WINDOW, budget], ensure_ascii=False)
    digest = hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()[:20]
    return CACHE / f"{name}-{version}" / f"{digest}.json.gz"


def summary_for(name: str, cut: Cut) -> str | None:
    """The recorded summary, for those who ask a model."""
    return cut.summary if name in SUMMARISERS else None


def kept(name: str, cut: Cut, budget: int | None) -> dict[str, Any] | None:
    """The answer of an earlier run."""
    path = place_of(name, cut, budget)
    if not path.exists():
        return None
    answer: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return answer


def keep(name: str, cut: Cut, budget: int | None, answer: dict[str, Any]) -> None:
    """Write an answer as a whole or not at all."""
    path = place_of(name, cut, budget)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_bytes(gzip.compress(json.dumps(answer, ensure_ascii=True).encode(), compresslevel=3))
    partial.replace(path)


def fill(name: str, wanted: Sequence[Cut], minutes: float) -> Iterator[tuple[Cut, bool]]:
    """Ask a peer about every cut that the cache does not know; says after each whether it is done now."""
    ends = time.monotonic() + minutes * 60
    with Peer(name, patience=PATIENCE) as peer:
        for cut in wanted:
            done = True
            for budget in BUDGETS:
                if place_of(name, cut, budget).exists():
                    continue
                if time.monotonic() > ends:
                    done = False
                    break
                answer = peer.compact(cut.history, WINDOW, budget, summary_for(name, cut))
                keep(name, cut, budget, answer)
            yield cut, done


def run(names: Sequence[str], data: Path, minutes: float, console: Console) -> None:
    """Fill the cache for several peers, with a bar for each."""
    every = peer_cuts(data)
    columns = (TextColumn("{task.description:<24}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        for name in names:
            wanted = cuts_for(name, every)
            task = progress.add_task(PINS[name], total=len(wanted))
            finished = 0
            for _, done in fill(name, wanted, minutes):
                finished += done
                progress.update(task, completed=finished)
            if not console.is_terminal:
                console.print(f"{PINS[name]}: {finished} of {len(wanted)} cuts")


def main() -> int:
    """Fill the cache."""
    parser = argparse.ArgumentParser(description="Run the peers on the sampled cuts and keep their results.")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(PINS)}; all by default")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="at most so long for each peer")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the recorded conversations")
    given = parser.parse_args()
    run(given.names or list(PINS), given.data, given.minutes, Console(stderr=True))
    return 0


if __name__ == "__main__":
    sys.exit(main())
