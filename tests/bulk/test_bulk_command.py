"""What `plimsoll bulk` promises at the command line."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from bulk_datasets import WINDOW, conversation, output_bytes, read_lines, rows, write_lines
from click.testing import CliRunner, Result

from plimsoll.terminal.main import plimsoll

Run = Callable[..., Result]


@pytest.fixture
def run(empty_home: Path) -> Run:
    """The command in an empty home, as a person without configuration has it."""

    def call(*arguments: str | Path) -> Result:
        return CliRunner().invoke(plimsoll, ["bulk", *(str(argument) for argument in arguments)])

    return call


def test_one_process_and_two_write_the_same_bytes(run: Run, tmp_path: Path):
    source = write_lines(tmp_path / "rows.jsonl", rows(24))
    one = run(source, "-o", tmp_path / "one", "--window", WINDOW, "--workers", "1")
    two = run(source, "-o", tmp_path / "two", "--window", WINDOW, "--workers", "2")
    assert (one.exit_code, two.exit_code) == (0, 0), one.output + two.output
    found = output_bytes(tmp_path / "one")
    assert found == output_bytes(tmp_path / "two")
    assert sorted(found) == ["data.jsonl", "rejects.jsonl", "report.jsonl", "statistics.md"]
    assert [row["instance_id"] for row in read_lines(tmp_path / "one" / "data.jsonl")] == [
        f"row-{n}" for n in range(24)
    ]


def test_broken_rows_leave_the_others_unchanged(run: Run, tmp_path: Path):
    fine = [json.dumps(row) for row in rows(100, rounds=6)]
    broken = [line if n != 41 else line[: len(line) // 2] for n, line in enumerate(fine)]
    outputs = {}
    for name, lines in (("fine", fine), ("broken", broken)):
        folder = tmp_path / name
        folder.mkdir()
        (tmp_path / "rows.jsonl").write_text("\n".join(lines))
        result = run(tmp_path / "rows.jsonl", "-o", folder / "out", "--window", "2K", "--workers", "1")
        assert result.exit_code == 0, result.output
        outputs[name] = output_bytes(folder / "out")
    assert "1 rows set aside" in result.stdout
    for file in ("data.jsonl", "report.jsonl"):
        expected = outputs["fine"][file].splitlines()
        assert outputs["broken"][file].splitlines() == [*expected[:41], *expected[42:]]
    (reject,) = map(json.loads, outputs["broken"]["rejects.jsonl"].splitlines())
    assert reject["row"] == 42
    assert reject["raw"] == broken[41]
    assert "| rejected | 1 |" in outputs["broken"]["statistics.md"].decode()


def test_the_statistics_add_up(run: Run, tmp_path: Path):
    source = write_lines(tmp_path / "rows.jsonl", [*rows(6), {"messages": conversation(1, rounds=1)}])
    assert run(source, "-o", tmp_path / "out", "--window", WINDOW, "--workers", "1").exit_code == 0
    page = (tmp_path / "out" / "statistics.md").read_text("utf-8")
    report = read_lines(tmp_path / "out" / "report.jsonl")
    compacted = [row for row in report if row["outcome"] == "compacted"]
    assert 0 < len(compacted) < len(report) == 7
    assert f"| compacted | {len(compacted)} |" in page
    assert f"| unchanged | {7 - len(compacted)} |" in page
    assert f"| tokens before (estimate) | {sum(row['tokens_before'] for row in report):,} |" in page
    assert f"| rows summarised by code | {len(compacted)} |" in page
    assert "| weighted over kinds |" in page
    assert report[-1]["reason"].endswith("below the threshold of 2,000")


def test_every_compacts_what_is_below_the_threshold(run: Run, tmp_path: Path):
    source = write_lines(tmp_path / "rows.jsonl", rows(2))
    run(source, "-o", tmp_path / "usual", "--window", "64K", "--workers", "1")
    run(source, "-o", tmp_path / "every", "--window", "64K", "--workers", "1", "--every", "--target", "1200")
    outcomes = {
        name: {row["outcome"] for row in read_lines(tmp_path / name / "report.jsonl")}
        for name in ("usual", "every")
    }
    assert outcomes == {"usual": {"unchanged"}, "every": {"compacted"}}


def test_split_examples_have_masks_and_keep_the_columns(run: Run, tmp_path: Path):
    source = write_lines(tmp_path / "rows.jsonl", [*rows(1, rounds=60), {"messages": conversation(1)[:2]}])
    result = run(
        source, "-o", tmp_path / "out", "--window", WINDOW, "--workers", "1", "--split-at-compactions"
    )
    assert result.exit_code == 0, result.output
    examples = read_lines(tmp_path / "out" / "data.jsonl")
    assert len(examples) > 3
    assert [one["example"] for one in examples] == list(range(len(examples)))
    assert {one["instance_id"] for one in examples} == {"row-0"}
    generated = sum(sum(one["generated"]) for one in examples)
    assert generated == sum(one["role"] == "assistant" for one in rows(1, rounds=60)[0]["messages"])
    (report,) = read_lines(tmp_path / "out" / "report.jsonl")
    assert (report["outcome"], report["examples"], report["valid"]) == ("split", len(examples), True)
    (reject,) = read_lines(tmp_path / "out" / "rejects.jsonl")
    assert "no assistant message to train on" in reject["reason"]


def test_a_finished_run_is_not_run_again_unless_asked(run: Run, tmp_path: Path):
    source = write_lines(tmp_path / "rows.jsonl", rows(3))
    command = (source, "-o", tmp_path / "out", "--window", WINDOW, "--workers", "1")
    assert run(*command).exit_code == 0
    (tmp_path / "out" / "statistics.md").write_text("mine")
    assert "3 rows in" in run(*command).stdout
    assert (tmp_path / "out" / "statistics.md").read_text() == "mine"
    assert run(*command, "--restart").exit_code == 0
    assert "| rows | 3 |" in (tmp_path / "out" / "statistics.md").read_text()
    assert len(read_lines(tmp_path / "out" / "data.jsonl")) == 3


def test_other_settings_or_inputs_do_not_continue_a_run(run: Run, tmp_path: Path):
    source = write_lines(tmp_path / "rows.jsonl", rows(2))
    run(source, "-o", tmp_path / "out", "--window", WINDOW, "--workers", "1")
    other = run(source, "-o", tmp_path / "out", "--window", "8K")
    assert other.exit_code == 2
    assert "window changed" in other.stderr
    assert "--restart" in other.stderr
    write_lines(source, rows(3))
    assert "input changed" in run(source, "-o", tmp_path / "out", "--window", WINDOW).stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-o", "out"), "Pass files or folders"),
        (("missing.jsonl", "-o", "out"), "missing.jsonl does not exist"),
        (("empty", "-o", "out"), "No conversation files found in empty"),
        (("rows.jsonl", "-o", "rows.jsonl"), "is a file. Pass a folder"),
        (("rows.jsonl", "-o", "strange"), "contains 'notes.txt'"),
        (("rows.jsonl", "-o", "dataset"), "contains 'data.jsonl'"),
        (("-o", "out", "--ray", "rows.jsonl"), "--ray took 'rows.jsonl' as its address"),
        (("rows.jsonl", "-o", "out", "--use-model", "--ray"), "--use-model runs on one machine"),
        (("rows.jsonl", "-o", "out", "--max-spend", "5"), "add --use-model"),
        (("rows.jsonl", "-o", "out", "--use-model"), "there is no summary model"),
    ],
)
def test_a_mistake_is_a_sentence(
    arguments: tuple[str, ...], words: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    write_lines(tmp_path / "rows.jsonl", rows(1))
    (tmp_path / "empty").mkdir()
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "notes.txt").write_text("mine")
    (tmp_path / "dataset").mkdir()
    (tmp_path / "dataset" / "data.jsonl").write_text("mine")
    result = run(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert (tmp_path / "strange" / "notes.txt").read_text() == "mine"
    assert (tmp_path / "dataset" / "data.jsonl").read_text() == "mine"


class RealRun:
    """`plimsoll bulk` in a process of its own, with two workers."""

    def __init__(self, folder: Path, source: Path) -> None:
        self.folder = folder
        program = [sys.executable, "-c", "from plimsoll.terminal.main import main; main()", "bulk"]
        self.command = [*program, str(source), "-o", str(folder), "--window", WINDOW, "--workers", "2"]
        self.environment = {**os.environ, "PLIMSOLL_HOME": str(folder.parent / "home")}

    def start(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(self.command, env=self.environment, stderr=subprocess.PIPE, text=True)

    def committed(self) -> int:
        """Rows that are in the files."""
        try:
            lines = (self.folder / "manifest.jsonl").read_bytes().splitlines(keepends=True)
        except FileNotFoundError:
            return 0
        whole = [json.loads(line) for line in lines if line.endswith(b"\n")]
        return max((line.get("rows", 0) for line in whole), default=0)

    def interrupted(self, number: int, rows_more: int) -> str:
        """Run until so many more rows are done, then send a signal; what it said."""
        before = self.committed()
        process = self.start()
        deadline = time.monotonic() + 120
        while self.committed() < before + rows_more:
            assert process.poll() is None, "it ended before it could be interrupted"
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
        assert process.returncode == (130 if number == signal.SIGINT else -number)
        return said


def break_rows(path: Path, count: int) -> None:
    """Make the first rows unreadable without changing the file's size or time."""
    facts = path.stat()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([b"?" * (len(line) - 1) + b"\n" for line in lines[:count]] + lines[count:]))
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))


def test_after_an_interruption_and_a_kill_every_row_appears_once_and_none_is_processed_again(
    run: Run, tmp_path: Path
):
    source = write_lines(tmp_path / "rows.jsonl", rows(128))
    whole = run(source, "-o", tmp_path / "whole", "--window", WINDOW, "--workers", "1")
    assert whole.exit_code == 0, whole.output
    real = RealRun(tmp_path / "out", source)
    said = real.interrupted(signal.SIGINT, rows_more=16)
    assert "Run the same command again to continue." in said
    done = real.committed()
    break_rows(source, done)  # a finished row that were processed again would be rejected
    real.interrupted(signal.SIGKILL, rows_more=16)
    assert 0 < done < real.committed() < 128
    break_rows(source, real.committed())
    last = run(source, "-o", tmp_path / "out", "--window", WINDOW, "--workers", "1")
    assert last.exit_code == 0, last.output
    assert "continuing" in last.stderr
    assert output_bytes(tmp_path / "out") == output_bytes(tmp_path / "whole")
    assert not (tmp_path / "out" / "work").exists()
