"""The pictures of docs/benchmarks.md: what is kept for how many tokens, and what twenty compactions leave."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

OURS, PLAIN, PEER = "#2a9d8f", "#8d99ae", "#c8553d"
Results = Mapping[str, Any]


def draw(quality: Results, folder: Path) -> list[Path]:
    """Both pictures as SVG, the same bytes for the same figures."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = {"quality-by-size.svg": _by_size(quality)}
    if quality.get("decay"):
        pictures["quality-in-a-row.svg"] = _in_a_row(quality["decay"])
    with matplotlib.rc_context({"svg.hashsalt": "plimsoll", "svg.fonttype": "none"}):
        for name, figure in pictures.items():
            figure.savefig(folder / name, format="svg", metadata={"Date": None})
    return [folder / name for name in pictures]


def _figure(title: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(8, 4.5), layout="constrained", facecolor="white")
    FigureCanvasSVG(figure)
    axes = figure.subplots()
    axes.set_title(title, loc="left", fontsize=12, fontweight="bold")
    axes.set_ylim(0, 1)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.3)
    return figure, axes


def _by_size(quality: Results) -> Figure:
    """Grounded far facts over the size of the result."""
    figure, axes = _figure("Far facts grounded, by size of the result")
    rows = quality["sets"]["code"]
    for prefix, label, colour in (
        ("plimsoll", "Plimsoll, no model", OURS),
        ("recency", "newest messages", PLAIN),
    ):
        points = sorted(
            (row["tokens"], row["far_grounded"]) for name, row in rows.items() if name.startswith(prefix)
        )
        axes.plot(*zip(*points, strict=True), color=colour, marker="o", label=label)
    plain = rows["first 3 + last 20"]
    axes.scatter(plain["tokens"], plain["far_grounded"], color=PLAIN, marker="s", label="first 3 + last 20")
    labelled = False
    for name, kinds in quality.get("peers", {}).items():
        for kind in ("without", "given"):
            own = kinds.get(kind, {}).get("own")
            if own and own["tokens"] < 35_000:
                filled = PEER if kind == "given" else "none"
                axes.scatter(
                    own["tokens"],
                    own["far_grounded"],
                    edgecolor=PEER,
                    facecolor=filled,
                    label=None if labelled else "peers at their defaults (filled: with a recorded summary)",
                )
                labelled = True
                axes.annotate(name, (own["tokens"], own["far_grounded"]), xytext=(5, -9), textcoords="offset points",
                              fontsize=8, color=PEER)  # fmt: skip
    axes.set_xlabel("tokens of the result (characters / 4), mean")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:.0f}K")
    axes.set_xlim(left=0)
    axes.legend(frameon=False, loc="lower right", fontsize=8)
    return figure


def _in_a_row(rounds: Results) -> Figure:
    """Stated and grounded facts after many compactions, and after one."""
    figure, axes = _figure("After compactions in a row, and after one of everything (dashed)")
    numbers = [int(number) for number in rounds]
    for key, label, colour in (
        ("stated", "stated facts", OURS),
        ("far_grounded", "far facts grounded", PEER),
    ):
        for kind, style in (("in a row", "-"), ("at once", "--")):
            axes.plot(
                numbers,
                [pair[kind][key] for pair in rounds.values()],
                style,
                color=colour,
                marker="o",
                markersize=4,
                label=label if kind == "in a row" else None,
            )
    axes.set_xlabel("compactions")
    axes.set_xticks(numbers)
    axes.legend(frameon=False, loc="lower left", fontsize=9)
    return figure
