"""Context usage by category: `/context`.

    ████▓▓▒▒▒▒▒■■■■■■■■■■■■····················   42 %
                              ▲ compaction at 100,000, 16,000 tokens left

    █ system         812   0.4%  ███
    ▓ tools        1,904   1.0%  ▓▓▓▓▓▓▓
    …

Each category has its own sign, so the bars work without colours too. Each part's bar is relative to the largest. The
parts add up to the next request; if a provider has reported a count, the estimates are scaled to it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rich.console import Group
from rich.table import Table
from rich.text import Text

from plimsoll.archive import ViewItem
from plimsoll.messages import SYSTEM_ROLES

WIDEST = 60
LONGEST_BAR = 30
LEGEND = 36  # columns of the legend left of its bars
_SIGNS = {
    "system": ("█", "blue"),
    "tools": ("▓", "magenta"),
    "pinned": ("◆", "yellow"),
    "summary": ("▒", "green"),
    "conversation": ("■", "cyan"),
    "free": ("·", "dim"),
}


@dataclass(frozen=True, slots=True)
class ContextUsage:
    """Tokens by category, and the window."""

    parts: dict[str, int]
    window: int
    threshold: int | None = None  # where compaction starts; None if it is never automatic

    @property
    def used(self) -> int:
        return sum(tokens for name, tokens in self.parts.items() if name != "free")


def context_usage(
    items: Sequence[ViewItem],
    pins: Collection[int],
    tools: int,
    used: int,
    window: int,
    threshold: int | None = None,
) -> ContextUsage:
    """The categories of a view; `tools` are the tokens of their schemas, `used` those of the whole request."""
    parts = dict.fromkeys(("system", "tools", "pinned", "summary", "conversation"), 0)
    parts["tools"] = tools
    for item in items:
        if item.message.get("role") in SYSTEM_ROLES:
            parts["system"] += item.tokens
        elif item.node and item.message.get("role") != "tool":
            parts["summary"] += item.tokens
        else:
            parts["pinned" if item.sequence in pins else "conversation"] += item.tokens
    estimated = sum(parts.values())
    scale = used / estimated if estimated else 1.0
    scaled = {name: round(tokens * scale) for name, tokens in parts.items()}
    return ContextUsage({**scaled, "free": max(0, window - sum(scaled.values()))}, window, threshold)


def context_bar(found: ContextUsage, width: int) -> Group:
    """The bar with the threshold marked below it, and a bar for each part."""
    cells = max(10, min(WIDEST, width - 7))
    whole = max(found.window, found.used, 1)
    bar = Text()
    ends = 0
    reached = 0.0
    for name, tokens in found.parts.items():
        sign, style = _SIGNS[name]
        reached += tokens / whole * cells
        here = max(round(reached), ends + (1 if tokens and name != "free" else 0))
        here = cells if name == "free" else min(here, cells)
        bar.append(sign * (here - ends), style)
        ends = here
    share = found.used / found.window if found.window else 0.0
    return Group(
        bar.append(f" {share:4.0%}"), _mark(found, whole, cells, width), Text(""), _legend(found, width)
    )


def _mark(found: ContextUsage, whole: int, cells: int, width: int) -> Text:
    """Where compaction starts, below the bar."""
    if found.threshold is None:
        return Text("manual compaction only (compression.enabled is false)", "dim")
    column = min(cells - 1, round(found.threshold / whole * cells))
    left = found.threshold - found.used
    when = f"{left:,} tokens left" if left > 0 else "due"
    short = f"compaction at {found.threshold:,}"
    for label in (f"{short}, {when}", short):
        # The text is on the side of the mark with room for it.
        if column > len(label):
            return Text(f"{label:>{column - 1}} ▲", "bold")
        if column + 2 + len(label) <= width:
            return Text(f"{'▲':>{column + 1}} {label}", "bold")
    return Text(f"{'▲':>{column + 1}}", "bold")


def _legend(found: ContextUsage, width: int) -> Table:
    legend = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    legend.add_column()
    legend.add_column(justify="right")
    legend.add_column(justify="right", style="dim")
    legend.add_column(no_wrap=True)
    largest = max((tokens for name, tokens in found.parts.items() if name != "free"), default=0)
    room = max(5, min(LONGEST_BAR, width - LEGEND))
    for name, tokens in found.parts.items():
        sign, style = _SIGNS[name]
        part = f"{tokens / found.window:.1%}" if found.window else ""
        length = 0 if name == "free" else max(round(tokens / max(1, largest) * room), int(tokens > 0))
        legend.add_row(
            Text.assemble((sign, style), f" {name}"), f"{tokens:,}", part, Text(sign * length, style)
        )
    legend.add_row(Text("  window", "dim"), f"{found.window:,}", "", "")
    return legend
