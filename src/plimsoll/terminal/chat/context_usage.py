"""Context usage by category: `/context`.

    ████▓▓▒▒▒▒▒■■■■■■■■■■■■····················   42 %
    █ system         812
    ▓ tools        1,904
    …

Each category has its own sign, so the bar works without colours too. The parts add up to the next
request; if a provider has reported a count, the estimates are scaled to it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rich.console import Group
from rich.table import Table
from rich.text import Text

from plimsoll.archive import ViewItem
from plimsoll.messages import SYSTEM_ROLES

WIDEST = 60
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

    @property
    def used(self) -> int:
        return sum(tokens for name, tokens in self.parts.items() if name != "free")


def context_usage(
    items: Sequence[ViewItem], pins: Collection[int], tools: int, used: int, window: int
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
    return ContextUsage({**scaled, "free": max(0, window - sum(scaled.values()))}, window)


def context_bar(found: ContextUsage, width: int) -> Group:
    """The bar and its legend."""
    cells = max(10, min(WIDEST, width - 7))
    bar = Text()
    ends = 0
    reached = 0.0
    for name, tokens in found.parts.items():
        sign, style = _SIGNS[name]
        reached += tokens / max(found.window, found.used) * cells
        here = max(round(reached), ends + (1 if tokens and name != "free" else 0))
        here = cells if name == "free" else min(here, cells)
        bar.append(sign * (here - ends), style)
        ends = here
    share = found.used / found.window if found.window else 0.0
    legend = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    legend.add_column()
    legend.add_column(justify="right")
    legend.add_column(justify="right", style="dim")
    for name, tokens in found.parts.items():
        sign, style = _SIGNS[name]
        part = f"{tokens / found.window:.1%}" if found.window else ""
        legend.add_row(Text.assemble((sign, style), f" {name}"), f"{tokens:,}", part)
    legend.add_row(Text("  window", "dim"), f"{found.window:,}", "")
    return Group(bar.append(f" {share:4.0%}"), legend)
