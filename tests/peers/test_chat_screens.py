"""The chat in a real terminal of 80 × 24 and 120 × 40: every feature is driven by keys, and the screens are kept.

The captures are written to `.local/screens`, where they can be read after a run.
"""

import pytest
from camera import SIZES, Camera
from chatting import Terminal, configured

from plimsoll.testing.scripted_server import ScriptedServer, call, fault, say

ANSWER = "The depth is **twelve fathoms**.\n\n- low water: 11\n- high water: 14\n"
LONG = "The harbour is wide. "
EDITOR = '#!/bin/sh\nprintf "%s, at noon?\\n" "$(cat $1)" > $1\n'
# Each command with a text that ends its output.
EVERYDAY = {
    "cost": ("/cost", "cost "),
    "copy": ("/copy", "sent to the terminal"),
    "export": ("/export html", "messages written to"),
    "retry": ("/retry", "Better."),
    "fork": ("/fork", "goes back"),
    "model": ("/model", "🧭 Model: gpt-5"),
    "engine": ("/engine", "summaries"),
    "pin": ("/pin", "◆"),
    "search": ("/search fathoms", "assistant"),
    "sessions": ("/sessions", "a unique prefix"),
    "nothing-to-undo": ("/undo", "has no compaction or edit"),
    "compact": ("/compact", "nothing to compact yet"),
    "preview": ("/compact --preview", "nothing would change"),
    "unknown-handle": ("/recall h:zzz", "A handle looks like"),
    "inspect": ("/inspect --no-browser", "until you leave the chat"),
}


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])
def test_each_command_of_the_chat_is_readable(tmp_path, size):
    home = tmp_path / "home"
    home.mkdir()
    (home / "app.py").write_text("port = 8080\nhost = 'sea'\n", "utf-8")
    script = [
        say(ANSWER),
        fault("slow", seconds=1.0, then=call("patch", path="app.py", old_string="8080", new_string="9090")),
        call("terminal", command="seq 40"),
        say("Changed."),
        say("Twelve."),
    ]
    with ScriptedServer(script) as server:
        (home / "config.yaml").write_text(configured(server), "utf-8")
        with Terminal(home, size=size) as screen:
            camera = Camera(screen, size)
            screen.wait_for_prompt()
            camera.take("start", "/help shows the commands")
            screen.type("How deep is it?")
            screen.wait_for("high water")
            screen.wait_for_prompt()
            screen.type("/context")
            assert "▲" in camera.take("context", "window ")
            screen.wait_for_prompt()
            screen.type("/contxt")
            camera.take("close-match", "Did you mean /context")
            screen.wait_for_prompt()
            screen.type("/tools")
            camera.take("tools", "tokens in every request")
            screen.wait_for_prompt()
            screen.type("/help")
            camera.take("help", "Shift-Tab switches")
            screen.wait_for_prompt()
            screen.type("Change the port.")
            camera.take("diff", "make this change?")
            screen.type("a")
            screen.wait_for("Changed.")
            camera.take("folded", "Ctrl-O shows them")
            screen.wait_for_prompt()
            screen.press("C-o")
            camera.take("unfolded", "exit code: 0")
            screen.press("BTab")
            camera.take("plan", "plan: nothing is changed")
            screen.press("BTab")
            screen.type("!echo lantern")
            camera.take("shell", "is sent with your next message")
            screen.wait_for_prompt()
            screen.press("C-c")
            camera.take("leaving", "Press Ctrl-C again to leave")
            screen.press("x", "BSpace")
            screen.wait_for_prompt()
            screen.type("/new")
            screen.wait_for("The previous session is kept")
            screen.wait_for_prompt()
            screen.type("/resume")
            camera.take("resume", "type to filter")
            screen.press("Enter")
            camera.take("resumed", "(resumed, ")
            screen.wait_for_prompt()
            screen.type("/quit")
            screen.wait_for("left with 0")
    assert "9090" in (home / "app.py").read_text("utf-8")


@pytest.fixture
def home(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "notes.md").write_text("depth: 12 fathoms\n", "utf-8")
    (home / "normal.txt").write_text("x", "utf-8")
    editor = tmp_path / "editor"
    editor.write_text(EDITOR, "utf-8")
    editor.chmod(0o755)
    return home


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])
def test_each_everyday_command_is_readable(home, size):
    slow = fault("slow", seconds=0.1, between=0.2, then=say(LONG * 60))
    script = [say(ANSWER), say("Three lines."), say("Twelve lines."), say("Better."), slow, say("End.")]
    options = {"size": size, "EDITOR": str(home.parent / "editor"), "VISUAL": "", "PATH": "/usr/bin:/bin"}
    with ScriptedServer(script) as server:
        (home / "config.yaml").write_text(configured(server), "utf-8")
        with Terminal(home, DISPLAY="", WAYLAND_DISPLAY="", **options) as screen:
            camera = Camera(screen, size)
            screen.wait_for_prompt()
            _attach_and_paste(screen, camera)
            for name, (line, text) in EVERYDAY.items():
                screen.type(line)
                camera.take(name, text)
                screen.wait_for_prompt()
            link = [line for line in screen.shown.splitlines() if line.startswith("Inspector: http")]
            assert len(link) == 1
            assert "&session=" in link[0]
            screen.type("/edit How deep is it")
            camera.take("edit", "› How deep is it, at noon?")
            screen.press("Enter")
            screen.wait_for(LONG.strip())
            screen.press("C-c")
            shown = camera.take("interrupted", "stopped; what was shown is kept")
            screen.wait_for_prompt()
            screen.type("Go on.")
            screen.wait_for("End.")
            screen.wait_for_prompt()
            screen.type("/quit")
            screen.wait_for("left with 0")
        sent = [str(request.body["messages"][-1]["content"]) for request in server.requests]
        stopped = str(server.requests[-1].body["messages"][-2]["content"])
    assert LONG.strip() in shown
    assert LONG.strip() in stopped
    assert "[interrupted by the user]" in stopped
    assert "depth: 12 fathoms" in sent[0]
    assert sent[1:3] == ["one\ntwo\nthree", "\n".join(f"line {number}" for number in range(12))]


def _attach_and_paste(screen, camera):
    """A file by completion, a short paste that stays visible, and a long one that is folded."""
    for key in "What does @no":
        screen.press("Space" if key == " " else key)
    camera.take("completion", "  notes.md")  # appears while typing; a Tab before it would only open it
    screen.press("Tab", "Tab")
    screen.wait_for("@notes.md")
    screen.press("Space")
    screen.type("say?")
    camera.take("attached", "high water")
    screen.wait_for_prompt()
    screen.paste("one\ntwo\nthree")
    camera.take("paste-short", "› one\n  two\n  three")
    screen.press("Enter")
    screen.wait_for("Three lines.")
    screen.wait_for_prompt()
    screen.paste("\n".join(f"line {number}" for number in range(12)))
    camera.take("paste-long", "› [paste 1: 12 lines]")
    screen.press("Enter")
    screen.wait_for("Twelve lines.")
    screen.wait_for_prompt()
