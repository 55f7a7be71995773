"""What `plimsoll convert` and `plimsoll compress --to` promise at the command line."""

import json
import os
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from plimsoll.terminal.main import plimsoll
from plimsoll.transcripts import read_transcripts

EXAMPLE = Path(str(files("plimsoll").joinpath("examples", "fastapi.json")))
GOLDEN = Path(__file__).parents[1] / "transcripts" / "golden"
Run = Callable[..., Result]
PLACES = {
    "claude-code": r"\.claude/projects/-[\w-]+-project/[0-9a-f-]{36}\.jsonl",
    "codex": r"\.codex/sessions/\d{4}/\d\d/\d\d/rollout-[\dT-]+-[0-9a-f-]{36}\.jsonl",
    "gemini": r"\.gemini/tmp/project/chats/session-[\dT-]+-[0-9a-f]{8}\.jsonl",
}
COMMANDS = {"claude-code": "claude --resume ", "codex": "codex resume ", "gemini": "gemini --resume "}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The commands in an empty home, in a project."""
    for name in [name for name in os.environ if name.startswith("PLIMSOLL_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PLIMSOLL_HOME", str(tmp_path / "plimsoll"))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")

    def call(*arguments: str | Path) -> Result:
        return CliRunner().invoke(plimsoll, list(map(str, arguments)))

    return call


def path_in(result: Result) -> Path:
    return Path(re.findall(r"Written to (.+)", result.stdout)[-1])


@pytest.mark.parametrize("target", PLACES)
def test_a_session_is_written_where_its_agent_looks_with_the_command_that_resumes_it(
    run: Run, tmp_path: Path, target: str
) -> None:
    original = (GOLDEN / "claude_code.jsonl").read_bytes()
    result = run("convert", GOLDEN / "claude_code.jsonl", "--to", target)
    assert result.exit_code == 0, result.output
    path = path_in(result)
    assert re.fullmatch(PLACES[target], str(path.relative_to(tmp_path)))
    assert path.stat().st_mode & 0o077 == 0
    session = read_transcripts(path)[0].id
    assert result.stdout.splitlines()[-1] == f"Resume it with: {COMMANDS[target]}{session}"
    assert (GOLDEN / "claude_code.jsonl").read_bytes() == original


@pytest.mark.parametrize("target", PLACES)
def test_the_newest_session_of_the_project_is_found_again(run: Run, tmp_path: Path, target: str) -> None:
    agent = target.removesuffix("-code")
    run("convert", GOLDEN / "openai_list.json", "--to", target)
    newest = path_in(run("convert", GOLDEN / "codex.jsonl", "--to", target))
    os.utime(newest, (2_000_000_000, 2_000_000_000))
    result = run("convert", "--latest", agent, "--to", "openai", "-o", "-")
    assert str(newest) in result.stderr
    assert "8417" in result.stdout


@pytest.mark.parametrize("target", PLACES)
def test_a_session_of_another_project_is_not_used(
    run: Run, tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = path_in(run("convert", GOLDEN / "openai_list.json", "--to", target))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    result = run("convert", "--latest", target.removesuffix("-code"), "--to", "openai", "-o", "-")
    assert result.exit_code == 2
    assert f"has no session of {tmp_path / 'elsewhere'}" in result.stderr
    assert str(other) in result.stderr


def test_a_session_is_written_to_its_own_project(run: Run, tmp_path: Path) -> None:
    (tmp_path / "harbour").mkdir()
    text = (GOLDEN / "codex.jsonl").read_text().replace("/srv/harbour", str(tmp_path / "harbour"))
    (tmp_path / "rollout.jsonl").write_text(text)
    result = run("convert", tmp_path / "rollout.jsonl", "--to", "claude-code")
    assert path_in(result).parent.name.endswith("-harbour")
    assert f"cd {tmp_path / 'harbour'} && claude --resume" in result.stdout


def test_a_folder_takes_the_place_of_the_agents_own(run: Run, tmp_path: Path) -> None:
    result = run("convert", GOLDEN / "codex.jsonl", "--to", "claude-code", "-o", f"{tmp_path}/other/")
    assert path_in(result).is_relative_to(tmp_path / "other" / "projects")
    assert f"CLAUDE_CONFIG_DIR={tmp_path}/other claude --resume" in result.stdout
    assert not (tmp_path / ".claude").exists()


def test_a_session_may_go_to_a_file_or_to_standard_output(run: Run, tmp_path: Path) -> None:
    run("convert", GOLDEN / "codex.jsonl", "--to", "claude-code", "-o", tmp_path / "it.jsonl")
    assert read_transcripts(tmp_path / "it.jsonl")[0].format == "claude-code"
    printed = run("convert", GOLDEN / "codex.jsonl", "--to", "codex", "-o", "-").stdout
    assert json.loads(printed.splitlines()[0])["type"] == "session_meta"


def test_compress_writes_a_smaller_session_with_what_was_said(run: Run) -> None:
    result = run("compress", EXAMPLE, "--window", "64K", "--no-model", "--to", "claude-code")
    assert result.exit_code == 0, result.output
    assert "Compacted: valid for Anthropic" in result.stdout
    (found,) = read_transcripts(path_in(result))
    assert found.format == "claude-code"
    assert len(found.messages) < len(read_transcripts(EXAMPLE)[0].messages)
    assert run("compress", path_in(result), "--no-model", "--window", "64K").exit_code == 0


def test_compress_prints_only_json_on_standard_output_with_json(run: Run) -> None:
    result = run("compress", EXAMPLE, "--window", "64K", "--no-model", "--to", "codex", "--json")
    assert [json.loads(line)["outcome"] for line in result.stdout.splitlines()] == ["compacted"]
    assert "codex resume" in result.stderr


@pytest.mark.parametrize("target", PLACES)
def test_a_session_is_found_by_its_id_in_any_agents_folder(run: Run, target: str) -> None:
    run("convert", EXAMPLE, "--to", target)
    written = run("convert", GOLDEN / "codex.jsonl", "--to", target).stdout.split()[-1]
    result = run("convert", written, "--to", "openai", "-o", "-")
    assert "8417" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["convert", EXAMPLE], "--to"),
        (["convert", "--to", "codex"], "--latest"),
        (["convert", EXAMPLE, "--latest", "codex", "--to", "codex"], "--latest"),
        (["convert", EXAMPLE, "--to", "openai"], "--to openai needs --output FILE"),
        (["convert", "nosuch.jsonl", "--to", "codex"], "There is no file 'nosuch.jsonl'"),
        (["convert", EXAMPLE, EXAMPLE, "--to", "codex", "-o", "one.jsonl"], "--output one.jsonl/"),
        (["convert", "--latest", "gemini", "--to", "codex"], "GEMINI_CLI_HOME"),
    ],
)
def test_a_mistake_is_answered_with_what_to_type_instead(
    run: Run, arguments: list[str | Path], words: str
) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert "Traceback" not in result.output


def test_the_original_is_never_written(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "it.jsonl"
    path.write_bytes((GOLDEN / "claude_code.jsonl").read_bytes())
    result = run("convert", path, "--to", "claude-code", "-o", path)
    assert result.exit_code == 2
    assert "is the original, which is never changed" in result.stderr
    assert path.read_bytes() == (GOLDEN / "claude_code.jsonl").read_bytes()


def test_a_conversation_that_is_too_long_for_its_model_is_noted(run: Run, tmp_path: Path) -> None:
    words = "tide " * 300_000
    path = tmp_path / "long.json"
    path.write_text(json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": words}]}))
    assert "`plimsoll compress` with the same options fits it" in run("convert", path, "--to", "codex").stderr
