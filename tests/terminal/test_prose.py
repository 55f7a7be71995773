"""Sentences on a terminal break between words, and what a person copies stays whole."""

import io
import os
import pty
import subprocess
import sys
import termios

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from plimsoll.terminal.chat.screen import Screen
from plimsoll.terminal.prose import wrapped

LINK = (
    "http://127.0.0.1:8787/inspect#token=I2jLiR1SwiGQJlOHeDIsQF4meoCSx839&session=20261116-173957-amber-keel"
)
WORDS = st.lists(st.text("abc-/:", min_size=1, max_size=30), max_size=30)


@given(WORDS, st.integers(min_value=20, max_value=90))
def test_every_word_stays_whole_and_only_a_long_one_exceeds_the_width(words, width):
    lines = wrapped(" ".join(words), width, "  ").split("\n")
    assert [word for line in lines for word in line.split()] == words
    assert all(len(line) <= width or len(line.split()) == 1 for line in lines)


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_link_longer_than_a_line_of_the_chat_is_not_broken(width):
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None)
    Screen(console, console).note(f"Inspector: {LINK}")
    assert LINK in out.getvalue()


def test_an_error_on_a_terminal_breaks_between_words_and_in_a_pipe_is_one_line(tmp_path):
    command = [sys.executable, "-m", "plimsoll.terminal.main", "config", "explain", "compression.treshold"]
    environment = {**os.environ, "PLIMSOLL_HOME": str(tmp_path), "COLUMNS": "30"}
    ours, theirs = pty.openpty()
    settings = termios.tcgetattr(theirs)
    settings[1] &= ~termios.ONLCR
    termios.tcsetattr(theirs, termios.TCSANOW, settings)
    done = subprocess.run(command, env=environment, stderr=theirs, stdout=subprocess.DEVNULL)
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    piped = subprocess.run(command, env=environment, capture_output=True, text=True).stderr
    assert done.returncode == 2
    assert shown.split() == piped.split()
    assert len(shown.splitlines()) > len(piped.splitlines()) == 1
    assert all(len(line) <= 30 or " " not in line for line in shown.splitlines())
