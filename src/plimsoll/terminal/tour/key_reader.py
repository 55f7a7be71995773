"""Single key presses from a terminal.

with KeyReader() as keys:  ──►  keys.wait(0.1) ──► "q", "\r", "\x1b", or "" if no key was pressed
"""

import os
import select
import sys
import termios
import tty
from types import TracebackType
from typing import Any

_LONGEST_SEQUENCE = 32  # bytes that one key sends; arrow and function keys send several


class KeyReader:
    """Reads keys without Enter and without echo. Ctrl-C stays a signal."""

    def __init__(self) -> None:
        self._before: list[Any] | None = None

    def __enter__(self) -> "KeyReader":
        self._before = termios.tcgetattr(sys.stdin)
        tty.setcbreak(sys.stdin)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            # Extra key presses must not reach the shell's prompt.
            termios.tcsetattr(sys.stdin, termios.TCSAFLUSH, self._before)

    def wait(self, seconds: float | None = None) -> str:
        """The next key; an empty string if the time passes without one."""
        ready, _, _ = select.select([sys.stdin], [], [], seconds)
        if not ready:
            return ""
        pressed = os.read(sys.stdin.fileno(), _LONGEST_SEQUENCE)
        if not pressed:  # the terminal was closed
            raise EOFError
        return pressed.decode("utf-8", "replace")
