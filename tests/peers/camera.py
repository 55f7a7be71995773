"""Keeps screens of a terminal in `.local/screens`, where they can be read after a run.

`site/record.py` makes the pictures of the documentation from them.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "terminal"))
sys.path.insert(0, str(Path(__file__).parents[2] / "site"))

import record

ROOT = Path(__file__).parents[2]
SCREENS = ROOT / ".local" / "screens"
SIZES = [(80, 24), (120, 40)]


class Camera:
    """Waits for a text and keeps everything that the terminal shows under a name."""

    def __init__(self, screen, size):
        self.screen, self.size = screen, size

    def take(self, name, text):
        return self.take_match(name, re.escape(text))

    def take_match(self, name, pattern):
        """The same for a regular expression."""
        shown = self.screen.wait_for_match(pattern)
        folder = SCREENS / f"{self.size[0]}x{self.size[1]}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.txt").write_text(self.screen.as_drawn, "utf-8")
        (folder / f"{name}.ansi").write_text(self.screen.coloured, "utf-8")
        return shown


def assert_is_pictured(name, changed=()):
    """The documentation's picture shows the screen of this run, except for values that differ between runs."""
    shown = (record.SCREENS / f"{record.PICTURES[name]}.ansi").read_text("utf-8")
    for value, pictured in changed:
        shown = shown.replace(value, pictured)
    is_current = record.picture(name, shown) == (record.IMAGES / f"{name}.svg").read_text("utf-8")
    assert is_current, (
        f"docs/images/{name}.svg is not the screen of this run; `make screens` records it:\n{shown}"
    )
