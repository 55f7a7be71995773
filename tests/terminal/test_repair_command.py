"""What `plimsoll repair` promises at the command line."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from plimsoll.terminal.main import plimsoll

GOLDEN = Path(__file__).parents[1] / "transcripts" / "golden"
Run = Callable[..., Result]
BROKEN = {
    "model": "claude-sonnet-4-5",
    "temperature": 0.5,
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "Where?"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "find.1", "name": "find", "input": {}}]},
        {"role": "user", "content": "Well?"},
    ],
}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command in an empty home."""
    monkeypatch.setenv("PLIMSOLL_HOME", str(tmp_path / "plimsoll"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path) -> Result:
        return CliRunner().invoke(plimsoll, ["repair", *map(str, arguments)])

    return call


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(BROKEN))
    return path


def test_problems_are_named_with_their_place_and_repair(run: Run, broken: Path) -> None:
    result = run(broken)
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        f"{broken}: 3 problems for Anthropic",
        "  message 1: a text block is empty. Removed the block.",
        "  message 2: the tool call id 'find.1' has illegal characters. Renamed it to 'find_1_3bf37861'.",
        "  message 2: the tool call 'find_1_3bf37861' has no result. Added a result that says so.",
        "Nothing is written. Name a file with --output.",
    ]


def test_the_repaired_file_keeps_every_other_field_and_has_no_problems(run: Run, broken: Path) -> None:
    assert run(broken, "-o", "fixed.json").exit_code == 0
    fixed = json.loads(Path("fixed.json").read_text())
    assert fixed["temperature"] == 0.5
    assert json.loads(broken.read_text()) == BROKEN
    assert run("fixed.json").stdout == "fixed.json: no problems for Anthropic\n"


@pytest.mark.parametrize(
    "name", ["openai_list.json", "openai_object.json", "anthropic.json", "responses.json", "gemini.json"]
)
def test_a_valid_file_is_copied_byte_for_byte(run: Run, name: str) -> None:
    result = run(GOLDEN / name, "-o", "copy.json")
    assert result.exit_code == 0, result.output
    assert Path("copy.json").read_bytes() == (GOLDEN / name).read_bytes()


@pytest.mark.parametrize(
    ("dialect", "field"),
    [("openai", "messages"), ("anthropic", "messages"), ("responses", "input"), ("gemini", "contents")],
)
def test_a_session_is_written_in_the_form_of_the_named_dialect(run: Run, dialect: str, field: str) -> None:
    result = run(GOLDEN / "claude_code.jsonl", "--for", dialect, "-o", "body.json")
    assert result.exit_code == 0, result.output
    assert json.loads(Path("body.json").read_text())[field]
    assert "Two reads at once." not in Path("body.json").read_text() or dialect == "anthropic"


def test_portable_removes_the_thinking_of_a_session(run: Run) -> None:
    result = run(GOLDEN / "claude_code.jsonl", "--portable", "-o", "body.json")
    assert "thinking is signed for one provider and conversation. Removed it." in result.stdout
    assert "Two reads at once." not in Path("body.json").read_text()


def test_a_signature_is_added_for_a_model_that_needs_it(run: Run, tmp_path: Path) -> None:
    body = json.loads((GOLDEN / "gemini.json").read_text())
    body["contents"] = body["contents"][:3]
    path = tmp_path / "gemini.json"
    path.write_text(json.dumps(body))
    assert run(path).exit_code == 0
    result = run(path, "--model", "gemini-3-pro", "-o", "signed.json")
    assert "has no thought signature" in result.stdout
    assert "skip_thought_signature_validator" in Path("signed.json").read_text()


def test_findings_are_printed_as_json_lines(run: Run, broken: Path) -> None:
    lines = [json.loads(line) for line in run(broken, "--json").stdout.splitlines()]
    assert [line["place"] for line in lines] == ["message 1", "message 2", "message 2"]
    assert lines[0] == {
        "place": "message 1",
        "problem": "a text block is empty",
        "repair": "Removed the block",
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--latest"),
        (["nosuch.json"], "There is no file 'nosuch.json'"),
        (["broken.json", "-o", "broken.json"], "is the original, which is never changed"),
        (["broken.json", "-o", "-", "--json"], "pass a file to --output"),
        (["broken.json", "--for", "cobol"], "openai"),
    ],
)
def test_a_mistake_is_answered_with_what_to_do(
    run: Run, broken: Path, arguments: list[str], words: str
) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert json.loads(broken.read_text()) == BROKEN
