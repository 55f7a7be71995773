"""Output files: who can read them, and what somebody else who may write to their folder can make of them."""

import os
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

from plimsoll.errors import UserError
from plimsoll.terminal.main import plimsoll
from plimsoll.transcripts import write_file

STRANGER = 12_345
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can create files of another user")


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder like /tmp."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


def conversation(folder: Path, suffix: str = "json") -> Path:
    file = folder / f"chat.{suffix}"
    file.write_text('[{"role": "user", "content": "Where does the lantern hang?"}]\n')
    file.chmod(0o600)
    return file


def modes(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize(
    "command", [["compress"], ["convert", "--to", "openai"], ["convert", "--to", "anthropic"]]
)
def test_an_output_is_not_readable_for_others(tmp_path: Path, command: list[str]) -> None:
    target = tmp_path / "out.json"
    done = CliRunner().invoke(plimsoll, [*command, str(conversation(tmp_path)), "-o", str(target)])
    assert done.exit_code == 0, done.output
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_bulk_outputs_are_not_readable_for_others(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        plimsoll, ["bulk", str(conversation(tmp_path, "jsonl")), "--output", str(tmp_path / "out")]
    )
    assert done.exit_code == 0, done.output
    assert set(modes(tmp_path / "out").values()) == {0o600}


def test_bulk_does_not_write_through_links_in_its_folder(tmp_path: Path) -> None:
    mine, out = tmp_path / "mine", tmp_path / "out"
    mine.write_text("mine")
    command = ["bulk", str(conversation(tmp_path, "jsonl")), "--output", str(out)]
    assert CliRunner().invoke(plimsoll, command).exit_code == 0
    for file in [one for one in out.iterdir() if one.is_file()]:
        file.unlink()
        file.symlink_to(mine)
    done = CliRunner().invoke(plimsoll, [*command, "--restart"])
    assert done.exit_code != 0
    assert "cannot be written" in done.output
    assert mine.read_text() == "mine"


@as_root
def test_nothing_is_written_through_a_link_of_another_user(tmp_path: Path, shared: Path) -> None:
    mine, link = tmp_path / "mine", shared / "out.json"
    mine.write_text("mine")
    link.symlink_to(mine)
    os.lchown(link, STRANGER, STRANGER)
    (shared / "first.json").symlink_to(link)  # one's own link, which leads to the other
    for path in (link, shared / "first.json"):
        with pytest.raises(UserError, match="another user"):
            write_file(path, [b"theirs"])
    assert mine.read_text() == "mine"


@as_root
def test_a_file_of_another_user_does_not_decide_who_reads_its_replacement(shared: Path) -> None:
    target = shared / "out.json"
    target.write_text("bait")
    target.chmod(0o666)
    os.chown(target, STRANGER, STRANGER)
    write_file(target, [b"secret"])
    assert modes(shared) == {"out.json": 0o600}


def test_a_hard_link_to_ones_own_file_is_replaced_and_not_followed(tmp_path: Path, shared: Path) -> None:
    mine, target = tmp_path / "mine", shared / "out.json"
    mine.write_text("mine")
    target.hardlink_to(mine)
    write_file(target, [b"new"])
    assert (mine.read_text(), target.read_text()) == ("mine", "new")
