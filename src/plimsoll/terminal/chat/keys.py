"""The Esc key during a turn: stops waiting for the summary model.

Every other key typed meanwhile is kept for the next prompt. Ctrl-C stays a signal.
"""

import asyncio
import os
import re
import sys
import termios
from collections.abc import Callable
from typing import Any

_ESCAPE = b"\x1b"
# Arrow and function keys also start with Esc.
_SEQUENCE = re.compile(rb"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O.)")


class EscapeKey:
    """Listens between `start` and `stop`, if standard input is a terminal."""

    def __init__(self) -> None:
        self._before: list[Any] | None = None
        self._pressed: Callable[[], None] = lambda: None
        self._typed = b""

    def start(self, pressed: Callable[[], None]) -> None:
        """Call `pressed` when the user presses Esc; may be called again."""
        if self._before is not None or not sys.stdin.isatty():
            return
        self._pressed, self._before = pressed, termios.tcgetattr(sys.stdin)
        single = [*self._before]
        single[3] &= ~(termios.ICANON | termios.ECHO)  # key by key, not line by line
        termios.tcsetattr(sys.stdin, termios.TCSANOW, single)
        asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._read)

    def stop(self) -> None:
        """Restore the terminal's settings."""
        if self._before is not None:
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            termios.tcsetattr(sys.stdin, termios.TCSANOW, self._before)
            self._before = None

    def keep_pending(self) -> None:
        """Read what was typed and not read yet."""
        if not sys.stdin.isatty():
            return
        before = termios.tcgetattr(sys.stdin)
        now = [*before[:6], [*before[6]]]
        now[3] &= ~(termios.ICANON | termios.ECHO)  # an incomplete line can only be read key by key
        now[6][termios.VMIN] = now[6][termios.VTIME] = 0  # read what is available, without waiting
        termios.tcsetattr(sys.stdin, termios.TCSANOW, now)
        try:
            while keys := os.read(sys.stdin.fileno(), 1_024):
                self._typed += _SEQUENCE.sub(b"", keys).replace(_ESCAPE, b"")
        finally:
            termios.tcsetattr(sys.stdin, termios.TCSANOW, before)

    def take_typed(self) -> str:
        """Return the other typed keys, once."""
        typed, self._typed = self._typed, b""
        return typed.decode("utf-8", "ignore").rstrip("\r\n")

    def _read(self) -> None:
        keys = _SEQUENCE.sub(b"", os.read(sys.stdin.fileno(), 1_024))
        self._typed += keys.replace(_ESCAPE, b"")
        if _ESCAPE in keys:
            self._pressed()
