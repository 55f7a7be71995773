"""What `plimsoll bench` promises at the command line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from plimsoll.terminal.main import plimsoll
from plimsoll.transcripts import read_example

Run = Callable[..., Result]


@pytest.fixture
def run(empty_home: Path) -> Run:
    """The command in an empty home, as a person without configuration has it."""

    def call(*arguments: str | Path) -> Result:
        return CliRunner().invoke(plimsoll, ["bench", *(str(argument) for argument in arguments)])

    return call


def written(path: Path, rounds: int) -> Path:
    """A session in which the agent comes back to a file that it named long before."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are careful."},
        {
            "role": "user",
            "content": "Please repair the invoice importer, and never touch the production database.",
        },
        {"role": "assistant", "content": "The broken importer lives in src/billing/invoice_importer.py."},
    ]
    for number in range(rounds):
        messages.append({"role": "user", "content": f"Step {number}: please go on with the work."})
        messages.append(
            {"role": "assistant", "content": f"Working on it. {'Nothing new to report here. ' * 40}"}
        )
    messages.append({"role": "user", "content": "Now finish the importer, please."})
    messages += [
        {"role": "assistant", "content": f"Editing src/billing/invoice_importer.py, part {number}."}
        for number in range(6)
    ]
    path.write_text(json.dumps(messages))
    return path


def lines(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_the_example_is_measured(run: Run):
    (found,) = lines(run("--example", "--json"))
    assert found["valid"]
    assert found["invented"] == []
    assert found["tokens_after"] < found["tokens_before"] / 3
    assert 0.5 < found["stated"] <= 1.0


def test_a_far_fact_is_kept_where_the_newest_messages_lost_it(run: Run, tmp_path: Path):
    (found,) = lines(run(written(tmp_path / "talk.json", 60), "--window", "16K", "--json"))
    assert found["far_facts"] >= 1
    assert found["far_present"] == 1.0
    assert found["recency_present"] == 0.0
    assert found["lost"] == []


def test_a_table_names_each_conversation_and_the_sum(run: Run, tmp_path: Path):
    one, two = (written(tmp_path / f"{name}.json", 60) for name in ("one", "two"))
    shown = run(one, two, "--window", "16K")
    assert shown.exit_code == 0, shown.output
    for word in ("one.json", "two.json", "2 in all", "grounded", "recency", "window 16,000"):
        assert word in shown.stdout


def test_a_budget_makes_the_results_smaller(run: Run, tmp_path: Path):
    path = written(tmp_path / "talk.json", 120)
    (usual,) = lines(run(path, "--window", "32K", "--json"))
    (asked,) = lines(run(path, "--window", "32K", "--budget", str(usual["tokens_after"] - 1_500), "--json"))
    assert asked["tokens_after"] <= usual["tokens_after"] - 1_400


def test_a_budget_that_cannot_be_reached_is_reported(run: Run, tmp_path: Path):
    path = written(tmp_path / "talk.json", 120)
    talk = path.read_text("utf-8").replace("You are careful.", "You are careful. " * 800)
    path.write_text(talk, "utf-8")
    result = run(path, "--window", "32K", "--budget", "1100")
    assert result.exit_code == 0
    assert "cannot be reached" in result.stderr


def test_a_conversation_that_is_too_short_is_a_sentence_with_the_numbers(run: Run, tmp_path: Path):
    result = run(written(tmp_path / "short.json", 3))
    assert result.exit_code == 2
    assert "No conversation is long enough to measure" in result.stderr
    assert "due at 32,000" in result.stderr
    assert "--window" in result.stderr


def test_short_conversations_among_long_ones_are_left_out_with_a_note(run: Run, tmp_path: Path):
    short, long = written(tmp_path / "short.json", 3), written(tmp_path / "long.json", 60)
    result = run(short, long, "--window", "16K", "--json")
    assert [Path(one["source"]).name for one in lines(result)] == ["long.json"]
    assert "short.json: too short to measure, skipped" in result.stderr


def test_a_folder_of_many_sessions_gives_on_all_cores_what_each_gives_alone(run: Run, tmp_path: Path):
    folder = tmp_path / "sessions"
    folder.mkdir()
    for number in range(9):  # enough for worker processes
        written(folder / f"{number}.json", 30 + number)
    (folder / "broken.json").write_text("[")
    result = run(folder, "--window", "8K", "--json")
    found = lines(result)
    assert [Path(one["source"]).name for one in found] == [f"{number}.json" for number in range(9)]
    assert "broken.json: line 1 is not JSON" in result.stderr
    assert lines(run(folder / "4.json", "--window", "8K", "--json")) == [found[4]]


def test_only_a_broken_file_is_an_error(run: Run, tmp_path: Path):
    (tmp_path / "broken.json").write_text("[")
    result = run(tmp_path / "broken.json")
    assert result.exit_code == 2
    assert "broken.json: line 1 is not JSON" in result.stderr


def test_no_file_and_no_example_says_what_to_name(run: Run):
    result = run()
    assert result.exit_code == 2
    assert "--example" in result.stderr


def test_a_strange_number_of_tokens_is_a_sentence(run: Run):
    assert "write 32000, 200_000, 8K or 1M" in run("--example", "--window", "big").stderr
    assert "too small for budget" in run("--example", "--budget", "12").stderr


def test_nothing_is_changed_on_disk(run: Run, tmp_path: Path):
    path = written(tmp_path / "talk.json", 60)
    before = path.read_bytes()
    run(path, "--window", "16K")
    assert path.read_bytes() == before
    assert {one.name for one in tmp_path.iterdir()} <= {"talk.json", "home"}
    assert read_example()  # still readable after being measured
