"""Drives `plimsoll chat` as a person or a pipe would: subprocesses with a home of their own, and tmux."""

import os
import re
import shlex
import shutil
import subprocess
import time
from uuid import uuid4

import pytest

from preloaded import PLIMSOLL, run_plimsoll

PATIENCE = 180.0
_STATUS = re.compile(r"\(\d+ %\)")  # in the status line, which is there only while the chat waits


def environment(home, **variables):
    """The environment without anybody's keys."""
    # The size and the colours are the terminal's own, whatever the test runner's are.
    dropped = ("_API_KEY", "_TOKEN", "COLUMNS", "LINES", "COLOR", "COLORFGBG")
    kept = {name: value for name, value in os.environ.items() if not name.endswith(dropped)}
    # An address at which no Ollama can answer, so that the machine does not matter.
    return {**kept, "PLIMSOLL_HOME": str(home), "OLLAMA_HOST": "127.0.0.1:1", **variables}


def configured(server, more="", name="gpt-5"):
    """A configuration that asks the scripted server."""
    return f"model:\n  name: {name}\n  base_url: {server.openai_url}\n{more}"


def chat(home, *arguments, said="", config=None, **variables):
    """Run it with `said` on standard input."""
    home.mkdir(exist_ok=True)
    if config is not None:
        (home / "config.yaml").write_text(config, "utf-8")
    return run_plimsoll("chat", *arguments, said=said, env=environment(home, **variables), cwd=home)


def talked(home, *arguments, **options):
    """The same, where it must end well."""
    done = chat(home, *arguments, **options)
    assert done.returncode == 0, done.stderr
    return done


class Terminal:
    """A terminal of a given size with `plimsoll chat`, or another command, in it, driven by keys."""

    def __init__(
        self, home, *arguments, program=PLIMSOLL, command="chat", size=(100, 30), directory=None, **variables
    ):
        if shutil.which("tmux") is None:
            pytest.skip("tmux is not installed, so NO REAL TERMINAL WAS DRIVEN")
        self._socket = f"plimsoll-{uuid4().hex[:12]}"
        program = shlex.join([program, command, *arguments])
        self._tmux(
            "-f", "/dev/null", "new-session", "-d", "-x", str(size[0]), "-y", str(size[1]), "-s", "chat",
            f"cd {shlex.quote(str(directory or home))} && {program}; echo left with $?; sleep 1000",
            environment=environment(home, **variables),
        )  # fmt: skip

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self._tmux("kill-server", check=False)

    def press(self, *keys):
        """Keys by tmux's names."""
        self._tmux("send-keys", "-t", "chat", *keys)

    def type(self, text):
        """A line, then Enter."""
        self._tmux("send-keys", "-t", "chat", "-l", text)
        self.press("Enter")

    def paste(self, text):
        """A text from the clipboard, marked as pasted as terminals do."""
        self._tmux("set-buffer", text)
        self._tmux("paste-buffer", "-p", "-t", "chat")

    @property
    def as_drawn(self):
        """Everything on the screen and above it, with the line breaks of the terminal itself."""
        return self._tmux("capture-pane", "-p", "-S", "-2000", "-t", "chat").stdout

    @property
    def shown(self):
        """Everything on the screen and above it."""
        return self._tmux("capture-pane", "-p", "-J", "-S", "-2000", "-t", "chat").stdout

    @property
    def visible(self):
        """What is on the screen now."""
        return self._tmux("capture-pane", "-p", "-J", "-t", "chat").stdout

    @property
    def coloured(self):
        """What is on the screen now, with the control sequences of its colours."""
        return self._tmux("capture-pane", "-p", "-e", "-t", "chat").stdout

    def colours(self):
        """The colours on the screen, as the numbers of their control sequences."""
        numbers = {
            int(n) for run in re.findall(r"\x1b\[([\d;]*)m", self.coloured) for n in run.split(";") if n
        }
        return {n for n in numbers if 30 <= n <= 38 or 40 <= n <= 48 or 90 <= n <= 107}

    def wait_for(self, text, times=1, seconds=PATIENCE):
        """What is shown, once it holds the text so often."""
        return self.wait_for_match(re.escape(text), times, seconds)

    def wait_for_match(self, pattern, times=1, seconds=PATIENCE):
        """The same for a regular expression."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            shown = self.shown
            if len(re.findall(pattern, shown)) >= times:
                return shown
            time.sleep(0.05)
        raise AssertionError(f"{pattern!r} did not appear {times} times:\n{self.shown}")

    def wait_for_prompt(self, seconds=PATIENCE):
        """What is shown, once the chat waits for the person again: an empty prompt above the status line."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            lines = [line for line in self.shown.splitlines() if line.strip()]
            if len(lines) > 1 and lines[-2].strip() == "›" and _STATUS.search(lines[-1]):
                return self.shown
            time.sleep(0.05)
        raise AssertionError(f"no prompt:\n{self.shown}")

    def _tmux(self, *arguments, check=True, environment=None):
        command = ["tmux", "-L", self._socket, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert done.returncode == 0 or not check, done.stderr
        return done
