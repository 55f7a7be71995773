"""A long session in a real terminal of 80 × 24 and 120 × 40: it is compacted, edited and restored; a command runs."""

import json
import subprocess

import pytest
from camera import SIZES, Camera
from chatting import Terminal, configured, environment

from plimsoll.testing.scripted_server import ScriptedServer, call, say
from plimsoll.transcripts import read_example
from preloaded import PLIMSOLL

SUMMARY = """## Goal
Build a booking service for the harbour.
## Constraints & Preferences
Port 8417; money is integer pence.
## Progress
### Done
- Berths, boats and bookings are committed.
### In Progress
- Error handling: one shape for all errors.
### Blocked
(none)
## Key Decisions
- Bookings are half-open intervals.
## Relevant Files
- app/errors.py
## Next Steps
- Commit the error handling.
## Critical Context
(none)
"""
EDITOR = '#!/bin/sh\nsed -i "s/for the harbour/for the harbour of Falmouth/" "$1"\n'
COUNTING = "for n in 1 2 3 4 5 6 7 8 9; do echo berth $n of 9; sleep 1; done"
# Each command with a text that ends its output.
EDITS = {
    "compact-preview": ("/compact --preview", "Nothing was changed."),
    "compacted": ("/compact", "undo with /undo"),
    "compacted-context": ("/context", "  window "),
    "drop-preview": ("/drop 150 --preview", "to the cache again."),
    "dropped": ("/drop 150", "to the cache again."),
    "undone": ("/undo", "Undone: "),
    "redone": ("/redo", "Redone: "),
    "summary-edited": ("/summary", "to the cache again."),
    "pinned": ("/pin 2", "◆ 2 user"),
    "unpinned": ("/unpin 2", "no longer pinned"),
    "edits": ("/edits plan", "only read-only commands"),
}


def answer(request):
    """A summary, or the calls and words of the last test."""
    newest = str(request.messages[-1]["content"])
    if "## Critical Context" in newest:
        return say(SUMMARY)
    return call("terminal", command=COUNTING) if newest == "Count the berths." else say("Nine berths.")


@pytest.fixture
def home(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "talk.json").write_text(json.dumps([*read_example()[0].messages]), "utf-8")
    editor = tmp_path / "editor"
    editor.write_text(EDITOR, "utf-8")
    editor.chmod(0o755)
    return home


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])
def test_a_long_session_is_compacted_edited_and_restored(home, size):
    cards = "  cards:\n    small: {window: 200000}\n"
    with ScriptedServer(answer) as server:
        (home / "config.yaml").write_text(configured(server, cards, "small"), "utf-8")
        importing = [PLIMSOLL, "sessions", "import", "talk.json"]
        subprocess.run(importing, cwd=home, env=environment(home), check=True, capture_output=True)
        options = {"size": size, "EDITOR": str(home.parent / "editor"), "VISUAL": ""}
        with Terminal(home, "--continue", **options) as screen:
            camera = Camera(screen, size)
            screen.wait_for_prompt()
            camera.take("continued", "(resumed, 157 messages")
            for name, (line, text) in EDITS.items():
                times = 1 + screen.shown.count(text)
                screen.type(line)
                screen.wait_for(text, times)
                screen.wait_for_prompt()
                camera.take(name, text)


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])
def test_a_running_command_shows_its_time_and_its_last_line_and_a_draft_survives_control_c(home, size):
    with ScriptedServer(answer) as server:
        (home / "config.yaml").write_text(
            configured(server, "tools:\n  terminal:\n    allow: [for, sleep, echo]\n"), "utf-8"
        )
        with Terminal(home, "--yes", size=size) as screen:
            camera = Camera(screen, size)
            screen.wait_for_prompt()
            screen.type("Count the berths.")
            camera.take_match("running", r"[3-9] s · berth [3-9] of 9")
            screen.wait_for("Nine berths.")
            screen.wait_for_prompt()
            screen.press(*"draft")
            screen.wait_for("› draft")
            screen.press("C-c")
            screen.wait_for_prompt()
            camera.take("cleared", "Nine berths.")
            screen.press("C-c")
            screen.wait_for("Press Ctrl-C again to leave")
            screen.press("Up")
            camera.take("draft-returned", "› draft")
