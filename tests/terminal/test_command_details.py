"""Small promises of the commands: valid files, only what was asked for, the original by its name."""

import json
import shutil
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from plimsoll.context import handle_of
from plimsoll.terminal.main import plimsoll
from plimsoll.transcripts import read_transcripts

EXAMPLE = Path(__file__).parent.parent.parent / "src" / "plimsoll" / "examples" / "fastapi.json"


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("PLIMSOLL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    shutil.copy(EXAMPLE, tmp_path / "session.json")

    def invoke(*arguments):
        return CliRunner().invoke(plimsoll, list(arguments))

    return invoke


def commands(command, path):
    """Every command with its words."""
    yield path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from commands(command.get_command(click.Context(command), name), [*path, name])


@pytest.mark.parametrize("path", [path for path, _ in commands(plimsoll, [])], ids=" ".join)
def test_help_is_whole_at_80_columns(path):
    shown = CliRunner().invoke(plimsoll, [*path, "--help"], terminal_width=80).output.splitlines()
    assert [line for line in shown if len(line) > 80] == []
    assert [line for line in shown if line.endswith("...") and not line.startswith("Usage:")] == []


def test_a_name_that_is_neither_a_file_nor_a_session_is_said_to_be_so_once(run):
    run("sessions", "import", "session.json")
    told = run("compress", "nothing.json").stderr
    assert "no file 'nothing.json', and no stored session begins with it. The newest is " in told
    assert told.count("nothing.json") == 1
    assert told.count("plimsoll sessions list") == 1


def test_settings_are_suggested_only_for_names_that_are_close(run):
    assert "Did you mean" not in run("config", "explain", "nope").stderr
    assert "Did you mean gateway.log_contents?" in run("config", "explain", "log_content").stderr
    assert "Did you mean compression.threshold?" in run("config", "explain", "thresold").stderr


def test_several_conversations_in_a_json_file_are_one_document_that_can_be_read_back(run, tmp_path):
    shutil.copy(EXAMPLE, tmp_path / "other.json")
    done = run("compress", "session.json", "other.json", "--no-model", "--window", "64K", "-o", "both.json")
    assert done.exit_code == 0, done.stderr
    assert len(json.loads((tmp_path / "both.json").read_text("utf-8"))) == 2
    both = read_transcripts(tmp_path / "both.json")
    assert len(both) == 2
    assert all(one.messages[0]["role"] == "system" for one in both)


def test_summary_prints_the_summary_alone_and_recall_finds_what_was_cleared(run, tmp_path):
    done = run("compress", "session.json", "--no-model", "--window", "64K", "--summary", "-o", "lighter.json")
    assert done.stdout.startswith("## Goal")
    assert "Compacted" not in done.stdout
    assert "Written to" not in done.stdout
    handles = [word for word in done.stderr.split() if word.startswith("h:")]
    assert handles
    found = run("recall", "session.json", handles[0])
    assert found.exit_code == 0, found.stderr
    lost = run("recall", "lighter.json", handles[0])
    assert lost.exit_code == 2
    assert f"`plimsoll recall session.json {handles[0]}`" in lost.stderr


def test_recall_on_the_compacted_example_names_the_example_and_no_unrelated_handles(run, tmp_path):
    (tmp_path / "session.json").unlink()
    done = run("compress", "--example", "--no-model", "--summary", "-o", "lighter.json")
    handle = next(word for word in done.stderr.split() if word.startswith("h:"))
    assert f"`plimsoll recall --example {handle}`" in run("recall", "lighter.json", handle).stderr
    unknown = run("recall", "lighter.json", "h:0123456789").stderr
    assert "Pass the original conversation, not the compacted one." in unknown


def test_recall_finds_every_message_of_the_original_and_not_only_tool_results(run, tmp_path):
    messages = read_transcripts(tmp_path / "session.json")[0].messages
    request = next(message for message in messages if message["role"] == "user")
    assert run("recall", "session.json", handle_of(request)).stdout == request["content"]


def test_a_section_is_explained_key_by_key(run):
    shown = run("config", "explain", "compression").stdout
    assert "compression.threshold = 0.5\n" in shown
    assert "compression.policy = threshold\n" in shown
    assert "config explain KEY" in shown
    assert "model.name" not in shown
    assert run("config", "explain", "model").exit_code == 0
    assert run("config", "explain", "nosuch").exit_code == 2


def test_the_example_of_bench_tells_the_methods_apart(run):
    (line,) = run("bench", "--example", "--json").stdout.splitlines()
    facts = json.loads(line)
    assert facts["far_grounded"] > facts["recency_grounded"]
