"""What `plimsoll compress` says about odd input, the window that held, and where its output goes."""

import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from plimsoll.bulk.compaction import BatchPlan
from plimsoll.config import set_value
from plimsoll.context import ClearedResult
from plimsoll.errors import SettingError
from plimsoll.models import card_for
from plimsoll.terminal.batch import compact_all
from plimsoll.terminal.main import plimsoll
from plimsoll.terminal.tables import cleared_list
from plimsoll.terminal.token_option import SMALLEST_WINDOW
from plimsoll.transcripts import Transcript, read_example

Run = Callable[..., Result]
CALL = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
HI = {"role": "user", "content": "hi"}
HELLO = {"role": "assistant", "content": "hello"}
ORPHAN = {"role": "tool", "tool_call_id": "gone", "content": "a result"}
ANSWER = {"role": "tool", "tool_call_id": "c1", "content": "an answer"}
LOGGED = {"type": "user", "uuid": "u", "message": HI, "sessionId": "s"}
ASKS = {"role": "assistant", "content": None, "tool_calls": [CALL]}


@pytest.fixture
def run(empty_home: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command in an empty home, without a model to ask."""
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: str | Path) -> Result:
        return CliRunner().invoke(plimsoll, [str(argument) for argument in arguments])

    return call


def compress(run: Run, *arguments: str | Path) -> Result:
    result = run("compress", "--no-model", *arguments)
    assert result.exit_code == 0, result.output
    return result


def facts(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def saved(tmp_path: Path, value: Any, name: str = "it.json") -> Path:
    path = tmp_path / name
    path.write_text(json.dumps(value))
    return path


def long_talk(rounds: int = 40) -> list[dict[str, Any]]:
    said = "The berth is booked until Friday. " * 20
    return [
        {"role": role, "content": f"{n}: {said}"} for n in range(rounds) for role in ("user", "assistant")
    ]


class TestRepair:
    @pytest.mark.parametrize(
        ("messages", "words"),
        [
            ([ORPHAN, HI], "1 tool result without a call removed"),
            ([HI, ASKS, HI], "1 missing tool result marked as such"),
            ([HI, ASKS, HI, ANSWER], "tool results moved to their calls"),
            (
                [HI, {"role": "assistant", "content": None}, HI],
                "1 message given content that providers accept",
            ),
        ],
    )
    def test_the_counts_are_those_of_the_file_that_is_written(
        self, run: Run, tmp_path: Path, messages: list[Any], words: str
    ) -> None:
        out = tmp_path / "out.json"
        said = facts(compress(run, saved(tmp_path, messages), "--json", "-o", out))
        assert said["outcome"] == "repaired"
        assert said["reason"] == words
        assert said["messages_before"] == len(messages)
        assert said["messages_after"] == len(json.loads(out.read_text()))
        assert said["valid"] is True
        assert said["summary_source"] == "deterministic"

    def test_tokens_are_counted_before_and_after_the_repair(self, run: Run, tmp_path: Path) -> None:
        heavy = {**ORPHAN, "content": "word " * 1_000}
        said = facts(compress(run, saved(tmp_path, [heavy, HI]), "--json"))
        assert said["tokens_before"] > 900
        assert said["tokens_after"] < 20

    def test_a_person_reads_that_it_was_repaired(self, run: Run, tmp_path: Path) -> None:
        path = saved(tmp_path, [ORPHAN, HI])
        assert "Repaired: 1 tool result without a call removed; valid" in compress(run, path).stdout
        assert "repaired" in compress(run, path, path).stdout

    def test_a_compacted_conversation_counts_what_is_written_too(self, run: Run, tmp_path: Path) -> None:
        out = tmp_path / "out.json"
        path = saved(tmp_path, [HI, ORPHAN, *long_talk(), ASKS, HI])
        said = facts(compress(run, path, "--window", "8K", "--json", "-o", out))
        assert said["outcome"] == "compacted"
        assert (said["messages_before"], said["messages_after"]) == (84, len(json.loads(out.read_text())))


def test_an_empty_conversation_is_refused_and_nothing_is_written(run: Run, tmp_path: Path) -> None:
    result = run("compress", saved(tmp_path, []), "-o", tmp_path / "out.json")
    assert result.exit_code == 2
    assert "without messages" in result.stderr
    assert not (tmp_path / "out.json").exists()


class TestTheWindow:
    def test_what_was_not_due_is_compacted_because_the_person_asked(self, run: Run, tmp_path: Path) -> None:
        result = compress(run, saved(tmp_path, long_talk()), "--window", "100K")
        assert "compaction due at 50,000: not due; compacted on request" in result.stdout

    def test_what_was_due_is_not_explained(self, run: Run, tmp_path: Path) -> None:
        result = compress(run, saved(tmp_path, long_talk()), "--window", "8K")
        assert "not due" not in result.stdout

    def test_a_conversation_that_fits_the_tail_is_unchanged_and_that_is_reported(
        self, run: Run, tmp_path: Path
    ) -> None:
        path = saved(tmp_path, [HI, HELLO])
        result = compress(run, path)
        assert ": not due" in result.stdout
        assert "on request" not in result.stdout
        assert "Unchanged: everything fits the first exchange and the protected tail" in result.stdout
        assert "protected tail" in facts(compress(run, path, "--json"))["reason"]

    def test_the_model_in_the_file_decides_unless_another_is_named(self, run: Run, tmp_path: Path) -> None:
        path = saved(tmp_path, {"model": "gpt-5", "messages": [HI]})
        result = compress(run, path)
        assert f"window {card_for('gpt-5').prompt_limit:,} tokens" in result.stdout
        assert "assumed" not in result.stderr
        for named in (("--model", "claude-sonnet-4.5"), ("--window", "200K")):
            assert "window 200,000 tokens" in compress(run, path, *named).stdout
        set_value(tmp_path / "home" / "config.yaml", "model.context_length", 30_000)
        assert "window 30,000 tokens" in compress(run, path).stdout

    def test_every_file_has_the_window_of_its_own_model(self, run: Run, tmp_path: Path) -> None:
        one = saved(tmp_path, {"model": "gpt-5", "messages": [HI]}, "one.json")
        two = saved(tmp_path, {"model": "claude-sonnet-4.5", "messages": [HI]}, "two.json")
        assert "windows of 200,000 to 272,000 tokens" in compress(run, one, two).stdout

    def test_an_assumed_window_is_reported_once(self, run: Run, tmp_path: Path) -> None:
        paths = [saved(tmp_path, [HI], f"{n}.json") for n in range(3)]
        assert compress(run, *paths).stderr.count("no model named, 200,000 tokens assumed") == 1
        assert "assumed" not in compress(run, *paths, "--window", "32K").stderr
        assert "assumed" not in compress(run, "--example").stderr

    def test_an_unknown_model_in_the_file_is_reported_with_the_nearest(
        self, run: Run, tmp_path: Path
    ) -> None:
        result = compress(run, saved(tmp_path, {"model": "claude-sonet-4.5", "messages": [HI]}))
        assert "'claude-sonet-4.5' is unknown" in result.stderr
        assert "Did you mean claude-sonnet-4.5?" in result.stderr

    def test_the_smallest_window_is_that_of_the_setting(self, tmp_path: Path) -> None:
        path = tmp_path / "config.yaml"
        set_value(path, "model.context_length", SMALLEST_WINDOW)
        with pytest.raises(SettingError):
            set_value(path, "model.context_length", SMALLEST_WINDOW - 1)


class TestTheOutput:
    def test_a_session_log_is_written_as_openai_messages_and_that_is_reported(
        self, run: Run, tmp_path: Path
    ) -> None:
        log, out = saved(tmp_path, LOGGED), tmp_path / "out.jsonl"
        result = compress(run, log, "-o", out)
        assert "written as OpenAI messages, not as a Claude Code session" in result.stderr
        assert json.loads(out.read_text()) == HI
        assert "written as" not in compress(run, log).stderr

    def test_an_openai_file_needs_no_such_word(self, run: Run, tmp_path: Path) -> None:
        assert "written as" not in compress(run, saved(tmp_path, [HI]), "-o", tmp_path / "out.json").stderr

    def test_the_summary_can_be_printed_without_a_terminal(self, run: Run, tmp_path: Path) -> None:
        without, with_it = (compress(run, "--example", *flag).stdout for flag in ((), ("--summary",)))
        assert "## Goal" not in without
        assert "## Goal" in with_it
        assert "8417" in with_it
        one = facts(compress(run, "--example", "--json", "--summary"))
        assert one["summary"].rstrip() in with_it
        assert one["evidence"].rstrip() in with_it
        assert "summary" not in facts(compress(run, "--example", "--json"))

    def test_a_focus_that_occurs_nowhere_is_reported(self, run: Run, tmp_path: Path) -> None:
        assert "no word of it occurs" in compress(run, "--example", "--focus", "the zebra crossing").stderr
        assert "no word of it" not in compress(run, "--example", "--focus", "the booking rules").stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("compress", "--example", "--no-model"),
        ("compress", "--example", "--no-model", "--json"),
        ("compress", "--example", "--no-model", "-o", "-"),
        ("recall", "--example", "h:f022b9221f"),
        ("config", "show"),
        ("completion", "bash"),
    ],
)
def test_a_full_standard_output_is_one_sentence_and_exit_code_2(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "plimsoll.terminal.main", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PLIMSOLL_HOME": str(tmp_path)},
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert (
        "plimsoll: The output cannot be written: No space left on device. Free some disk space" in done.stderr
    )
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_standard_error_leaves_the_exit_code(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        code = "from plimsoll.terminal.main import main; main(['compres'])"
        done = subprocess.run([sys.executable, "-c", code], stderr=full, check=False)
    assert done.returncode == 2


def test_a_misspelled_command_is_answered_with_the_nearest(run: Run) -> None:
    result = run("compres")
    assert result.exit_code == 2
    assert "No such command 'compres'. Did you mean compress?" in result.stderr
    assert "Did you mean" not in run("zzz").stderr


def test_a_model_is_completed_from_its_card() -> None:
    command = plimsoll.commands.get("compress") or plimsoll.get_command(None, "compress")  # type: ignore[arg-type]
    assert command is not None
    (option,) = (one for one in command.params if one.name == "model")
    found = [item.value for item in option.shell_complete(None, "claude-son")]  # type: ignore[arg-type]
    assert "claude-sonnet-4.5" in found
    assert all(name.startswith("claude-son") for name in found)


def test_workers_end_when_the_caller_stops_reading() -> None:
    transcripts = [Transcript(long_talk(), "it.jsonl", line=n) for n in range(200)]
    before = set(multiprocessing.active_children())
    outcomes = compact_all(BatchPlan("", 16_000, 0.5, 0.2, 20), transcripts, workers=2)
    next(outcomes)
    workers = set(multiprocessing.active_children()) - before
    assert len(workers) == 2
    outcomes.close()  # type: ignore[attr-defined]
    assert not any(worker.is_alive() for worker in workers)


class TestTheExample:
    def test_a_handle_of_the_example_is_recalled(self, run: Run) -> None:
        (example,) = read_example()
        (outcome,) = compact_all(BatchPlan("", 64_000, 0.5, 0.2, 20), [example])
        cleared = outcome.pruned[0]
        result = run("recall", "--example", cleared.handle)
        assert result.exit_code == 0
        assert result.stdout == example.messages[cleared.index]["content"]

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("--example", "it.json", "h:1"), "not both"),
            (("--example",), "Missing HANDLE"),
            (("it.json",), "Missing HANDLE"),
            ((), "Missing FILE"),
            (("--example", "h:0123456789"), "fastapi.json has the handle"),
        ],
    )
    def test_a_wrong_call_is_a_sentence(self, run: Run, arguments: tuple[str, ...], words: str) -> None:
        result = run("recall", *arguments)
        assert result.exit_code == 2
        assert words in result.stderr


def drawn(renderable: Any, width: int) -> str:
    console = Console(width=width, file=open(os.devnull, "w"), record=True)  # noqa: PTH123, SIM115
    console.print(renderable)
    console.file.close()
    return console.export_text()


@pytest.mark.parametrize("width", [50, 60, 80])
def test_a_narrow_terminal_cuts_the_command_and_nothing_else(width: int) -> None:
    cleared = [
        ClearedResult(
            n, "bash", "interrupted", 1_234_567, f"h:{n:010x}", f"bash(command={'x' * 200}) · interrupted"
        )
        for n in range(3)
    ]
    text = drawn(cleared_list(cleared), width)
    for item in cleared:
        assert f"{item.handle}  1,234,567  interrupted" in text
    assert "…" in text
    assert all(len(line) <= width for line in text.splitlines())


def test_the_hint_names_the_example_where_it_was_compacted() -> None:
    cleared = [ClearedResult(1, "bash", "ok", 900, "h:0123456789", "bash(command=ls) · ok")]
    assert "/recall HANDLE shows one" in drawn(cleared_list(cleared, restore="/recall HANDLE shows"), 80)
    assert "`plimsoll recall FILE HANDLE` restores one" in drawn(cleared_list(cleared), 80)
