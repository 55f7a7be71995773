"""Draw the pictures of the concept pages from the bundled conversation: `python site/pictures.py`.

Each picture shows measured figures: the engine compacts the recording, and the cache simulator bills its requests.
Nothing here calls a model.
"""

from collections.abc import Sequence
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from plimsoll import ContextCompressor
from plimsoll.caching import Compaction, Replay, replay
from plimsoll.context.markers import find_summary
from plimsoll.messages import Message
from plimsoll.models import card_for, estimate_message_tokens
from plimsoll.transcripts import read_example

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
MODEL, WINDOW = "claude-sonnet-4.5", 64_000
THRESHOLDS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
COLOURS = {
    "system": "#4a5a6a",
    "user": "#c8553d",
    "assistant": "#3d6cb9",
    "tool": "#a9b8c8",
    "summary": "#2a9d8f",
}
matplotlib.rcParams["svg.hashsalt"] = "plimsoll"  # the same picture is the same file


def compacting(threshold: float) -> tuple[Replay, int]:
    """The recording with a compaction wherever the threshold is reached; the requests, and how many compactions."""
    engine = ContextCompressor(model=MODEL, context_length=WINDOW, threshold=threshold)
    count = 0

    def due(index: int, sent: Sequence[Message]) -> Compaction | None:
        nonlocal count
        if not engine.should_compress(sum(map(estimate_message_tokens, sent))):
            return None
        count += 1
        return Compaction(index, engine.compress(list(sent)))

    played = replay(read_example()[0].messages, card_for(MODEL), "planned", compactions=due)
    return played, count


def draw_compaction() -> None:
    """The messages before and after, each as wide as its tokens."""
    before = read_example()[0].messages
    after = ContextCompressor(model=MODEL, context_length=WINDOW).compress(before)
    figure, (above, below) = _figure(2, (9, 3.4))
    for axes, messages, name in ((above, before, "before"), (below, after, "after")):
        summary = find_summary(messages)
        left = 0
        for place, message in enumerate(messages):
            kind = "summary" if place == summary else str(message["role"])
            width = estimate_message_tokens(message)
            axes.barh(0, width, left=left, color=COLOURS[kind], edgecolor="white", linewidth=0.4)
            left += width
        axes.set_title(f"{name}: {len(messages)} messages, {left:,} tokens", loc="left", fontsize=10)
        axes.set_yticks([])
        axes.set_xlim(0, sum(map(estimate_message_tokens, before)))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        _tidy(axes)
    below.set_xlabel("tokens")
    handles = [Patch(color=colour, label=name) for name, colour in COLOURS.items()]
    above.legend(
        handles=handles, ncols=5, frameon=False, loc="lower right", bbox_to_anchor=(1, 1), fontsize=8
    )
    _save(figure, "compaction.svg")


def draw_cache() -> None:
    """What each request reads from the cache and writes to it, with compactions at half of the window."""
    played, _ = compacting(0.5)
    figure, (axes,) = _figure(1, (9, 3.2))
    bills = [step.bill for step in played.steps]
    numbers = range(1, len(bills) + 1)
    read = [bill.read for bill in bills]
    written = [bill.written + bill.plain for bill in bills]
    axes.bar(numbers, read, 0.9, color="#2a9d8f", label="read from the cache (a tenth of the price)")
    axes.bar(numbers, written, 0.9, bottom=read, color="#e9a23b", label="written to the cache")
    axes.axhline(WINDOW * 0.5, color="#c8553d", linewidth=1, linestyle="--")
    axes.annotate("compaction is due", (1, WINDOW * 0.5), (0, 3), textcoords="offset points", color="#c8553d")
    axes.set_xlabel("request")
    axes.set_ylabel("prompt tokens")
    axes.legend(frameon=False, ncols=2, loc="lower left", bbox_to_anchor=(0, 1), fontsize=8)
    _tidy(axes)
    _save(figure, "cache.svg")


def draw_threshold() -> None:
    """Cost and number of compactions by threshold."""
    figure, (axes,) = _figure(1, (9, 3.2))
    found = [compacting(threshold) for threshold in THRESHOLDS]
    places = [round(100 * threshold) for threshold in THRESHOLDS]
    axes.bar(places, [played.money for played, _ in found], 6, color="#3d6cb9")
    for place, (played, count) in zip(places, found, strict=True):
        largest = max(step.bill.prompt_tokens for step in played.steps)
        text = f"{count} compactions\nlargest {largest // 1000}K"
        axes.annotate(
            text, (place, played.money), (0, 3), textcoords="offset points", ha="center", fontsize=7
        )
    axes.set_xticks(places, [f"{place} %" for place in places])
    axes.set_xlabel("compression.threshold")
    axes.set_ylabel("USD for the recording")
    axes.set_ylim(0, max(played.money for played, _ in found) * 1.2)
    _tidy(axes)
    _save(figure, "threshold.svg")


def _figure(rows: int, size: tuple[float, float]) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=size, layout="constrained", facecolor="white")
    FigureCanvasSVG(figure)
    axes = figure.subplots(rows, 1, squeeze=False)
    return figure, [row[0] for row in axes]


def _tidy(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)


def _save(figure: Figure, name: str) -> None:
    figure.savefig(IMAGES / name, format="svg", metadata={"Date": None})
    text = (IMAGES / name).read_text("utf-8")
    (IMAGES / name).write_text("\n".join(line.rstrip() for line in text.splitlines()) + "\n", "utf-8")
    print(f"docs/images/{name}")


if __name__ == "__main__":
    draw_compaction()
    draw_cache()
    draw_threshold()
