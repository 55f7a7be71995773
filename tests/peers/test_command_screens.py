"""Commands outside the chat in a real terminal of 80 × 24 and 120 × 40: the screens are kept, and no word is torn."""

import json
import os
import re
from pathlib import Path

import httpx
import pytest
from camera import SIZES, Camera
from chatting import Terminal, configured

from plimsoll.testing.scripted_server import ScriptedServer, say
from plimsoll.transcripts import read_example
from ports import free_port
from preloaded import PLIMSOLL

STEPS = 5
ENDED = "ended with "
COMMANDS = {
    "cost": ("plimsoll cost talk.json --model claude-sonnet-4.5", 0),
    "bench": ("plimsoll bench --example", 0),
    "config-explain": ("plimsoll config explain compression", 0),
    "plugins": ("plimsoll plugins list", 0),
    "close-match-command": ("plimsoll sesions", 2),
    "error": ("plimsoll recall talk.json h:0000000000", 2),
    "keys-add": ("plimsoll gateway keys add laptop --requests-per-minute 60", 0),
    "keys-list": ("plimsoll gateway keys list", 0),
    "sessions-import": ("plimsoll sessions import talk.json", 0),
    "sessions-list": ("plimsoll sessions list", 0),
}


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])
def test_each_command_is_readable(tmp_path, size):
    (tmp_path / "talk.json").write_text(json.dumps([*read_example()[0].messages]), "utf-8")
    path = f"{Path(PLIMSOLL).parent}:{os.environ['PATH']}"
    shell = {"program": "/bin/bash", "command": "--norc", "PATH": path, "HISTFILE": ""}
    with Terminal(tmp_path, "-i", size=size, **shell) as screen:
        camera = Camera(screen, size)
        for number, (name, (line, code)) in enumerate(COMMANDS.items()):
            screen.type(f"clear; {line}; echo {ENDED}$?, {number}")
            shown = camera.take(name, f"{ENDED}{code}, {number}")
            assert words_wider_than(size[0], shown) == []


def words_wider_than(width, shown):
    """Lines that the terminal had to break, except for single words and what was typed."""
    return [
        line
        for line in shown.splitlines()
        if len(line.rstrip()) > width and " " in line and ENDED not in line
    ]


@pytest.mark.parametrize(("size", "workers"), [*zip(SIZES, ("1", "2"), strict=True)], ids=["80x24", "120x40"])
def test_the_gateway_shows_where_to_point_clients_and_what_it_answers(tmp_path, size, workers):
    port = free_port()
    with ScriptedServer([say("Twelve.")]) as server:
        (tmp_path / "config.yaml").write_text(configured(server), "utf-8")
        options = ("--port", str(port), "--workers", workers)
        with Terminal(tmp_path, *options, command="gateway", size=size) as screen:
            camera = Camera(screen, size)
            shown = camera.take("gateway-start", "Ready. Press Ctrl-C to stop.")
            asked = {"model": "gpt-5", "messages": [{"role": "user", "content": "How deep?"}]}
            answer = httpx.post(f"http://127.0.0.1:{port}/v1/chat/completions", json=asked, timeout=60)
            assert answer.status_code == 200
            camera.take("gateway-log", "/v1/chat/completions")
            screen.press("C-c")
            camera.take("gateway-stopped", "left with ")
    lines = shown.splitlines()
    assert shown.index("upstream: ") < shown.index("Ready.")
    assert shown.count("Ready.") == 1
    for client in ("claude", "codex", "gemini", "aider", "OPENAI_BASE_URL=", "ANTHROPIC_BASE_URL="):
        assert any(re.search(rf"{client}.*#|{client}.*:{port}", line) and len(line) <= 80 for line in lines)


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])
def test_each_step_of_the_tour_is_kept(tmp_path, size):
    with Terminal(tmp_path, command="tour", size=size) as screen:
        camera = Camera(screen, size)
        screen.wait_for("1/5 ")
        screen.press("Space")
        for step in range(1, STEPS):
            screen.wait_for("any key: next")
            camera.take(f"tour-{step}", f"{step}/5 ")
            screen.press("Space")
            screen.wait_for(f"{step + 1}/5 ")
        camera.take("tour-5", "left with 0")
