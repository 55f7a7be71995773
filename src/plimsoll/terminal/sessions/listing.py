"""Sessions as a table, and as JSON for programs."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from plimsoll.archive import OPERATOR, Session
from plimsoll.messages.printable import plain
from plimsoll.terminal.sessions.times import time_ago

WIDE = 110  # terminal width from which the title has its own column
MODEL_WIDE, MODEL_NARROW = 28, 10
BETWEEN = 3
GAP, INDENT = "  ", "  "


def table(sessions: Sequence[Session], now: float, width: int) -> RenderableType:
    """One row for each session. The id is never cut, because other commands need it."""
    if width >= WIDE:
        return _wide(sessions, now, width)
    heads: tuple[str, ...] = ("session", "model", "messages", "tokens", "updated")
    rows: list[tuple[str, ...]] = [heads, *(_cells(session, now, MODEL_NARROW) for session in sessions)]
    # Ids and numbers are never cut: a narrow terminal omits the model, then the time.
    for head in ("model", "updated"):
        if sum(map(len, _padded(rows)[0])) + len(GAP) * (len(rows[0]) - 1) > width:
            place = rows[0].index(head)
            rows = [row[:place] + row[place + 1 :] for row in rows]
    head, *lines = (GAP.join(cells).rstrip() for cells in _padded(rows))
    found = [Text(head, "bold"), Text("─" * len(head), "dim")]
    for session, line in zip(sessions, lines, strict=True):
        shown = Text(line)
        shown.stylize("cyan", 0, len(session.id))
        found += [shown, _title(session, width - len(INDENT), INDENT)]
    return Group(*found)


def _wide(sessions: Sequence[Session], now: float, width: int) -> Table:
    """The title has its own column."""
    heads = ("session", "model", "messages", "tokens", "updated")
    rows = [_cells(session, now, MODEL_WIDE) for session in sessions]
    widest = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    room = width - sum(widest) - BETWEEN * len(heads) - 2
    found = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for head in (heads[0], "title", *heads[1:]):
        found.add_column(
            head, no_wrap=True, justify="left" if head in ("session", "title", "model") else "right"
        )
    for session, (id, *others) in zip(sessions, rows, strict=True):
        found.add_row(Text(id, "cyan"), _title(session, room), *others)
    return found


def _padded(rows: Sequence[tuple[str, ...]]) -> list[list[str]]:
    """The cells of each row, as wide as their columns; numbers and times end at the right."""
    widest = [max(map(len, column)) for column in zip(*rows, strict=True)]
    is_text = [head in ("session", "model") for head in rows[0]]
    return [
        [
            cell.ljust(wide) if left else cell.rjust(wide)
            for cell, wide, left in zip(row, widest, is_text, strict=True)
        ]
        for row in rows
    ]


def _cells(session: Session, now: float, longest: int) -> tuple[str, str, str, str, str]:
    model = plain(session.model) or "–"
    shown = model if len(model) <= longest else f"{model[: longest - 1]}…"
    return session.id, shown, f"{session.messages:,}", short(session.tokens), time_ago(session.updated, now)


def _title(session: Session, room: int, indent: str = "") -> Text:
    title = plain(session.title) or "(no title)"
    if session.owner != OPERATOR:
        title = f"[{plain(session.owner)}] {title}"
    title = f"fork: {title}" if session.parent else title
    shown = Text(indent + title, "" if session.title else "dim")
    shown.truncate(len(indent) + max(8, room), overflow="ellipsis")
    return shown


def short(number: int) -> str:
    """A number in few characters: 950, 12.3K, 4.5M."""
    for size, unit in ((1_000_000, "M"), (1_000, "K")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return str(number)


def facts(session: Session) -> dict[str, Any]:
    """A session as JSON."""
    return asdict(session)
