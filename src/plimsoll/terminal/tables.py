"""Displays a compaction: sizes before and after, cleared results, the summary.

               before     after
    messages      157        31   ████▊···················   20 %
    tokens     64,310    15,022   █████▌··················   23 %

Text of a conversation is shown as text, never as terminal control sequences or markup. Long lists are folded, with
the number of hidden items.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from plimsoll.context import ClearedResult
from plimsoll.context.report import ShortenedMessage
from plimsoll.messages.printable import plain

CLEARED_SHOWN = 8
ITEMS_PER_SECTION = 2
LONGEST_ITEM = 160
BAR = 24
SMALL_BAR = 6
BETWEEN_COLUMNS = 3
WIDEST = 10_000  # no width limit while a table is measured
_PERCENTAGE = 5  # columns of a percentage and the space before it
_EIGHTHS = " ▏▎▍▌▋▊▉"


class SizeComparison(Protocol):
    """What the before/after table needs."""

    @property
    def messages_before(self) -> int: ...
    @property
    def messages_after(self) -> int: ...
    @property
    def tokens_before(self) -> int: ...
    @property
    def tokens_after(self) -> int: ...


def fitted(build: Callable[[frozenset[str]], Table], expendable: Sequence[str], width: int) -> Table:
    """The table without the optional columns that do not fit the width.

    `build` creates it without the given columns. Text is cut only if no column can be removed.
    """
    console = Console(width=WIDEST)
    for count in range(len(expendable)):
        table = build(frozenset(expendable[:count]))
        if Measurement.get(console, console.options, table).maximum <= width:
            return table
    return build(frozenset(expendable))


def before_after(sizes: SizeComparison) -> Table:
    """Messages and tokens before and after, each with a bar of the remaining share."""
    table = Table(box=None, padding=(0, 3, 0, 0), pad_edge=False)
    table.add_column("")
    table.add_column("before", justify="right", header_style="dim", no_wrap=True)
    table.add_column("after", justify="right", header_style="dim", no_wrap=True)
    table.add_column("")
    rows = (
        ("messages", sizes.messages_before, sizes.messages_after),
        ("tokens", sizes.tokens_before, sizes.tokens_after),
    )
    for name, before, after in rows:
        table.add_row(name, f"{before:,}", Text(f"{after:,}", "bold"), ShareBar(before, after))
    return table


@dataclass(frozen=True, slots=True)
class ShareBar:
    """The bar of the remaining share, shortened where numbers need the width."""

    before: int
    after: int

    def __rich_measure__(self, _console: Console, _options: ConsoleOptions) -> Measurement:
        return Measurement(_PERCENTAGE, _PERCENTAGE + BAR)

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        yield bar(self.before, self.after, min(BAR, max(0, options.max_width - _PERCENTAGE)))


def bar(before: int, after: int, width: int = BAR) -> Text:
    """The remaining share as a bar and a percentage."""
    share = min(1.0, after / before) if before else 1.0
    eighths = max(1, round(share * width * 8)) if after and width else 0
    whole, rest = divmod(eighths, 8)
    filled = "█" * whole + (_EIGHTHS[rest] if rest else "")
    return Text.assemble(
        (filled, "cyan"), ("·" * (width - len(filled)), "dim"), f" {share:4.0%}"[not width :]
    )


def cleared_list(
    cleared: Sequence[ClearedResult],
    shown: int = CLEARED_SHOWN,
    restore: str = "`plimsoll recall FILE HANDLE` restores",
) -> Group:
    """The cleared tool results, largest first, folded past `shown`.

    On a narrow terminal commands are cut; handles, sizes and statuses never are.
    """
    characters = sum(item.characters for item in cleared)
    noun = "tool result" if len(cleared) == 1 else "tool results"
    title = Text(f"Cleared: {len(cleared)} {noun}, {characters:,} characters", "bold")
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False, expand=True)
    largest = sorted(cleared, key=lambda item: -item.characters)[:shown]
    rows = [(item.handle, f"{item.characters:,}", plain(item.status)) for item in largest]
    handles, sizes, endings = (max(map(len, column)) for column in zip(*rows, strict=True))
    table.add_column(style="cyan", no_wrap=True, min_width=handles)
    table.add_column(justify="right", no_wrap=True, min_width=sizes)
    table.add_column(no_wrap=True, min_width=endings)
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    for item, (handle, size, _) in zip(largest, rows, strict=True):
        line = plain(item.line.split("\n")[0].split(" · ")[0])
        table.add_row(handle, size, status(item.status), Text(line))
    parts: list[RenderableType] = [title, table]
    rest = f"and {len(cleared) - shown} smaller ones; " if len(cleared) > shown else ""
    parts.append(Text(f"{rest}{restore} one", "dim"))
    return Group(*parts)


def cleared_lines(cleared: Sequence[ClearedResult], original: str) -> str:
    """Every cleared tool result, one line each."""
    lines = [
        f"- {result.handle}  {result.characters:,} characters  "
        f"{result.line.split(chr(10))[0].split(' · ')[0]} · {result.status}"
        for result in cleared
    ]
    return plain("\n".join((f"Cleared (`plimsoll recall {original} HANDLE` restores one):", *lines)))


def shortened_lines(shortened: Sequence[ShortenedMessage]) -> str:
    """Every shortened message, one line each."""
    lines = [
        f"- {message.handle}  {message.tool or 'message'}: "
        f"{message.characters_before:,} → {message.characters_after:,} characters"
        for message in shortened
    ]
    return plain("\n".join(("Shortened to fit:", *lines)))


def status(text: str) -> Text:
    """How a tool call ended, red if it failed."""
    failed = text.lower().startswith(("fail", "error")) or re.search(r"exit (?!0\b)-?\d", text) is not None
    return Text(plain(text), "red" if failed else "green" if text else "dim")


def summary_panel(summary: str, source: str) -> Panel:
    """The summary, with every section folded."""
    author = "written by the model" if source == "model" else "written without a model"
    parts: list[RenderableType] = []
    for heading, body in folded(plain(summary)):
        major = heading.startswith("## ")
        if major and parts:
            parts.append(Text(""))
        if heading:
            parts.append(Text(heading.lstrip("# "), "bold cyan" if major else "italic"))
        if body:
            parts.append(_items(body))
    return Panel(
        Padding(Group(*parts), (0, 1)),
        title=Text(f"Summary, {author}"),
        title_align="left",
        border_style="dim",
        box=box.ROUNDED,
    )


def _items(body: Sequence[str]) -> Table:
    """Lines under a heading with hanging bullets; rich's own lists add a blank line before each."""
    from rich.markdown import Markdown  # slow to import, and few commands need it

    grid = Table.grid(padding=(0, 1, 0, 0))
    for line in body:
        bullet, text = ("•", line[2:]) if line.startswith("- ") else ("", line)
        grid.add_row(Text(bullet, "dim"), Markdown(text))
    return grid


def folded(summary: str, items: int = ITEMS_PER_SECTION) -> list[tuple[str, list[str]]]:
    """Each heading with at most `items` lines of its section; long lines are cut, and hidden ones counted."""
    return [
        (
            heading,
            [*map(_cut, body[:items]), *([f"- *… {len(body) - items} more*"] if len(body) > items else [])],
        )
        for heading, body in _sections(summary)
    ]


def many(rows: Sequence[tuple[str, SizeComparison, str]], width: int) -> Table:
    """One row for each conversation (name, size, status) and their sum, at most `width` columns wide."""
    weights = [row[1] for row in rows]
    before, after = sum(w.tokens_before for w in weights), sum(w.tokens_after for w in weights)
    messages_before, messages_after = (
        sum(w.messages_before for w in weights),
        sum(w.messages_after for w in weights),
    )
    footer = (f"{len(rows)} in all", f"{messages_before:,} → {messages_after:,}", f"{before:,} → {after:,}")
    small = SMALL_BAR if width >= 76 else 0
    figures = [
        (f"{w.messages_before:,} → {w.messages_after:,}", f"{w.tokens_before:,} → {w.tokens_after:,}", word)
        for _, w, word in rows
    ]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_footer=True)
    table.add_column("file", footer[0], no_wrap=True)
    table.add_column("messages", footer[1], justify="right", no_wrap=True)
    table.add_column("tokens", footer[2], justify="right", no_wrap=True)
    table.add_column("", bar(before, after, small), no_wrap=True)
    table.add_column("", no_wrap=True)
    # Figures get the width that they need; names share the rest and are cut at their start.
    widest = [max(map(len, column)) for column in zip(*figures, (*footer[1:], ""), strict=True)]
    room = max(8, width - sum(widest) - len(bar(1, 1, small)) - BETWEEN_COLUMNS * 4 - 2)
    for (name, sizes, _), (messages, tokens, word) in zip(rows, figures, strict=True):
        shown = plain(name)
        table.add_row(
            Text(shown if len(shown) <= room else f"…{shown[1 - room :]}"),
            messages,
            tokens,
            bar(sizes.tokens_before, sizes.tokens_after, small),
            Text(word, "dim" if word == "valid" else "yellow"),
        )
    return table


def _sections(summary: str) -> Iterator[tuple[str, list[str]]]:
    heading, body = "", list[str]()
    for line in summary.splitlines():
        if line.startswith("#"):
            if heading or body:
                yield heading, body
            heading, body = line, []
        elif line.strip():
            body.append(line)
    if heading or body:
        yield heading, body


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST_ITEM else f"{line[: LONGEST_ITEM - 1].rstrip()}…"
