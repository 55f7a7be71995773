"""Record real screens as SVG pictures: `python site/record.py`.

Runs `plimsoll tour` and `plimsoll gateway` in tmux at 80×24, presses the keys, and writes what the terminal shows
to docs/images. Nothing is drawn by hand, and the pictures load no fonts from elsewhere.
"""

import io
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
PLIMSOLL = Path(sys.executable).with_name("plimsoll")
WIDTH, HEIGHT = 80, 24
PATIENCE = 60.0
SVG = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g>
</g>
</svg>
"""


class RecordedTerminal:
    """A tmux terminal with one command in it."""

    def __init__(self, command: str, home: str) -> None:
        self._socket = f"plimsoll-record-{uuid4().hex[:8]}"
        kept = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        folder = f"{PLIMSOLL.parent}:{kept['PATH']}"
        self._environment = {**kept, "PLIMSOLL_HOME": home, "PATH": folder, "TERM": "xterm-256color"}
        size = ["-x", str(WIDTH), "-y", str(HEIGHT)]
        self._tmux("-f", "/dev/null", "new-session", "-d", "-s", "it", *size, f"clear; {command}; sleep 600")

    def __enter__(self) -> "RecordedTerminal":
        return self

    def __exit__(self, *_: object) -> None:
        self._tmux("kill-server")

    def press(self, key: str) -> None:
        """A key by tmux's name."""
        self._tmux("send-keys", "-t", "it", key)

    def wait_for(self, text: str) -> str:
        """The screen, with its colours, once it shows a text."""
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends:
            if text in self._tmux("capture-pane", "-p", "-t", "it"):
                return self._tmux("capture-pane", "-p", "-e", "-t", "it")
            time.sleep(0.1)
        raise TimeoutError(f"The screen never showed {text!r}.")

    def _tmux(self, *arguments: str) -> str:
        command = ["tmux", "-L", self._socket, *arguments]
        return subprocess.run(command, env=self._environment, capture_output=True, text=True).stdout


def save(screen: str, name: str, title: str) -> None:
    """Write a screen as an SVG picture."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(screen.rstrip()))
    svg = console.export_svg(title=title, code_format=SVG, unique_id=f"plimsoll-{name}")
    (IMAGES / f"{name}.svg").write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n", "utf-8")
    print(f"docs/images/{name}.svg")


def main() -> None:
    """Record the pictures of the README and the start page."""
    with TemporaryDirectory() as home:
        with RecordedTerminal("plimsoll tour", home) as terminal:
            terminal.wait_for("any key: next")
            terminal.press("Space")
            terminal.wait_for("2/5")
            save(terminal.wait_for("any key: next"), "tour", "plimsoll tour")
        with RecordedTerminal("plimsoll gateway --port 8787", home) as terminal:
            save(terminal.wait_for("Ready."), "gateway", "plimsoll gateway")


if __name__ == "__main__":
    main()
