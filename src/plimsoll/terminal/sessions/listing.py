"""Sessions as a table, and as JSON for programs."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from plimsoll.archive import OPERATOR, Session
from plimsoll.messages.printable import plain
from plimsoll.terminal.sessions.times import time_ago

WIDE = 110  # terminal width from which the title has its own column
MODEL_WIDE, MODEL_NARROW = 28, 10
BETWEEN = 3


def table(sessions: Sequence[Session], now: float, width: int) -> Table:
    """One row for each session. The id is never cut, because other commands need it."""
    wide = width >= WIDE
    rows: list[tuple[str, ...]] = [
        _cells(session, now, MODEL_WIDE if wide else MODEL_NARROW) for session in sessions
    ]
    heads: tuple[str, ...] = ("session", "model", "messages", "tokens", "updated")
    widest = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    # Ids and numbers are never cut: a narrow terminal omits the model, then the time.
    for head in ("model", "updated"):
        if sum(widest) + BETWEEN * len(heads) > width:
            place = heads.index(head)
            heads, widest = heads[:place] + heads[place + 1 :], widest[:place] + widest[place + 1 :]
            rows = [row[:place] + row[place + 1 :] for row in rows]
    room = width - sum(widest) - BETWEEN * len(heads) - 2 if wide else widest[0]
    found = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for head in (heads[0], *(("title",) if wide else ()), *heads[1:]):
        found.add_column(
            head, no_wrap=True, justify="left" if head in ("session", "title", "model") else "right"
        )
    for item, (id, *others) in zip(sessions, rows, strict=True):
        title = Text(_title(item), "" if item.title else "dim")
        title.truncate(max(8, room), overflow="ellipsis")
        name = Text(id, "cyan")
        found.add_row(*((name, title) if wide else (Text("\n").join([name, title]),)), *others)
    return found


def _cells(session: Session, now: float, longest: int) -> tuple[str, str, str, str, str]:
    model = plain(session.model) or "–"
    shown = model if len(model) <= longest else f"{model[: longest - 1]}…"
    return session.id, shown, f"{session.messages:,}", short(session.tokens), time_ago(session.updated, now)


def _title(session: Session) -> str:
    title = plain(session.title) or "(no title)"
    if session.owner != OPERATOR:
        title = f"[{plain(session.owner)}] {title}"
    return f"fork: {title}" if session.parent else title


def short(number: int) -> str:
    """A number in few characters: 950, 12.3K, 4.5M."""
    for size, unit in ((1_000_000, "M"), (1_000, "K")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return str(number)


def facts(session: Session) -> dict[str, Any]:
    """A session as JSON."""
    return asdict(session)
