"""The files that commands write: complete or unchanged, with the permissions and links that they had."""

import errno
import os
from importlib.resources import files
from pathlib import Path

import pytest
from chatting import environment
from click.testing import CliRunner

from plimsoll.terminal.main import plimsoll
from preloaded import run_plimsoll

EXAMPLE = str(files("plimsoll").joinpath("examples", "fastapi.json"))
WRITERS = {
    "handoff": ("handoff", EXAMPLE, "--no-model", "-o"),
    "inspect": ("inspect", EXAMPLE, "-o"),
    "cost --plot": ("cost", EXAMPLE, "--model", "claude-sonnet-4.5", "--plot"),
}


@pytest.fixture
def write(tmp_path):
    """Runs a command that writes a file, in a process of its own."""

    def run(name, target):
        home = tmp_path / "home"
        if name == "sessions export":
            session = run_plimsoll("sessions", "import", EXAMPLE, env=environment(home)).stdout.strip()
            command = ("sessions", "export", session, "--format", "markdown", "-o")
        else:
            if name == "cost --plot":
                pytest.importorskip("matplotlib", reason="the plot extra is not installed")
            command = WRITERS[name]
        done = run_plimsoll(*command, str(target), env=environment(home))
        assert done.returncode == 0, done.stderr

    return run


@pytest.mark.parametrize("name", ["handoff", "cost --plot"])
def test_a_full_disk_leaves_the_file_that_was_there(name, empty_home, tmp_path, monkeypatch):
    if name == "cost --plot":
        pytest.importorskip("matplotlib", reason="the plot extra is not installed")
    target = tmp_path / "out.file"
    target.write_text("before")

    def full(_descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    done = CliRunner().invoke(plimsoll, [*WRITERS[name], str(target)])
    assert "out.file cannot be written: No space left on device" in done.output
    assert target.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".part"] == []


@pytest.mark.parametrize("name", [*WRITERS, "sessions export"])
def test_a_replaced_file_keeps_its_permissions_and_stays_a_link(name, write, tmp_path):
    target, link = tmp_path / "private.file", tmp_path / "link.file"
    target.write_text("before")
    target.chmod(0o600)
    link.symlink_to(target)
    write(name, link)
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o600
    assert target.stat().st_size > 1_000


@pytest.mark.parametrize("name", [*WRITERS, "sessions export"])
def test_a_device_is_written_to_and_not_replaced(name, write, tmp_path):
    link = tmp_path / "nowhere"
    link.symlink_to(os.devnull)
    write(name, link)
    assert link.is_symlink()
    assert not Path(os.devnull).is_file()
