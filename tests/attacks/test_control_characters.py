"""Text of a conversation never controls a terminal, and documents that are written from it hold plain text."""

import json
import os
import pty
import sys
import threading
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from plimsoll.messages import handle_of
from plimsoll.terminal.main import plimsoll

CONTROLS = ("\x1b]", "\x1b[2J", "\x9b", "\x07", "\u202e", "\u2066", "\r", "\x7f", "\x08")
HOSTILE = "clear \x1b[2J title \x1b]0;owned\x07 c1 \x9b31m order \u202eexe\u2066 back\x08\x7f over\rwrite"
CALL = {"id": "c1", "type": "function", "function": {"name": "run", "arguments": json.dumps({"x": HOSTILE})}}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": f"error: src/lantern.py {HOSTILE}"}
TALK = [
    {"role": "user", "content": "Look after the lamps."},
    {"role": "assistant", "content": "I will."},
    {"role": "user", "content": f"Never touch src/lantern.py, {HOSTILE}"},
    {"role": "assistant", "content": f"I run it. {HOSTILE}", "tool_calls": [CALL]},
    RESULT,
    {"role": "assistant", "content": f"It failed: {HOSTILE}"},
    *(
        {"role": role, "content": f"Step {n}. " + "the lamp burns " * 40}
        for n in range(12)
        for role in ("user", "assistant")
    ),
]
TEXT = {
    "handoff": ["handoff", "FILE", "--no-model"],
    "summary": ["compress", "FILE", "--no-model", "--summary", "--window", "4096"],
    "show": ["sessions", "show", "SESSION"],
    "search": ["sessions", "search", "lantern"],
    "markdown": ["sessions", "export", "SESSION", "--format", "markdown"],
    "html": ["sessions", "export", "SESSION", "--format", "html"],
}
EXACT = {
    "recall": ["recall", "FILE", handle_of(RESULT)],
    "json": ["sessions", "export", "SESSION"],
    "compacted": ["compress", "FILE", "--no-model", "-o", "-"],
    "repaired": ["repair", "FILE", "-o", "-"],
    "converted": ["convert", "FILE", "--to", "anthropic", "-o", "-"],
}


@pytest.fixture
def places(empty_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The hostile conversation as a file and as a stored session."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PAGER", "cat")
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(TALK))
    imported = CliRunner().invoke(plimsoll, ["sessions", "import", str(path), "--title", f"Title {HOSTILE}"])
    assert imported.exit_code == 0, imported.output
    return {"FILE": str(path), "SESSION": imported.stdout.strip()}


def named(arguments: list[str], places: dict[str, str]) -> list[str]:
    return [places.get(argument, argument) for argument in arguments]


def controls_in(text: str) -> list[str]:
    return [control for control in CONTROLS if control in text]


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """Standard output is a terminal; what it got is known after the block."""
    master, slave = pty.openpty()
    tty.setraw(slave)  # line ends stay line ends
    got: list[bytes] = []

    def read() -> None:
        try:
            while piece := os.read(master, 65_536):
                got.append(piece)
        except OSError:
            pass  # the other side is closed

    reader = threading.Thread(target=read)
    reader.start()
    try:
        with os.fdopen(slave, "w", encoding="utf-8") as screen:
            monkeypatch.setattr(sys, "stdout", screen)
            yield got
            screen.flush()
    finally:
        monkeypatch.undo()
        reader.join(30)
        os.close(master)


@pytest.mark.parametrize("arguments", TEXT.values(), ids=TEXT)
def test_text_in_a_pipe_has_no_control_characters(arguments: list[str], places: dict[str, str]) -> None:
    done = CliRunner().invoke(plimsoll, named(arguments, places))
    assert done.exit_code == 0, done.output
    assert controls_in(done.stdout) == []
    assert "title" in done.stdout or "lantern" in done.stdout


@pytest.mark.parametrize("arguments", [*TEXT.values(), *EXACT.values()], ids=[*TEXT, *EXACT])
def test_nothing_of_a_conversation_controls_a_terminal(
    arguments: list[str], places: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with terminal(monkeypatch) as got:
        plimsoll.main(named(arguments, places), standalone_mode=False)
    shown = b"".join(got).decode()
    assert controls_in(shown) == []
    assert "title" in shown or "lantern" in shown


def test_a_document_in_a_file_has_no_control_characters(places: dict[str, str], tmp_path: Path) -> None:
    for name in ("handoff", "markdown"):
        target = tmp_path / f"{name}.md"
        done = CliRunner().invoke(plimsoll, [*named(TEXT[name], places), "-o", str(target)])
        assert done.exit_code == 0, done.output
        assert controls_in(target.read_bytes().decode()) == []


def test_data_in_a_pipe_is_exact(places: dict[str, str]) -> None:
    recalled = CliRunner().invoke(plimsoll, named(EXACT["recall"], places))
    assert recalled.stdout_bytes == RESULT["content"].encode()
    exported = CliRunner().invoke(plimsoll, named(EXACT["json"], places))
    messages = json.loads(exported.stdout)["messages"]
    assert [message["content"] for message in messages] == [m["content"] for m in TALK]
