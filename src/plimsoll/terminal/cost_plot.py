"""Draws the results of `plimsoll cost` as a PNG."""

from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from plimsoll.errors import UserError
from plimsoll.installation import install_command
from plimsoll.models import ModelCard
from plimsoll.terminal.priced_replay import PricedReplay, conversation_name
from plimsoll.transcripts import write_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = {"read": "#2a9d8f", "write": "#e9a23b", "plain": "#c8553d"}
_LINES = {"none": "#8d99ae", "system_and_3": "#3d6cb9", "planned": "#2a9d8f", "automatic": "#2a9d8f"}


def draw(priced: Sequence[PricedReplay], card: ModelCard, target: Path) -> None:
    """Draw the tokens of each request by price, and the cumulative cost, as a PNG."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UserError(f"Drawing needs matplotlib: {install_command('plot')}") from error
    figure = Figure(figsize=(11, 7), dpi=150, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    _draw_tokens(above, priced)
    _draw_money(below, priced)
    title = conversation_name(priced[0].transcript) if len(priced) == 1 else f"{len(priced)} conversations"
    figure.suptitle(f"{title} on {card.name}", x=0.01, ha="left", fontsize=13, fontweight="bold")
    picture = BytesIO()
    figure.savefig(picture, format="png")
    write_file(target, [picture.getvalue()])


def _draw_tokens(axes: "Axes", priced: Sequence[PricedReplay]) -> None:
    steps = [step.bill for conversation in priced for step in conversation.chosen.steps]
    numbers = range(1, len(steps) + 1)
    layers = {
        "read": [bill.read for bill in steps],
        "write": [bill.written for bill in steps],
        "plain": [bill.plain for bill in steps],
    }
    # Few requests are bars with gaps; many are drawn edge to edge, because the gaps would flicker.
    width = 0.85 if len(steps) <= 120 else 1.0
    bottom = [0] * len(steps)
    for name, heights in layers.items():
        label = {"read": "read from cache", "write": "written to cache", "plain": "plain input"}[name]
        axes.bar(numbers, heights, width, bottom=bottom, color=_COLOURS[name], label=label, linewidth=0)
        bottom = [low + height for low, height in zip(bottom, heights, strict=True)]
    axes.set_ylabel("tokens per request")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value / 1000:,.0f}K" if value else "0")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), frameon=False, ncols=3, borderaxespad=0.2)
    _tidy(axes, priced)


def _draw_money(axes: "Axes", priced: Sequence[PricedReplay]) -> None:
    ends: list[tuple[float, str, str]] = []
    for label in priced[0].replays if priced else ():
        spent, line = 0.0, [0.0]
        for step in (step for conversation in priced for step in conversation.replays[label].steps):
            spent += step.bill.money
            line.append(spent)
        width = 2.4 if label == list(priced[0].replays)[-1] else 1.6
        axes.plot(range(len(line)), line, color=_LINES[label], linewidth=width)
        ends.append((spent, label, _LINES[label]))
    _label_ends(axes, ends, sum(len(conversation.chosen.steps) for conversation in priced))
    axes.set_xlabel("request")
    axes.set_ylabel("USD, cumulative")
    axes.yaxis.set_major_formatter(lambda value, _: f"${value:,.2f}")
    axes.set_ylim(bottom=0)
    _tidy(axes, priced)


def _label_ends(axes: "Axes", ends: Iterable[tuple[float, str, str]], last: int) -> None:
    """Label each line with its name and sum at its end, moved apart if they would overlap."""
    ordered = _same_joined(sorted(ends, key=lambda end: end[0]))
    top = max((spent for spent, _, _ in ordered), default=0.0) or 1.0
    lowest = 0.0
    for spent, label, colour in ordered:
        height = max(spent, lowest)
        text = f"{label}  ${spent:,.2f}" if spent >= 0.1 else f"{label}  ${spent:,.4f}"
        axes.annotate(
            text, (last, height), (8, 0), textcoords="offset points", va="center", color=colour, fontsize=9,
            fontweight="bold", annotation_clip=False,
        )  # fmt: skip
        lowest = height + top * 0.11
    axes.margins(x=0.01)


def _same_joined(ends: Sequence[tuple[float, str, str]]) -> list[tuple[float, str, str]]:
    """Lines that end together share a label, in the colour of the one drawn on top."""
    joined: list[tuple[float, str, str]] = []
    for spent, label, colour in ends:
        if joined and abs(spent - joined[-1][0]) <= 1e-3 * spent:
            joined[-1] = (spent, f"{joined[-1][1]} = {label}", colour)
        else:
            joined.append((spent, label, colour))
    return joined


def _tidy(axes: "Axes", priced: Sequence[PricedReplay]) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e5e7eb", linewidth=0.8)
    axes.set_axisbelow(True)
    done = 0.5
    for conversation in priced[:-1]:
        done += len(conversation.chosen.steps)
        axes.axvline(done, color="#9ca3af", linewidth=0.6, linestyle=":")
