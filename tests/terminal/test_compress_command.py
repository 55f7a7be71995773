"""What `plimsoll compress` and `plimsoll recall` promise at the command line."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from plimsoll.bulk.compaction import BatchPlan
from plimsoll.context import ClearedResult, handle_of
from plimsoll.errors import InvalidConversation
from plimsoll.messages import validate
from plimsoll.messages.printable import plain
from plimsoll.terminal.batch import compact_all
from plimsoll.terminal.main import plimsoll
from plimsoll.terminal.tables import bar, cleared_list, folded, many, status, summary_panel
from plimsoll.transcripts import Transcript, read_transcripts

EXAMPLE = Path(str(files("plimsoll").joinpath("examples", "fastapi.json")))
KEYS = {
    "source", "line", "id", "outcome", "reason", "messages_before", "messages_after",
    "tokens_before", "tokens_after", "valid", "summary_source", "seconds", "sources", "cleared", "shortened",
}  # fmt: skip
Run = Callable[..., Result]


@pytest.fixture
def run(empty_home: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command in an empty home, as a person without configuration has it."""
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: str | Path, stdin: bytes | None = None) -> Result:
        return CliRunner().invoke(plimsoll, [str(argument) for argument in arguments], input=stdin)

    return call


def lines(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def small(tmp_path: Path, name: str = "small.json", rounds: int = 12) -> Path:
    """A conversation with tool results large enough to clear."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are careful."},
        {"role": "user", "content": "Set up the service on port 8417."},
    ]
    for number in range(rounds):
        function = {"name": "bash", "arguments": json.dumps({"command": f"pytest tests/test_{number}.py"})}
        call = {"id": f"c{number}", "type": "function", "function": function}
        output = f"run {number}\n" + "PASSED some test\n" * 200
        messages.append({"role": "assistant", "content": f"Run {number}.", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "name": "bash", "content": output})
    messages += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": "What is left?"}]
    path = tmp_path / name
    path.write_text(json.dumps(messages))
    return path


def test_the_example_is_compacted_to_less_than_half(run: Run) -> None:
    (facts,) = lines(run("compress", "--example", "--json"))
    assert facts.keys() >= KEYS
    assert facts["outcome"] == "compacted"
    assert facts["valid"] is True
    assert facts["summary_source"] == "deterministic"
    assert facts["tokens_after"] < facts["tokens_before"] / 2
    assert facts["messages_after"] < facts["messages_before"]


def test_the_example_is_compacted_for_the_window_that_the_settings_state(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "home" / "config.yaml"
    config.parent.mkdir()
    assert "64,000" in run("compress", "--example", "--no-model").stdout
    config.write_text("model:\n  context_length: 90000\n")
    assert "90,000" in run("compress", "--example", "--no-model").stdout
    config.write_text("model:\n  name: gpt-5\n")
    assert "272,000" in run("compress", "--example", "--no-model").stdout


def test_the_example_is_a_sound_conversation_of_the_stated_size() -> None:
    (example,) = read_transcripts(EXAMPLE)
    assert 120 <= len(example.messages) <= 160
    assert validate(example.messages) == []
    assert EXAMPLE.stat().st_size < 400_000


def test_the_written_file_has_the_shape_of_the_read_one_and_the_newest_request(
    run: Run, tmp_path: Path
) -> None:
    result = run("compress", EXAMPLE, "--window", "64K", "-o", tmp_path / "out.json")
    assert result.exit_code == 0, result.output
    written = json.loads((tmp_path / "out.json").read_text())
    original = json.loads(EXAMPLE.read_text())
    assert written["id"] == "fastapi"
    assert written["messages"][-1] == original["messages"][-1]
    assert validate(written["messages"]) == []
    assert "8417" in json.dumps(written["messages"])


@pytest.mark.parametrize(
    ("typed", "window"), [("8K", 8_000), ("32k", 32_000), ("200_000", 200_000), ("1M", 10**6)]
)
def test_a_window_is_understood_as_people_write_it(run: Run, tmp_path: Path, typed: str, window: int) -> None:
    result = run("compress", small(tmp_path), "--window", typed)
    assert f"window {window:,} tokens" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--window", "big"), "'big' is not a number of tokens"),
        (("--window", "12"), "1024"),
        (("--window", "0"), "'--window': '0' is too small"),
        (("--threshold", "1.5"), "compression.threshold"),
        (("--output", "-", "--json"), "both write to standard output"),
    ],
)
def test_a_bad_option_is_a_sentence_and_exit_code_2(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    result = run("compress", small(tmp_path), *arguments)
    assert result.exit_code == 2
    assert words in result.stderr


def test_files_and_the_example_exclude_each_other_and_one_is_needed(run: Run) -> None:
    assert run("compress").exit_code == 2
    both = run("compress", EXAMPLE, "--example")
    assert both.exit_code == 2
    assert "not several of them" in both.stderr


def test_one_bad_file_among_good_ones_leaves_no_output(run: Run, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text('[{"role": "user", "content": "hi"}]\n{"messages": [\n')
    result = run("compress", small(tmp_path), bad, "-o", tmp_path / "out.jsonl")
    assert result.exit_code == 2
    assert "bad.jsonl: line 2 is not JSON" in result.stderr
    assert result.stdout == ""
    assert not (tmp_path / "out.jsonl").exists()


def test_an_unwritable_output_is_a_sentence(run: Run, tmp_path: Path) -> None:
    result = run("compress", small(tmp_path), "-o", tmp_path / "no" / "out.json")
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr


def test_standard_input_and_output_make_a_filter(run: Run, tmp_path: Path) -> None:
    result = run("compress", "-", "-o", "-", "--window", "8K", stdin=small(tmp_path, rounds=30).read_bytes())
    assert result.exit_code == 0, result.output
    assert validate(json.loads(result.stdout)) == []
    assert "messages" in result.stderr


def test_several_conversations_get_a_row_each_and_a_sum(run: Run, tmp_path: Path) -> None:
    both = [small(tmp_path, "one.json"), small(tmp_path, "two.json", rounds=20)]
    result = run("compress", *both, "--window", "16K")
    assert "one.json" in result.stdout
    assert "two.json" in result.stdout
    assert "2 in all" in result.stdout


def test_the_model_decides_the_window_and_an_unknown_one_is_reported(run: Run, tmp_path: Path) -> None:
    known = run("compress", small(tmp_path), "--model", "claude-sonnet-4.5")
    assert "window 200,000 tokens" in known.stdout
    assert "unknown" not in known.stderr
    unknown = run("compress", small(tmp_path), "--model", "hal-9000")
    assert unknown.exit_code == 0
    assert "'hal-9000' is unknown" in unknown.stderr
    near = run("compress", small(tmp_path), "--model", "claude-sonet-4.5")
    assert "Did you mean claude-sonnet-4.5?" in near.stderr


def test_settings_are_used_and_a_flag_overrides_them(run: Run, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    settings = "model:\n  context_length: 40000\ncompression:\n  threshold: 0.25\n  enabled: false\n"
    (tmp_path / "home" / "config.yaml").write_text(settings)
    assert "window 40,000 tokens, compaction due at 10,000" in run("compress", small(tmp_path)).stdout
    flagged = run("compress", small(tmp_path), "--threshold", "0.5", "--window", "50K")
    assert "window 50,000 tokens, compaction due at 25,000" in flagged.stdout


def test_switching_compression_off_does_not_stop_a_compaction_by_hand(run: Run, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.yaml").write_text("compression:\n  enabled: false\n")
    (facts,) = lines(run("compress", small(tmp_path, rounds=30), "--window", "16K", "--json", "--no-model"))
    assert facts["outcome"] == "compacted"


def test_the_input_file_is_never_touched(run: Run, tmp_path: Path) -> None:
    path = small(tmp_path)
    before = path.read_bytes()
    run("compress", path, "--window", "8K", "-o", tmp_path / "out.json")
    assert path.read_bytes() == before


def test_workers_give_the_same_as_one_process(tmp_path: Path) -> None:
    transcripts = read_transcripts(small(tmp_path, rounds=30)) * 9
    plan = BatchPlan("", 16_000, 0.5, 0.2, 20)
    here = [outcome.messages for outcome in compact_all(plan, transcripts, workers=1)]
    there = [outcome.messages for outcome in compact_all(plan, transcripts, workers=2)]
    assert here == there
    assert len(there) == 9


def test_an_error_of_the_engine_says_in_which_conversation() -> None:
    broken = Transcript(messages=[7], source="odd.jsonl", line=4)  # type: ignore[list-item]
    with pytest.raises(InvalidConversation) as caught:
        list(compact_all(BatchPlan("", 16_000, 0.5, 0.2, 20), [broken]))
    assert caught.value.__notes__ == ["while compacting odd.jsonl: line 4"]


def test_words_of_a_conversation_cannot_drive_the_terminal(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "evil.json"
    path.write_text(json.dumps([{"role": "user", "content": "\x1b[2J[red]x[/red] \ud83d"}] * 3))
    result = run("compress", path)
    assert result.exit_code == 0
    assert "\x1b[2J" not in result.stdout


class TestRecall:
    def stub(self, run: Run, tmp_path: Path) -> tuple[Path, str, str]:
        """The file, the handle of a cleared result, and its original text."""
        path = small(tmp_path, rounds=30)
        message = json.loads(path.read_text())[5]
        return path, handle_of(message), message["content"]

    def test_every_handle_in_a_compacted_file_brings_back_the_original(
        self, run: Run, tmp_path: Path
    ) -> None:
        path, handle, text = self.stub(run, tmp_path)
        assert run("recall", path, handle).stdout == text

    def test_a_compacted_file_names_no_handle_and_the_report_lists_them(
        self, run: Run, tmp_path: Path
    ) -> None:
        path, out = small(tmp_path, rounds=30), tmp_path / "lighter.json"
        done = run("compress", path, "--window", "4K", "--json", "-o", out)
        assert json.loads(done.stdout)["cleared"][0]["handle"].startswith("h:")
        assert "under handle" not in out.read_text()

    def test_the_beginning_of_a_handle_is_enough(self, run: Run, tmp_path: Path) -> None:
        path, handle, text = self.stub(run, tmp_path)
        assert run("recall", path, handle.removeprefix("h:")[:6].upper()).stdout == text

    def test_an_unknown_handle_is_a_sentence_with_the_nearest(self, run: Run, tmp_path: Path) -> None:
        path, handle, _ = self.stub(run, tmp_path)
        wrong = handle[:-1] + ("0" if handle[-1] != "0" else "1")
        result = run("recall", path, wrong)
        assert result.exit_code == 2
        assert f"has the handle {wrong}" in result.stderr
        assert handle in result.stderr

    def test_a_file_without_messages_says_so(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "short.json").write_text('[{"role": "system", "content": "hi"}]')
        result = run("recall", tmp_path / "short.json", "h:0123456789")
        assert result.exit_code == 2
        assert "contains no messages" in result.stderr


def drawn(renderable: Any, width: int = 80) -> str:
    console = Console(width=width, file=open(os.devnull, "w"), record=True)  # noqa: PTH123, SIM115
    console.print(renderable)
    console.file.close()
    return console.export_text()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_table_of_many_fits_the_terminal_and_keeps_every_figure(tmp_path: Path, width: int) -> None:
    transcripts = [
        t for n in (10, 30) for t in read_transcripts(small(tmp_path, f"{'long' * 20}{n}.json", n))
    ]
    outcomes = list(compact_all(BatchPlan("", 16_000, 0.5, 0.2, 20), transcripts))
    text = drawn(many([(Path(o.transcript.source).name, o, "valid") for o in outcomes], width), width)
    assert all(len(line) <= width for line in text.splitlines())
    assert "30.json" in text
    for outcome in outcomes:
        assert f"{outcome.tokens_before:,} → {outcome.tokens_after:,}" in text


def test_a_bar_is_as_long_as_its_share() -> None:
    assert bar(100, 50, 10).plain == "█████····· " + " 50%"
    assert bar(0, 0, 4).plain.endswith("100%")
    assert bar(1_000_000, 1, 10).plain.startswith("▏")


def test_cleared_results_are_folded_and_fit_the_terminal() -> None:
    cleared = [
        ClearedResult(
            n, "bash", "exit 1", 1_000 + n, f"h:{n:010x}", f"bash(command=pytest {'x' * 200}) · exit 1"
        )
        for n in range(20)
    ]
    text = drawn(cleared_list(cleared))
    assert "Cleared: 20 tool results" in text
    assert "and 12 smaller ones" in text
    assert all(len(line) <= 80 for line in text.splitlines())


@pytest.mark.parametrize(
    ("said", "style"), [("exit 0", "green"), ("exit 1", "red"), ("failed", "red"), ("ok", "green")]
)
def test_a_failed_call_is_red(said: str, style: str) -> None:
    assert status(said).style == style


def test_a_summary_is_folded_section_by_section() -> None:
    summary = "## Goal\nShip it.\n\n## Done\n- a\n- b\n- c\n- d\n- e\n\n## Next Steps\n- f"
    assert folded(summary, items=2) == [
        ("## Goal", ["Ship it."]),
        ("## Done", ["- a", "- b", "- *… 3 more*"]),
        ("## Next Steps", ["- f"]),
    ]
    assert "… 3 more" in drawn(summary_panel(summary, "deterministic"))


def test_control_characters_are_removed() -> None:
    assert plain("a\x1b[31mb\x1b]0;t\x07c\r\ud83dd\ne\tf") == "ab0;tcd\ne\tf"


def test_help_shows_without_loading_the_engine() -> None:
    code = "import sys; from plimsoll.terminal.main import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    code += "sys.exit('plimsoll.context' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_what_was_cleared_is_listed_with_its_handle_and_found_in_the_original(run: Run, tmp_path: Path):
    original, output = small(tmp_path, rounds=30), tmp_path / "lighter.json"
    options = ("--window", "16K", "--no-model", "--output", str(output))
    (facts,) = lines(run("compress", original, *options, "--json"))
    handles = [one["handle"] for one in facts["cleared"]]
    assert handles
    told = run("compress", original, *options, "--summary").stderr
    assert f"`plimsoll recall {original} HANDLE` restores one" in told
    assert all(handle in told for handle in handles)
    for one in facts["cleared"]:
        assert len(run("recall", original, one["handle"]).stdout) == one["characters"]
