"""Ctrl-C ends a long command with one line that says how far it came, and no traceback."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from plimsoll.terminal import main as entry

PROGRAM = [sys.executable, "-m", "plimsoll.terminal.main"]
EXAMPLE = str(files("plimsoll").joinpath("examples", "fastapi.json"))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), entry.click.Abort()])
def test_an_interrupted_command_says_so_and_ends_with_130(monkeypatch, capsys, error):
    def interrupted(*_arguments, **_named):
        raise error

    monkeypatch.setattr(entry.plimsoll, "main", interrupted)
    with pytest.raises(SystemExit) as ended:
        entry.main(["sessions", "search", "anything"])
    assert ended.value.code == 130
    assert capsys.readouterr().err == "plimsoll: Stopped.\n"


def test_an_interrupted_import_says_how_many_conversations_it_stored(tmp_path: Path):
    rows = [{"messages": [{"role": "user", "content": f"Ship {number}?"}]} for number in range(5_000)]
    (tmp_path / "ships.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    environ = {**os.environ, "PLIMSOLL_HOME": str(tmp_path / "home")}
    command = [*PROGRAM, "sessions", "import", str(tmp_path / "ships.jsonl")]
    with subprocess.Popen(
        command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, said = process.communicate(timeout=60)
    assert process.returncode == 130
    told = re.fullmatch(r"\s*plimsoll: Stopped\. Imported ([\d,]+) of 5,000 conversations\.\s*", said)
    assert told is not None, said
    assert abs(int(told[1].replace(",", "")) - len([first, *rest.splitlines()])) <= 1


def test_an_interrupted_batch_of_compactions_leaves_no_file_and_no_traceback(tmp_path: Path):
    """A terminal sends the signal to the command and to its workers alike."""
    paths = []
    for number in range(24):
        paths.append(tmp_path / f"{number}.json")
        paths[-1].write_text(Path(EXAMPLE).read_text("utf-8"), "utf-8")
    target = tmp_path / "out.json"
    environ = {**os.environ, "PLIMSOLL_HOME": str(tmp_path / "home"), "TERM": "xterm", "COLUMNS": "100"}
    command = [*PROGRAM, "compress", *map(str, paths), "--no-model", "-o", str(target)]
    own, others = pty.openpty()
    with subprocess.Popen(
        command, env=environ, stdin=others, stdout=others, stderr=others, start_new_session=True
    ) as process:
        os.close(others)
        shown = b""
        while b"compacting" not in shown:
            shown += os.read(own, 65_536)
        os.killpg(process.pid, signal.SIGINT)
        try:
            while piece := os.read(own, 65_536):
                shown += piece
        except OSError:  # so a terminal of Linux says that nobody writes to it any more
            pass
        assert process.wait(60) == 130
    os.close(own)
    told = r"plimsoll: Stopped\. Compacted \d+ of 24 conversations; nothing was written\."
    assert re.search(told.encode(), shown), shown[-2_000:]
    assert b"Traceback" not in shown
    assert not target.exists()
