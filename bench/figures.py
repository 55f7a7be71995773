"""The figures that benches report, saved as JSON and compared between two versions of the code.

    bench ── report() ──► a file of lines ──► run.py --save NAME     ──► results/NAME.json
                                          └─► run.py --against NAME  ──► one verdict per figure

A bench that runs on its own reports to nobody: `report` writes only where `run.py` asks for it.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

WANTED = "PLIMSOLL_BENCH_FIGURES"  # names the file that a bench adds its figures to
TOLERANCE = 0.15  # how much worse a figure may become
Verdict = Literal["ok", "better", "worse", "missing", "new"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number.

    A difference below `resolution` says nothing: the clock of a busy machine is not finer than that.
    """

    bench: str
    name: str
    value: float
    unit: str
    better: Literal["lower", "higher"]
    resolution: float = 0.0

    @property
    def key(self) -> tuple[str, str]:
        """What identifies the figure in another run."""
        return self.bench, self.name

    def worsening(self, before: "Figure") -> float:
        """By which share of the earlier value it is worse; negative where it is better."""
        lost = self.value - before.value if before.better == "lower" else before.value - self.value
        if abs(lost) <= before.resolution:
            return 0.0
        return lost / abs(before.value) if before.value else float("inf") if lost > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Compared:
    """One figure in two runs; a side that did not measure it is None."""

    before: Figure | None
    now: Figure | None

    @property
    def verdict(self) -> Verdict:
        """`worse` and `missing` fail a comparison."""
        if self.before is None:
            return "new"
        if self.now is None:
            return "missing"
        worsening = self.now.worsening(self.before)
        if worsening > TOLERANCE:
            return "worse"
        return "better" if worsening < -TOLERANCE else "ok"


def report(
    bench: str,
    name: str,
    value: float,
    unit: str,
    better: Literal["lower", "higher"] = "lower",
    resolution: float = 0.0,
) -> None:
    """Add a figure to this run."""
    if path := os.environ.get(WANTED):
        figure = Figure(bench, name, value, unit, better, resolution)
        with Path(path).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(asdict(figure)) + "\n")


def reported(path: Path) -> list[Figure]:
    """Every figure that benches added to this file."""
    return [Figure(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]


def as_json(figures: list[Figure], source: Mapping[str, str]) -> str:
    """A run as a file: where it was measured, and the figures by bench and name."""
    benches: dict[str, dict[str, dict[str, object]]] = {}
    for figure in figures:
        fields = asdict(figure)
        bench, name = fields.pop("bench"), fields.pop("name")
        fields["value"] = float(f"{figure.value:.6g}")
        if not figure.resolution:
            del fields["resolution"]
        benches.setdefault(bench, {})[name] = fields
    return json.dumps({**source, "figures": benches}, indent=1, ensure_ascii=False) + "\n"


def from_json(text: str) -> tuple[dict[str, str], list[Figure]]:
    """What `as_json` wrote."""
    saved = json.loads(text)
    benches = saved.pop("figures")
    figures = [
        Figure(bench, name, **fields) for bench, named in benches.items() for name, fields in named.items()
    ]
    return saved, figures


def compared(before: list[Figure], now: list[Figure]) -> Iterator[Compared]:
    """The figures of both runs side by side, in the order of the earlier run."""
    earlier, later = ({figure.key: figure for figure in figures} for figures in (before, now))
    for key in dict.fromkeys((*earlier, *later)):
        yield Compared(earlier.get(key), later.get(key))
