"""Keeps screens of a terminal in `.local/screens`, where they can be read after a run."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "terminal"))

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
        return shown
