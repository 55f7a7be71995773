"""What `plimsoll cost` promises at the command line."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from plimsoll.errors import UserError
from plimsoll.terminal.cost import cost

SONNET = "claude-sonnet-4.5"
Run = Callable[..., Result]


@pytest.fixture
def run(empty_home: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command in an empty home, as a person without configuration has it."""
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: str | Path) -> Result:
        return CliRunner().invoke(cost, [str(argument) for argument in arguments])

    return call


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    return written(tmp_path / "talk.json", rounds=12)


def written(path: Path, rounds: int) -> Path:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are careful. " * 300}]
    for number in range(rounds):
        messages.append({"role": "user", "content": f"Question {number}: " + "what about this? " * 200})
        messages.append({"role": "assistant", "content": f"Answer {number}. " * 50})
    path.write_text(json.dumps(messages))
    return path


def facts(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    (line,) = result.stdout.splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


def test_json_compares_the_strategies_with_no_cache_at_all(run: Run, talk: Path):
    found = facts(run(talk, "--model", SONNET, "--json"))
    assert list(found["strategies"]) == ["none", "system_and_3", "planned"]
    none, planned = found["strategies"]["none"], found["strategies"]["planned"]
    assert none["requests"] == planned["requests"] == 12
    assert (none["hits"], planned["hits"]) == (0, 11)
    assert planned["usd"] < none["usd"]
    assert none["plain"] == planned["read"] + planned["write_5m"] + planned["plain"]


def test_a_named_strategy_is_compared_with_none_alone(run: Run, talk: Path):
    found = facts(run(talk, "--model", SONNET, "--json", "--strategy", "system_and_3"))
    assert list(found["strategies"]) == ["none", "system_and_3"]
    assert list(facts(run(talk, "--model", SONNET, "--json", "--strategy", "none"))["strategies"]) == ["none"]


def test_a_provider_that_caches_by_itself_has_no_strategies(run: Run, talk: Path):
    found = facts(run(talk, "--model", "gpt-5.6", "--json"))
    assert list(found["strategies"]) == ["none", "automatic"]
    assert found["strategies"]["automatic"]["read"] > 0


def test_the_lifetime_and_the_gap_change_the_result(run: Run, talk: Path):
    def planned(*options: str) -> dict[str, Any]:
        strategies = facts(run(talk, "--model", SONNET, "--json", *options))["strategies"]
        chosen: dict[str, Any] = strategies["planned"]
        return chosen

    assert planned("--gap", "400")["hits"] == 0
    hour = planned("--gap", "400", "--ttl", "1h")
    assert hour["hits"] == 11
    assert hour["write_1h"] > 0
    assert hour["write_5m"] == 0


def test_the_table_fits_eighty_columns_and_shows_the_share_of_the_full_price(run: Run, talk: Path):
    result = run(talk, "--model", SONNET)
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    rows = {line.split()[0]: line.split() for line in result.stdout.splitlines() if line.strip()}
    assert rows["none"][-1] == "100%"
    assert int(rows["planned"][-1].rstrip("%")) < 60
    assert "claude-sonnet-4.5, 5m TTL, 30 s between requests" in result.stdout


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_a_narrow_terminal_leaves_columns_out_and_cuts_nothing(
    run: Run, talk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int
):
    monkeypatch.setenv("COLUMNS", str(columns))
    other = written(tmp_path / "another-talk.json", rounds=3)
    result = run(talk, other, "--model", "gemini-2.5-pro")
    assert result.exit_code == 0, result.output
    assert "…" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= columns
    for always in ("talk.json", "another-talk.json" if columns > 40 else "another", "USD", "vs none"):
        assert always in result.stdout
    assert ("read" in result.stdout.splitlines()[1]) is (columns > 40)


def test_the_model_that_the_file_names_is_used_unless_another_is_named(run: Run, talk: Path, tmp_path: Path):
    named = {"model": "gpt-5", "messages": json.loads(talk.read_text())}
    path = tmp_path / "named.json"
    path.write_text(json.dumps(named))
    assert facts(run(path, "--json"))["model"] == "gpt-5"
    assert facts(run(path, "--model", SONNET, "--json"))["model"] == SONNET
    other = tmp_path / "other.json"
    other.write_text(json.dumps({**named, "model": SONNET}))
    error = run(path, other).exception
    assert isinstance(error, UserError)
    assert "held with 2 models (claude-sonnet-4.5, gpt-5)" in str(error)


def test_a_misspelt_model_gets_a_suggestion(run: Run, talk: Path):
    error = run(talk, "--model", "claude-sonet-4.5").exception
    assert isinstance(error, UserError)
    assert "Did you mean claude-sonnet-4.5?" in str(error)


def test_several_conversations_get_a_row_each_and_their_sum(run: Run, talk: Path, tmp_path: Path):
    other = written(tmp_path / "other.json", rounds=3)
    result = run(talk, other, "--model", SONNET)
    rows = {line.split()[0]: line.split() for line in result.stdout.splitlines() if line.strip()}
    assert [rows[name][1] for name in ("talk.json", "other.json", "planned")] == ["12", "3", "15"]


def test_gemini_shows_a_range(run: Run, talk: Path):
    assert "–" in run(talk, "--model", "gemini-2.5-pro").stdout


def test_an_hour_through_openrouter_is_billed_as_an_hour_and_says_so(run: Run, talk: Path):
    options = (talk, "--model", "openrouter/anthropic/claude-sonnet-4.5", "--ttl", "1h")
    result = run(*options)
    assert "OpenRouter passes the 1h TTL on" in result.stderr
    assert ", 1h TTL" in result.stdout
    billed = facts(run(*options, "--json"))["strategies"]["planned"]
    assert billed["write_1h"] > 0
    assert billed["write_5m"] == 0


def test_requests_that_the_model_cannot_take_are_counted_and_reported(run: Run, talk: Path, tmp_path: Path):
    assert facts(run(talk, "--model", SONNET, "--json"))["over_window"] == 0
    assert "as if they fitted" not in run(talk, "--model", SONNET).stderr
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.yaml").write_text("model: {cards: {claude-sonnet-4.5: {window: 8000}}}")
    result = run(talk, "--model", SONNET, "--json")
    over = facts(result)["over_window"]
    assert 0 < over < 12
    assert f"talk.json: {over} of 12 requests exceed" in result.stderr


def test_where_no_markers_are_sent_no_savings_are_shown(run: Run, talk: Path, tmp_path: Path):
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.yaml").write_text("model: {base_url: 'http://127.0.0.1:8000/v1'}")
    result = run(talk, "--model", SONNET, "--json")
    assert list(facts(result)["strategies"]) == ["none"]
    assert "prompt_caching.strategy auto sends no cache breakpoints to unknown servers" in result.stderr
    assert "TTL" not in run(talk, "--model", SONNET).stdout
    assert "TTL" in run(talk, "--model", SONNET, "--strategy", "planned").stdout


@pytest.mark.parametrize("gap", ["nan", "inf", "-1"])
def test_a_gap_that_is_no_time_is_refused(run: Run, talk: Path, gap: str):
    result = run(talk, "--model", SONNET, "--gap", gap)
    assert result.exit_code == 2
    assert "--gap" in result.stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [((), "Set --model"), (("--model", "no-such-model"), "'no-such-model' is unknown")],
)
def test_without_prices_a_sentence_says_what_to_do(
    run: Run, talk: Path, options: tuple[str, ...], sentence: str
):
    error = run(talk, *options).exception
    assert isinstance(error, UserError)
    assert sentence in str(error)


def test_without_matplotlib_a_sentence_says_what_to_install(
    run: Run, talk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    error = run(talk, "--model", SONNET, "--plot", tmp_path / "out.png").exception
    assert isinstance(error, UserError)
    assert "pip install '.[plot]'" in str(error)


def test_the_picture_is_a_png(run: Run, talk: Path, tmp_path: Path):
    pytest.importorskip("matplotlib", reason="the plot extra is not installed")
    result = run(talk, "--model", SONNET, "--plot", tmp_path / "out.png")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
    error = run(talk, "--model", SONNET, "--plot", tmp_path / "absent" / "out.png").exception
    assert isinstance(error, UserError)
    assert "out.png cannot be written: No such file or directory. Check the path." in str(error)


def test_a_conversation_without_an_answer_costs_nothing(run: Run, tmp_path: Path):
    path = tmp_path / "short.json"
    path.write_text(json.dumps([{"role": "user", "content": "hi"}]))
    assert facts(run(path, "--model", SONNET, "--json"))["strategies"]["planned"]["usd"] == 0
    assert run(path, "--model", SONNET).exit_code == 0


def test_a_second_table_says_what_compaction_would_save(run: Run, tmp_path: Path):
    long = written(tmp_path / "long.json", rounds=60)
    small = ("--model", SONNET)
    config = tmp_path / "home" / "config.yaml"
    config.parent.mkdir()
    config.write_text("model:\n  context_length: 30000\ncompression:\n  protect_last_n: 2\n", "utf-8")
    found = facts(run(long, *small, "--json"))["compaction"]
    assert list(found) == ["none", "threshold", "cost"]
    assert found["none"]["compactions"] == 0
    assert found["threshold"]["compactions"] >= 2
    assert found["threshold"]["prompt_tokens"] < found["none"]["prompt_tokens"] / 2
    assert found["threshold"]["usd"] < found["none"]["usd"]
    assert found["cost"]["usd"] < found["none"]["usd"]
    shown = run(long, *small).stdout
    assert all(word in shown for word in ("compaction", "threshold", "cost", "vs none"))


def test_the_bundled_conversation_shows_what_compaction_saves(run: Run):
    found = facts(run("--example", "--model", SONNET, "--json"))["compaction"]
    assert found["cost"]["usd"] < found["none"]["usd"]


def test_a_file_or_the_example_is_named(run: Run, talk: Path):
    for arguments in ((), (talk, "--example")):
        assert run(*arguments).exit_code == 2
