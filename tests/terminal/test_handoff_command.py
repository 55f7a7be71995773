"""What `plimsoll handoff` promises at the command line."""

import json
import os
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from plimsoll.terminal.main import plimsoll

EXAMPLE = Path(str(files("plimsoll").joinpath("examples", "fastapi.json")))
HEADINGS = (
    "## Goal", "## Constraints & Preferences", "## Progress", "### Done", "### In Progress", "### Blocked",
    "## Key Decisions", "## Relevant Files", "## Next Steps", "## Critical Context",
)  # fmt: skip
Run = Callable[..., Result]


@pytest.fixture
def run(empty_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command in an empty home, as a person without configuration has it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.delenv("CODEX_HOME", raising=False)

    def call(*arguments: str | Path, stdin: bytes | None = None) -> Result:
        return CliRunner().invoke(plimsoll, ["handoff", *map(str, arguments)], input=stdin)

    return call


def conversation(*said: str) -> list[dict[str, str]]:
    """A short exchange with these requests."""
    found = [{"role": "system", "content": "You are an agent."}]
    for text in said:
        found += [{"role": "user", "content": text}, {"role": "assistant", "content": "I will do that."}]
    return found


def test_a_handoff_is_a_markdown_document_with_all_headings_and_no_table(run: Run) -> None:
    result = run(EXAMPLE, "--no-model")
    assert result.exit_code == 0
    assert result.stdout.startswith("# Hand-off: Help me set up a FastAPI project")
    assert [line for line in result.stdout.splitlines() if line in HEADINGS] == list(HEADINGS)
    assert not any(sign in result.stdout for sign in "┃│┏━")


def test_a_handoff_reads_the_newest_messages_too(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    path.write_text(
        json.dumps(conversation("Port the parser to Rust.", "Now add a benchmark for nested_lists."))
    )
    goal_and_rest = run(path, "--no-model").stdout
    assert "Port the parser to Rust." in goal_and_rest
    assert "benchmark for nested_lists" in goal_and_rest


def test_a_handoff_of_a_compacted_conversation_states_the_first_request_once(
    run: Run, tmp_path: Path
) -> None:
    lighter = tmp_path / "lighter.json"
    done = CliRunner().invoke(plimsoll, ["compress", "--example", "--no-model", "-o", str(lighter)])
    assert done.exit_code == 0
    document = run(lighter, "--no-model").stdout
    goal = document.partition("## Goal")[2].partition("\n##")[0]
    assert goal.count("Help me set up a FastAPI project") == 1
    assert "Written by Plimsoll, without a model, from lighter.json" in document


def test_a_handoff_is_written_to_a_file_and_the_screen_shows_only_its_path(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "handoff.md"
    result = run(EXAMPLE, "--no-model", "-o", target)
    assert result.exit_code == 0
    assert target.read_text("utf-8").startswith("# Hand-off: ")
    assert "".join(result.stdout.splitlines()) == f"Written to {target}"


def test_a_handoff_keeps_to_its_tokens_and_can_leave_quotes_out(run: Run) -> None:
    small = run(EXAMPLE, "--no-model", "--tokens", "1500").stdout
    assert len(small) / 4 < 1_900
    assert "## Evidence" not in run(EXAMPLE, "--no-model", "--no-evidence").stdout


def test_the_newest_session_of_claude_code_is_found_and_side_chains_are_not(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "projects" / re.sub(r"[^a-zA-Z0-9]", "-", str(Path.cwd()))
    folder.mkdir(parents=True)
    for age, name in enumerate(("agent-1.jsonl", "newer.jsonl", "older.jsonl")):
        entry = {
            "type": "user",
            "uuid": name,
            "message": {"role": "user", "content": f"Work on {name} please."},
        }
        (folder / name).write_text(json.dumps(entry) + "\n")
        os.utime(folder / name, (1_000_000 - age, 1_000_000 - age))
    result = run("--latest", "claude", "--no-model")
    assert result.exit_code == 0, result.output
    assert "Work on newer.jsonl please." in result.stdout
    assert str(folder / "newer.jsonl") in result.stderr


def test_an_agent_without_sessions_is_named_with_the_folder_and_its_variable(
    run: Run, tmp_path: Path
) -> None:
    result = run("--latest", "codex")
    assert result.exit_code == 2
    assert str(tmp_path / ".codex") in result.stderr
    assert "CODEX_HOME" in result.stderr


def test_a_stored_session_is_handed_off_by_the_beginning_of_its_id(run: Run) -> None:
    stored = CliRunner().invoke(plimsoll, ["sessions", "import", str(EXAMPLE)])
    name = stored.stdout.split()[0]
    result = run(name[:-1], "--no-model")
    assert result.exit_code == 0, result.output
    assert "FastAPI" in result.stdout


def test_a_name_that_is_neither_a_file_nor_a_session_says_so(run: Run) -> None:
    result = run("nosuch.jsonl")
    assert result.exit_code == 2
    assert "There is no file 'nosuch.jsonl', and no stored session begins with it" in result.stderr
    assert "Traceback" not in result.output


def test_a_file_of_several_conversations_needs_a_line(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_text(
        "".join(json.dumps({"messages": conversation(f"Task {n} of many.")}) + "\n" for n in (1, 2))
    )
    assert "2 conversations. Choose one with --line N." in run(path).stderr
    assert "Task 2 of many." in run(path, "--line", "2", "--no-model").stdout
    assert "the last is in line 2" in run(path, "--line", "9").stderr


def test_a_conversation_in_which_nothing_was_said_has_no_handoff(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "empty.json"
    path.write_text(json.dumps([{"role": "system", "content": "You are an agent."}]))
    result = run(path, "--no-model")
    assert result.exit_code == 2
    assert "nothing was said" in result.stderr


@pytest.mark.parametrize("arguments", [(), (str(EXAMPLE), "--latest", "claude")])
def test_exactly_one_conversation_is_named(run: Run, arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "--latest" in result.stderr


def test_a_secret_in_the_first_request_is_not_in_the_title(run: Run, tmp_path: Path) -> None:
    secret = "sk-ant-api03-" + "a1B2c3D4" * 8
    path = tmp_path / "secret.json"
    path.write_text(json.dumps(conversation(f"Use the key {secret} for the upload.")))
    assert secret not in run(path, "--no-model").stdout
