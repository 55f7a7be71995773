"""Each setting changes something that a person can observe. One test per key."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PLIMSOLL = str(Path(sys.executable).with_name("plimsoll"))
BASE = ["compress", "--example", "--no-model", "--json"]


def run(home, arguments, config="", **variables):
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text(config, "utf-8")
    clean = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment = {**clean, "PLIMSOLL_HOME": str(home), **variables}
    return subprocess.run([PLIMSOLL, *arguments], capture_output=True, text=True, env=environment)


def compressed(home, config="", arguments=()):
    done = run(home, [*BASE, *arguments], config)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def test_context_engine_unknown_is_said_and_check_fails(home):
    config = "context:\n  engine: nosuch\n"
    assert "nosuch" in run(home, BASE, config).stderr
    assert run(home, ["config", "check"], config).returncode == 2
    assert run(home, ["config", "check"], "context:\n  engine: compressor\n").returncode == 0


def test_compression_threshold_moves_the_line(home):
    shown = run(home, ["compress", "--example", "--no-model"], "compression:\n  threshold: 0.25\n").stdout
    assert "due at 16,000" in shown


def test_compression_target_ratio_makes_the_tail_larger(home):
    small = compressed(home, "compression:\n  target_ratio: 0.1\n  protect_last_n: 1\n")
    large = compressed(home, "compression:\n  target_ratio: 0.8\n  protect_last_n: 1\n")
    assert small["tokens_after"] < large["tokens_after"]


def test_compression_protect_last_n_keeps_more_messages(home):
    few = compressed(home, "compression:\n  protect_last_n: 1\n  target_ratio: 0.1\n")
    many = compressed(home, "compression:\n  protect_last_n: 60\n  target_ratio: 0.1\n")
    assert many["messages_after"] >= few["messages_after"] + 20


def test_model_context_length_is_the_window(home):
    shown = run(home, ["compress", "--example", "--no-model", "--model", "gpt-5"], "").stdout
    other = run(home, ["compress", "--example", "--no-model", "--window", "20K"], "").stdout
    assert "window 20,000" in other
    assert "window 20,000" not in shown


def test_model_cards_override_the_shipped_facts(home):
    config = "model:\n  cards:\n    gpt-5: {window: 50000}\n"
    assert (
        "window 50,000"
        in run(home, ["compress", "--example", "--no-model", "--model", "gpt-5"], config).stdout
    )


def test_prompt_caching_cache_ttl_changes_the_bill(home, tmp_path):
    bills = [cost(home, tmp_path, f'prompt_caching:\n  cache_ttl: "{ttl}"\n') for ttl in ("5m", "1h")]
    assert bills[0] != bills[1]


def test_prompt_caching_strategy_changes_the_bill(home, tmp_path):
    bills = [cost(home, tmp_path, f"prompt_caching:\n  strategy: {name}\n") for name in ("none", "planned")]
    assert bills[0] > bills[1]


def cost(home, tmp_path, config):
    assert run(home, ["compress", "--example", "--no-model", "-o", str(tmp_path / "c.json")]).returncode == 0
    done = run(home, ["cost", str(tmp_path / "c.json"), "--model", "claude-sonnet-4.5", "--json"], config)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return found["strategies"][found["chosen"]]["usd"]


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ("compression:\n  policy: cost\n", "compression.policy"),
    ],
)
def test_a_setting_of_a_later_feature_is_told_to_have_no_effect_yet(home, config, key):
    done = run(home, ["config", "check"], config)
    assert done.returncode == 0
    assert f"{key}" in done.stdout + done.stderr
    assert "no effect in this release" in done.stdout + done.stderr


def test_an_environment_variable_outranks_the_file(home):
    config = "compression:\n  threshold: 0.25\n"
    done = run(home, ["compress", "--example", "--no-model"], config, PLIMSOLL_COMPRESSION__THRESHOLD="0.125")
    assert "due at 8,000" in done.stdout


def test_a_flag_outranks_the_environment(home):
    arguments = ["compress", "--example", "--no-model", "--threshold", "0.0625"]
    done = run(home, arguments, "", PLIMSOLL_COMPRESSION__THRESHOLD="0.125")
    assert "due at 4,000" in done.stdout
