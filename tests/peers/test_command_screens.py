"""Commands outside the chat in a real terminal of 80 × 24 and 120 × 40: the screens are kept, and no word is torn."""

import json
import os
import re
import socket
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from camera import SIZES, Camera, assert_is_pictured
from chatting import Terminal, configured

from plimsoll.testing.scripted_server import ScriptedServer, say
from plimsoll.transcripts import read_example
from ports import free_port
from preloaded import PLIMSOLL

STEPS = 5
NARROW = (60, 24)
ENDED = "ended with "
DEFAULT_PORT = "8787"
SESSION = "$(plimsoll sessions list --json | grep -om1 '[0-9]*-[0-9]*-[a-z]*-[a-z]*')"
# Each command with its exit code, and what its screen says.
COMMANDS = {
    "cost": ("plimsoll cost talk.json --model claude-sonnet-4.5", 0, ["compaction", " threshold ", " cost "]),
    "bench": ("plimsoll bench --example", 0, [" grounded ", " recency "]),
    "config-explain": ("plimsoll config explain compression", 0, ["compression.policy = threshold"]),
    "plugins": ("plimsoll plugins list", 0, ["compressor"]),
    "close-match-command": ("plimsoll sesions", 2, ["Did you mean", "sessions"]),
    "error": ("plimsoll recall talk.json h:0000000000", 2, ["has the handle h:0000000000"]),
    "not-a-handle": ("plimsoll recall talk.json uvicorn", 2, ["'uvicorn' is not a handle"]),
    "keys-add": ("plimsoll gateway keys add laptop --requests-per-minute 60", 0, ["laptop"]),
    "keys-list": ("plimsoll gateway keys list", 0, ["laptop"]),
    "sessions-import": ("plimsoll sessions import talk.json", 0, []),
    "sessions-list": ("plimsoll sessions list", 0, [" 157 "]),
    "unpin": (f"plimsoll sessions unpin {SESSION} 3", 0, ["was not pinned"]),
    "compress-two": (
        "plimsoll compress talk.json short.json --no-model -o two.json",
        0,
        ["157 → ", "90 → ", "2 in all", "Written to two.json"],
    ),
    "summary": ("plimsoll compress talk.json --no-model --summary 2>notes.txt", 0, ["## Goal"]),
}


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])
def test_each_command_is_readable(tmp_path, size):
    with shell(tmp_path, size) as screen:
        camera = Camera(screen, size)
        for number, (name, (line, code, facts)) in enumerate(COMMANDS.items()):
            screen.type(f"clear; {line}; echo {ENDED}$?, {number}")
            shown = camera.take(name, f"{ENDED}{code}, {number}")
            assert words_wider_than(size[0], shown) == []
            assert [fact for fact in facts if fact not in shown] == []
    two = json.loads((tmp_path / "two.json").read_text("utf-8"))
    assert len(two) == 2
    assert "no model named" in (tmp_path / "notes.txt").read_text("utf-8")


def shell(folder, size):
    """A shell in a terminal, with two conversations in its folder."""
    messages = [*read_example()[0].messages]
    (folder / "talk.json").write_text(json.dumps(messages), "utf-8")
    (folder / "short.json").write_text(json.dumps(messages[:90]), "utf-8")
    path = f"{Path(PLIMSOLL).parent}:{os.environ['PATH']}"
    variables = {"PATH": path, "HISTFILE": ""}
    return Terminal(folder, "-i", program="/bin/bash", command="--norc", size=size, **variables)


def test_at_60_columns_tables_keep_every_id_and_number(tmp_path):
    with shell(tmp_path, NARROW) as screen:
        camera = Camera(screen, NARROW)
        for number, name in enumerate(
            ("cost", "compress-two", "sessions-import", "sessions-list", "keys-add", "keys-list")
        ):
            screen.type(f"clear; {COMMANDS[name][0]}; echo {ENDED}$?, {number}")
            shown = camera.take(name, f"{ENDED}0, {number}")
            assert words_wider_than(NARROW[0], shown) == []
            assert [fact for fact in COMMANDS[name][2] if fact not in shown] == []
            cut = [line for line in shown.splitlines() if re.search(r"[\d-]…", line)]
            assert cut == []


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "120x40"])
def test_ctrl_c_in_a_batch_says_how_far_it_came(tmp_path, size):
    with shell(tmp_path, size) as screen:
        camera = Camera(screen, size)
        screen.type("for n in $(seq 60); do cp talk.json $n.json; done; clear")
        screen.type(f"plimsoll compress ?.json ??.json --no-model -o out.json; echo {ENDED}$?")
        camera.take_match("batch", r"compacting .* [1-9]\d?/60 ")
        screen.press("C-c")
        shown = camera.take("batch-stopped", f"{ENDED}130")
    assert re.search(r"Stopped\. Compacted \d+ of 60 conversations; nothing was written\.", shown)
    assert "Traceback" not in shown
    assert not (tmp_path / "out.json").exists()


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
def test_a_gateway_without_settings_says_what_it_needs(tmp_path, size):
    port = default_port()
    with Terminal(tmp_path, "--port", str(port), command="gateway", size=size) as screen:
        shown = Camera(screen, size).take("gateway-unconfigured", "Ready. Press Ctrl-C to stop.")
    assert "Clients that send their provider's key are served" in " ".join(shown.split())
    if size == SIZES[0]:
        assert_is_pictured("gateway", [(str(port), DEFAULT_PORT)])


def default_port():
    """The gateway's own port, as in the picture; if somebody listens there, a free one with as many digits."""
    ports = [int(DEFAULT_PORT), *range(8_788, 8_888)]
    for port in ports:
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError(f"none of the ports {ports[0]} to {ports[-1]} is free")


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
    if size == SIZES[0]:
        assert_is_pictured("tour")
