"""Is the hand-off right? Every figure with its bar, against labels made by hand and facts that recorders kept.

    python bench/quality/handoff.py                       a sample of every measure, some minutes
    python bench/quality/handoff.py --all                 everything
    python bench/quality/handoff.py --only requests chat  some measures
    python bench/quality/handoff.py --wrong               and what was judged wrong

The labels are in labels/, the measures in measures/. Exit code 1 where a bar is missed, 2 where the recorded
conversations are missing.
"""

import argparse
import json
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import outcomes
from bars import Bar
from hand_labels import DataMissing
from measures import chat, checks, constraints, far, reading, requests, size
from measures.run import Run
from rich import box
from rich.console import Console
from rich.table import Table

MEASURES: dict[str, Callable[[Run], list[Bar]]] = {
    "outcomes": outcomes.bars,
    "requests": requests.bars,
    "constraints": constraints.bars,
    "languages": constraints.language_bars,
    "checks": checks.bars,
    "far": far.bars,
    "recorded": far.recorded_bars,
    "chat": chat.bars,
    "size": size.bars,
    "reading": reading.bars,
}


def main() -> int:
    """Measure, print, judge."""
    given = _arguments()
    console = Console(width=None if sys.stdout.isatty() else 130)
    table = Table(
        title="Hand-off against labels" + ("" if given.all else " (a sample; --all for everything)")
    )
    for heading in ("measure", "figure", "wanted", "measured", ""):
        table.add_column(heading, justify="right" if heading in ("wanted", "measured") else "left")
    found: dict[str, list[Bar]] = {}
    with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as pool:
        run = Run(pool, given.all, given.sample)
        for name in given.only:
            try:
                found[name] = MEASURES[name](run)
            except DataMissing as missing:
                console.print(str(missing))
                return 2
            console.print(_table(name, found[name]))
    if given.wrong:
        for measure, names in run.failures.items():
            for one in names:
                console.print(f"{measure}: {one}", markup=False, soft_wrap=True)
    if given.output:
        figures = {name: {bar.name: bar.measured for bar in bars} for name, bars in found.items()}
        given.output.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 1 if any(bar.verdict == "MISSED" for bars in found.values() for bar in bars) else 0


def _table(name: str, bars: list[Bar]) -> Table:
    table = Table(title=name, title_justify="left", box=box.SIMPLE_HEAD, min_width=100)
    for heading in ("figure", "wanted", "measured", ""):
        table.add_column(heading, justify="right" if heading in ("wanted", "measured") else "left")
    for bar in bars:
        table.add_row(bar.name, bar.wanted, _number(bar.measured), _verdict(bar))
    return table


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3f}"


def _verdict(bar: Bar) -> str:
    colour = {"held": "green", "MISSED": "red"}.get(bar.verdict, "yellow")
    return f"[{colour}]{bar.verdict}[/]" if bar.wanted else ""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--all", action="store_true", help="every labelled cut and every seed")
    parser.add_argument(
        "--only", nargs="+", choices=list(MEASURES), default=list(MEASURES), help="only these"
    )
    parser.add_argument("--wrong", action="store_true", help="list what was judged wrong")
    parser.add_argument("--sample", type=int, help="at most so many cuts, chats or seeds of each measure")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--output", type=Path, help="write the figures to this file, as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
