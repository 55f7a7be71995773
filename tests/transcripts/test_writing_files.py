"""What writing conversations promises."""

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from plimsoll.errors import UserError
from plimsoll.transcripts import read_transcripts, write_transcripts

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize(
    "name", ["openai_list.json", "openai_object.json", "openai_conversations.jsonl", "openai_messages.jsonl"]
)
def test_an_openai_file_comes_back_byte_for_byte(name: str, tmp_path: Path) -> None:
    write_transcripts(tmp_path / "out", read_transcripts(GOLDEN / name))
    assert (tmp_path / "out").read_bytes() == (GOLDEN / name).read_bytes()


def test_an_anthropic_file_comes_back_in_its_own_form(tmp_path: Path) -> None:
    write_transcripts(tmp_path / "out", read_transcripts(GOLDEN / "anthropic.json"))
    before, after = (json.loads(p.read_text()) for p in (GOLDEN / "anthropic.json", tmp_path / "out"))
    assert list(after) == list(before)
    assert after["system"] == before["system"]
    assert after["messages"][1:] == before["messages"][1:]
    assert (
        read_transcripts(tmp_path / "out")[0].messages
        == read_transcripts(GOLDEN / "anthropic.json")[0].messages
    )


@pytest.mark.parametrize("name", ["claude_code.jsonl", "codex.jsonl"])
def test_a_session_log_becomes_a_list_of_openai_messages(name: str, tmp_path: Path) -> None:
    (found,) = read_transcripts(GOLDEN / name)
    write_transcripts(tmp_path / "out.json", [found])
    assert json.loads((tmp_path / "out.json").read_text()) == found.messages
    assert read_transcripts(tmp_path / "out.json")[0].messages == found.messages


@pytest.mark.parametrize("name", ["claude_code.jsonl", "codex.jsonl"])
def test_a_session_log_becomes_one_message_per_line_in_a_file_of_json_lines(
    name: str, tmp_path: Path
) -> None:
    (found,) = read_transcripts(GOLDEN / name)
    write_transcripts(tmp_path / "out.jsonl", [found])
    lines = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == found.messages
    assert read_transcripts(tmp_path / "out.jsonl")[0].messages == found.messages


def test_several_conversations_become_json_lines(tmp_path: Path) -> None:
    found = [t for name in ("openai_list.json", "claude_code.jsonl") for t in read_transcripts(GOLDEN / name)]
    write_transcripts(tmp_path / "out.jsonl", found)
    again = read_transcripts(tmp_path / "out.jsonl")
    assert [t.messages for t in again] == [t.messages for t in found]
    assert [t.line for t in again] == [1, 2]
    assert again[1].id == found[1].id


def test_half_a_surrogate_pair_survives(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text('[{"role": "user", "content": "cut \\ud83d"}]')
    write_transcripts(tmp_path / "out.json", read_transcripts(tmp_path / "in.json"))
    assert read_transcripts(tmp_path / "out.json")[0].messages == [{"role": "user", "content": "cut \ud83d"}]


def test_a_file_is_replaced_with_its_permissions_and_through_its_link(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "real.json").chmod(0o640)
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    write_transcripts(tmp_path / "link.json", read_transcripts(GOLDEN / "openai_list.json"))
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_text().startswith("[")
    assert (tmp_path / "real.json").stat().st_mode & 0o777 == 0o640


def test_a_device_is_written_to_and_not_replaced() -> None:
    write_transcripts("/dev/null", read_transcripts(GOLDEN / "openai_list.json"))
    assert Path("/dev/null").is_char_device()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_a_sentence() -> None:
    with pytest.raises(UserError, match=r"No space left on device\. Free some disk space\."):
        write_transcripts("/dev/full", read_transcripts(GOLDEN / "openai_list.json") * 200)


def test_a_failed_write_leaves_what_was_there_and_no_half_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out.json").write_text("before")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match=r"out\.json cannot be written: No space left"):
        write_transcripts(tmp_path / "out.json", read_transcripts(GOLDEN / "openai_list.json"))
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("out.json", "before")]


def test_a_target_that_cannot_be_is_named(tmp_path: Path) -> None:
    found = read_transcripts(GOLDEN / "openai_list.json")
    with pytest.raises(UserError, match="directory"):
        write_transcripts(tmp_path, found)
    with pytest.raises(UserError, match="No such file or directory"):
        write_transcripts(tmp_path / "no" / "out.json", found)


def test_messages_are_replaced_and_everything_around_them_is_kept(tmp_path: Path) -> None:
    (found,) = read_transcripts(GOLDEN / "openai_object.json")
    write_transcripts(tmp_path / "out.json", [replace(found, messages=found.messages[:2])])
    written = json.loads((tmp_path / "out.json").read_text())
    assert list(written) == ["id", "model", "messages", "tags"]
    assert len(written["messages"]) == 2


def test_a_place_that_may_not_be_written_is_reported_with_its_permissions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(descriptor: int) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "fsync", forbidden)
    with pytest.raises(UserError, match=r"Permission denied\. Check its permissions\."):
        write_transcripts(tmp_path / "out.json", read_transcripts(GOLDEN / "openai_list.json"))
