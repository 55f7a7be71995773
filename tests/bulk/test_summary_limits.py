"""A summary model in a run: who writes, how many at once, how often, and for how much."""

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from bulk_datasets import WINDOW, read_lines, rows, write_lines
from click.testing import CliRunner, Result

from plimsoll.bulk.spend_log import SpendLog
from plimsoll.terminal.main import plimsoll
from plimsoll.testing.scripted_server import ScriptedServer, fault, say

KEY = "sk-ant-the-key-of-this-test-0123"
GOOD = "## Goal\nFix the bug.\n## Progress\n### Done\nThe model has written this.\n### In Progress\nTests.\n"
Run = Callable[..., Result]


@pytest.fixture
def run(empty_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    source = write_lines(tmp_path / "rows.jsonl", rows(8))

    def call(*options: str) -> Result:
        command = ["bulk", str(source), "-o", str(tmp_path / "out"), "--window", WINDOW, "--use-model"]
        return CliRunner().invoke(plimsoll, [*command, *options])

    return call


@contextmanager
def serving(monkeypatch: pytest.MonkeyPatch, answer: Any) -> Iterator[ScriptedServer]:
    with ScriptedServer(answer, api_key=KEY) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        yield server


def report(tmp_path: Path) -> list[dict[str, Any]]:
    return read_lines(tmp_path / "out" / "report.jsonl")


def test_no_more_summaries_are_written_at_once_than_allowed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    lock, together = threading.Lock(), threading.Barrier(2, timeout=30)
    now: list[int] = [0]
    most: list[int] = [0]

    def answer(_request: Any) -> Any:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        together.wait()  # both threads are here, so two are asked at once
        with lock:
            now[0] -= 1
        return say(GOOD)

    with serving(monkeypatch, answer) as server:
        result = run("--at-once", "2")
    assert result.exit_code == 0, result.output
    assert most[0] == 2
    assert len(server.requests) == 8
    assert {row["summary_source"] for row in report(tmp_path)} == {"model"}
    assert "The model has written this." in (tmp_path / "out" / "data.jsonl").read_text("utf-8")


def test_the_spending_limit_applies_and_code_writes_the_rest(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with serving(monkeypatch, lambda _request: say(GOOD)) as server:
        result = run("--at-once", "2", "--max-spend", "0.01")
    assert result.exit_code == 0, result.output
    found = report(tmp_path)
    sources = [row["summary_source"] for row in found]
    assert 0 < len(server.requests) == sources.count("model") < 8
    failures = {failure for row in found for failure in row["summary_failures"]}
    assert failures == {"the spending limit of $0.01 is reached"}
    assert "spent on summaries" in result.stdout
    notes = read_lines(tmp_path / "out" / "manifest.jsonl")
    assert 0 < notes[-2]["spent"] <= 0.01
    assert "the spending limit of $N" in (tmp_path / "out" / "statistics.md").read_text("utf-8").replace(
        "0.01", "N"
    )


def test_a_run_that_was_killed_counts_what_it_spent_and_what_it_may_have_spent(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    running: list[subprocess.Popen[bytes]] = []

    def answer(_request: Any) -> Any:
        if len(server.requests) == 3:  # of the first four rows, which are one chunk: nothing is committed yet
            running[0].kill()
        return say(GOOD)

    with serving(monkeypatch, answer) as server:
        command = ["bulk", str(tmp_path / "rows.jsonl"), "-o", str(tmp_path / "out"), "--window", WINDOW]
        options = ["--use-model", "--at-once", "1", "--max-spend", "1"]
        running.append(subprocess.Popen([sys.executable, "-m", "plimsoll.terminal.main", *command, *options]))
        assert running[0].wait(timeout=120) == -signal.SIGKILL
        first, second, under_way = read_spending(tmp_path)
        result = run("--at-once", "1", "--max-spend", f"{first + second:.6f}")
    assert result.exit_code == 0, result.output
    assert len(server.requests) == 3
    spent = read_lines(tmp_path / "out" / "manifest.jsonl")[-2]["spent"]
    assert spent == pytest.approx(first + second + under_way)
    assert [row["summary_source"] for row in report(tmp_path)].count("model") == 2


def read_spending(tmp_path: Path) -> tuple[float, float, float]:
    """What two requests cost, and the most that a third can cost."""
    entries = read_lines(tmp_path / "out" / "work" / "spending.jsonl")
    first, second = (entry["usd"] for entry in entries if "reserved" not in entry and "usd" in entry)
    assert "reserved" in entries[-1]
    return first, second, entries[-1]["usd"]


def test_a_spend_log_that_was_torn_keeps_its_whole_lines(tmp_path: Path):
    path = tmp_path / "spending.jsonl"
    log = SpendLog(path)
    log.release(log.reserve(0.5))
    log.add(0.25)
    log.reserve(0.125)
    log.close()
    with path.open("ab") as file:
        file.write(b'{"usd": 7')
    for _ in range(2):  # the second time, the reservation counts once all the same
        log = SpendLog(path)
        assert log.spent == 0.375
        log.close()


def test_a_failed_request_is_repeated_as_often_as_asked(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write_lines(tmp_path / "rows.jsonl", rows(1))
    asked = []
    for retries in ("0", "1"):
        with serving(monkeypatch, [fault(500, times=None)]) as server:
            result = run("--retries", retries, "--restart")
        assert result.exit_code == 0, result.output
        assert {row["summary_source"] for row in report(tmp_path)} == {"deterministic"}
        asked.append(len(server.requests))
    assert asked[1] == 2 * asked[0] > 0


def test_a_limit_needs_known_prices(run: Run, monkeypatch: pytest.MonkeyPatch):
    with serving(monkeypatch, lambda _request: say(GOOD)) as server:
        monkeypatch.setenv("PLIMSOLL_AUXILIARY__COMPRESSION__BASE_URL", server.openai_url)
        monkeypatch.setenv("PLIMSOLL_AUXILIARY__COMPRESSION__MODEL", "qwen-unheard-of")
        result = run("--max-spend", "1")
    assert result.exit_code == 2
    assert "prices of qwen-unheard-of are unknown" in result.stderr
