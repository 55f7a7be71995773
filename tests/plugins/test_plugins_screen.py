"""The screen of `plimsoll plugins` in a real terminal, driven by keys: tmux."""

import os
import re
import shlex
import shutil
import subprocess
import time
from uuid import uuid4

import pytest

from plimsoll.plugins import built_in_engines
from preloaded import PLIMSOLL

PATIENCE = 180.0
CONFIG = "# my settings\ncontext:\n  engine: compressor  # for now\n# the end\n"


class Screen:
    """A terminal with `plimsoll plugins` in it."""

    def __init__(self, place, size=(80, 24), **variables):
        if shutil.which("tmux") is None:
            pytest.skip("tmux is not installed, so NO REAL TERMINAL WAS DRIVEN")
        self._socket = f"plimsoll-{uuid4().hex[:12]}"
        kept = {n: v for n, v in os.environ.items() if n not in ("COLUMNS", "LINES", "NO_COLOR")}
        command = f"cd {shlex.quote(str(place.project))} && {PLIMSOLL} plugins; echo left with $?; sleep 1000"
        self._tmux(
            "-f", "/dev/null", "new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), "-s", "plugins", command,
            environment={**kept, "PLIMSOLL_HOME": str(place.home), **variables},
        )  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self._tmux("kill-server", check=False)

    def press(self, *keys):
        self._tmux("send-keys", "-t", "plugins", *keys)

    @property
    def shown(self):
        return self._tmux("capture-pane", "-p", "-t", "plugins").stdout

    def wait_for(self, text):
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends:
            shown = self.shown
            if text in shown:
                return shown
            time.sleep(0.05)
        raise AssertionError(f"{text!r} did not appear:\n{self.shown}")

    def colours(self):
        seen = self._tmux("capture-pane", "-p", "-e", "-t", "plugins").stdout
        numbers = {int(n) for run in re.findall(r"\x1b\[([\d;]*)m", seen) for n in run.split(";") if n}
        return {n for n in numbers if 30 <= n <= 38 or 40 <= n <= 48 or 90 <= n <= 107}

    def _tmux(self, *arguments, check=True, environment=None):
        command = ["tmux", "-L", self._socket, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert done.returncode == 0 or not check, done.stderr
        return done


def go_to(screen, name, before):
    """Down to an engine, past the built-in ones and those that come before it."""
    for _ in range(len(built_in_engines()) + before):
        screen.press("Down")
    return screen.wait_for(f"› ○ {name}")


def open_engines(screen):
    screen.wait_for("› Provider Plugins")
    screen.press("Enter")
    screen.wait_for("› Context Engine")
    screen.press("Enter")
    return screen.wait_for("Plugins › Provider Plugins › Context Engine")


@pytest.mark.slow
def test_an_engine_chosen_by_keys_is_in_the_file_and_its_comments_too(place):
    place.engine("mine", manifest="description: Keeps both ends of a conversation.\nversion: 2.0.1\n")
    place.config(CONFIG)
    with Screen(place) as screen:
        shown = open_engines(screen)
        assert "› ● compressor" in shown
        assert "○ mine" in shown
        assert "Keeps both ends of a conversation." in shown
        go_to(screen, "mine", 0)
        screen.press("Enter")
        screen.wait_for("› ● mine")
        screen.wait_for("context.engine = mine")
        for page in ("Plugins › Provider Plugins", "Plugins"):
            screen.press("Escape")
            screen.wait_for(f" {page}\n")
        screen.press("Escape")
        screen.wait_for("left with 0")
    assert (place.home / "config.yaml").read_text() == CONFIG.replace("compressor", "mine")


@pytest.mark.slow
def test_one_that_does_not_work_says_why_and_changes_nothing(place):
    place.engine("broken", code="import nowhere\n")
    place.config(CONFIG)
    with Screen(place, NO_COLOR="1") as screen:
        open_engines(screen)
        go_to(screen, "broken", 0)
        screen.press("Enter")
        screen.wait_for("No module named 'nowhere'")
        assert screen.colours() == set()
        screen.press("q")
        screen.wait_for("left with 0")
    assert (place.home / "config.yaml").read_text() == CONFIG


@pytest.mark.slow
def test_more_engines_than_lines_scroll(place):
    for number in range(12):
        place.engine(f"engine-{number:02}", manifest=f"description: Number {number}.\n")
    with Screen(place, size=(60, 16)) as screen:
        open_engines(screen)
        shown = go_to(screen, "engine-11", 11)
        assert "Plugins › Provider Plugins › Context Engine" in shown
        assert "Enter choose" in shown
        screen.press("C-c")
        screen.wait_for("left with 0")
