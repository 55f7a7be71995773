"""`plimsoll tour`: one compaction on screen, from the growing conversation to the cost.

    grow ─► compact ─► ask about something removed ─► undo ─► cost

In a terminal, a key moves to the next step, and `q` leaves. Otherwise, all steps are printed at once.
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.live import Live
from rich.text import Text

from plimsoll.models import estimate_messages_tokens_rough
from plimsoll.terminal.tour import screens
from plimsoll.terminal.tour.key_reader import KeyReader
from plimsoll.terminal.tour.recorded_session import RecordedSession

_SECONDS_PER_MESSAGE = 0.06  # the growth of about 70 messages takes four seconds
_LEAVING = frozenset({"q", "Q", "\x1b", "\x04"})
_KEYS = "any key: next   q: leave the tour"


class TourLeft(Exception):
    """The user pressed a key to leave."""


class TourPace:
    """Waits for the user between steps; without a terminal it never waits."""

    def __init__(self, console: Console, keys: KeyReader | None) -> None:
        self._console, self._keys = console, keys

    @property
    def is_interactive(self) -> bool:
        return self._keys is not None

    def skipped(self, seconds: float) -> bool:
        """Wait; returns whether a key was pressed to skip the rest."""
        pressed = self._keys.wait(seconds) if self._keys else ""
        _leave_if_asked(pressed)
        return bool(pressed)

    def next_step(self) -> None:
        """Wait for a key."""
        if self._keys is None:
            return
        self._console.print()
        self._console.print(Text(_KEYS, "dim"), end="\r")
        pressed = self._keys.wait()
        self._console.print(" " * len(_KEYS), end="\r")
        _leave_if_asked(pressed)


def _leave_if_asked(pressed: str) -> None:
    if pressed in _LEAVING:
        raise TourLeft


@click.command()
def tour() -> None:
    """Watch a conversation grow, get compacted, answer a question about removed content, and get restored.

    The tour uses a bundled recording and a temporary archive. It needs no key and no network. Press q to leave.
    """
    console = Console(highlight=False)
    with _pace(console) as pace, RecordedSession() as session:
        try:
            _run(console, pace, session)
        except (TourLeft, KeyboardInterrupt, EOFError):
            console.print(Text("\nYou left the tour.", "dim"))
    console.print(screens.next_commands(_command_name()))


@contextmanager
def _pace(console: Console) -> Iterator[TourPace]:
    if sys.stdin.isatty() and console.is_terminal:
        with KeyReader() as keys:
            yield TourPace(console, keys)
    else:
        yield TourPace(console, None)


def _run(console: Console, pace: TourPace, session: RecordedSession) -> None:
    steps: tuple[tuple[str, Callable[[Console, TourPace, RecordedSession], None]], ...] = (
        ("A conversation grows", _grow),
        ("It is compacted", _compact),
        ("You ask about something that was removed", _recall),
        ("You undo the compaction", _undo),
        ("What it costs", _costs),
    )
    for number, (title, step) in enumerate(steps, start=1):
        console.print(screens.heading(number, title))
        step(console, pace, session)
        if number < len(steps):
            pace.next_step()


def _grow(console: Console, pace: TourPace, session: RecordedSession) -> None:
    threshold = session.engine.threshold_tokens
    console.print(screens.introduction(len(session.recording), threshold))
    if not pace.is_interactive:
        last = list(session.grow())[-1]
        console.print(screens.growth(last, threshold, console.width))
    else:
        waits = True
        with Live(console=console, auto_refresh=False) as live:
            for last in session.grow():
                waits = waits and not pace.skipped(_SECONDS_PER_MESSAGE)
                live.update(screens.growth(last, threshold, console.width), refresh=waits)
            live.refresh()
    console.print()
    console.print(screens.growth_end(last, threshold))


def _compact(console: Console, _pace: TourPace, session: RecordedSession) -> None:
    console.print(screens.compaction(session.compact(), console.width))


def _recall(console: Console, _pace: TourPace, session: RecordedSession) -> None:
    console.print(screens.recall(session.recall(), len(session.view())))


def _undo(console: Console, _pace: TourPace, session: RecordedSession) -> None:
    same = session.undo()
    view = session.view()
    console.print(screens.undone(len(view), estimate_messages_tokens_rough(view), same))


def _costs(console: Console, _pace: TourPace, session: RecordedSession) -> None:
    console.print(screens.costs(session.costs()))


def _command_name() -> str:
    """How to call Plimsoll from this shell: by name, or by the path of its command."""
    if shutil.which("plimsoll"):
        return "plimsoll"
    script = Path(sys.executable).parent / "plimsoll"
    relative = os.path.relpath(script)
    return relative if script.exists() and not relative.startswith("..") else str(script)
