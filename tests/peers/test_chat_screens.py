"""The chat in a real terminal of 80 × 24 and 120 × 40: every feature is driven by keys, and the screens are kept.

The captures are written to `.local/screens`, where they can be read after a run.
"""

import sys
from pathlib import Path

import pytest

from plimsoll.testing.scripted_server import ScriptedServer, call, fault, say

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "terminal"))

from chatting import Terminal, configured  # noqa: E402

SCREENS = ROOT / ".local" / "screens"
ANSWER = "The depth is **twelve fathoms**.\n\n- low water: 11\n- high water: 14\n"


class Camera:
    """Waits for a text and keeps the screen under a name; no line may be wider than the terminal."""

    def __init__(self, screen, size):
        self.screen, self.size = screen, size

    def take(self, name, text):
        shown = self.screen.wait_for(text)
        folder = SCREENS / f"{self.size[0]}x{self.size[1]}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.txt").write_text(shown, "utf-8")
        return shown


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
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
