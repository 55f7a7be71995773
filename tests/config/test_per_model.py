"""`models.<pattern>`: settings for some models only, in every part that uses a model's settings."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.assembly import build_compressor, card_of
from plimsoll.config import Settings, check_settings, load_settings
from plimsoll.config.per_model import overrides_for
from plimsoll.providers import Endpoint
from plimsoll.terminal.main import plimsoll

CONFIG = """
compression: {threshold: 0.5}
models:
  "gpt-*": {threshold: 0.7, summary_model: gpt-4.1-mini}
  "*": {target_tokens: 9000, threshold: 0.4}
  gpt-5: {window: 50000}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "config.yaml").write_text(CONFIG)
    monkeypatch.setenv("PLIMSOLL_HOME", str(tmp_path))
    return tmp_path


def test_each_value_comes_from_the_most_specific_pattern_that_states_it(home: Path) -> None:
    settings = load_settings(home, {}).settings
    found = settings.for_model("openai/GPT-5")
    assert (found.compression.threshold, found.compression.target_tokens) == (0.7, 9000)
    assert (found.model.context_length, found.auxiliary.compression.model) == (50_000, "gpt-4.1-mini")
    assert settings.for_model("claude-opus-4").compression.threshold == 0.4
    assert settings.for_model("claude-opus-4").auxiliary.compression.model is None


@given(st.permutations(["gpt-5", "gpt-5*", "gpt-*", "*"]))
def test_the_order_of_patterns_does_not_matter_where_one_is_more_specific(patterns: list[str]) -> None:
    models = {pattern: {"window": 2_000 + len(pattern)} for pattern in patterns}
    settings = Settings.model_validate({"models": models})
    assert overrides_for(settings.models, "gpt-5") == {"window": 2_005}
    assert overrides_for(settings.models, "gpt-5-mini") == {"window": 2_006}
    assert overrides_for(settings.models, "gpt-4") == {"window": 2_005}


def test_of_equally_specific_patterns_the_first_one_counts() -> None:
    settings = Settings.model_validate({"models": {"gp*5": {"window": 3_000}, "g*-5": {"window": 4_000}}})
    assert overrides_for(settings.models, "gp-5") == {"window": 3_000}


def test_a_flag_outranks_the_values_of_patterns(home: Path) -> None:
    flags = {"compression.threshold": 0.25, "model.context_length": 30_000}
    found = load_settings(home, {}, flags).settings.for_model("gpt-5")
    assert (found.compression.threshold, found.model.context_length) == (0.25, 30_000)
    assert found.compression.target_tokens == 9_000


def test_engines_and_windows_are_those_of_the_model(home: Path) -> None:
    settings = load_settings(home, {}).settings
    engine = build_compressor(settings, model="gpt-5")
    assert (engine.threshold_percent, engine.context_length, engine.budget.target) == (0.7, 50_000, 9_000)
    endpoint = Endpoint("openai", "https://api.openai.com/v1", "openai", model="gpt-5")
    assert card_of(settings, endpoint, home).window == 50_000


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('"gpt-*": {threshold: 7}', "models.gpt-*.threshold is 7; it must be a number from 0 to 1, or null"),
        (
            "gpt-5: {window: 12}",
            "models.gpt-5.window is 12; it must be a whole number at least 1024, or null",
        ),
        ("gpt-5: {treshold: 0.3}", "threshold"),
    ],
)
def test_a_wrong_value_or_name_is_reported_with_its_line_and_range(home: Path, line: str, told: str) -> None:
    (home / "config.yaml").write_text(f"models:\n  {line}\n")
    (problem,) = check_settings(home, {}).problems
    assert "config.yaml:2" in problem.where
    assert told in problem.text


def test_config_explain_shows_the_values_of_patterns_and_their_source(home: Path) -> None:
    def explained(key: str) -> str:
        result = CliRunner().invoke(plimsoll, ["config", "explain", key], prog_name="plimsoll")
        assert result.exit_code == 0, result.output
        return result.output

    own = explained("models.gpt-*.threshold")
    assert own.startswith("models.gpt-*.threshold = 0.7\n")
    assert f"{home / 'config.yaml'}:4" in own
    general = explained("compression.threshold")
    assert f"models.gpt-*.threshold = 0.7 ({home / 'config.yaml'}:4)" in general
    assert f"models.*.threshold = 0.4 ({home / 'config.yaml'}:5)" in general


def test_compress_uses_the_values_of_the_model_that_is_named_or_recorded(home: Path, tmp_path: Path) -> None:
    def due(*arguments: str) -> str:
        command = ["compress", *arguments, "--no-model"]
        result = CliRunner().invoke(plimsoll, command, prog_name="plimsoll")
        assert result.exit_code == 0, result.output
        return result.output

    assert "window 50,000" in due("--example", "--model", "gpt-5")
    assert "due at 35,000" in due("--example", "--model", "gpt-5")
    talk = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."}]
    recorded = tmp_path / "talk.json"
    recorded.write_text(json.dumps({"model": "gpt-5", "messages": talk}))
    assert "due at 35,000" in due(str(recorded))
