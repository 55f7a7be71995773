"""`plimsoll gateway keys` as a person uses it, and the files to deploy with."""

import configparser
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from gateway_keys import environment
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from plimsoll.archive.key_format import PREFIX, matches_digest, new_key, split_key
from plimsoll.config import all_keys
from plimsoll.gateway.access.authentication import without_gateway_key
from preloaded import run_plimsoll

DEPLOY = Path(__file__).parents[2] / "deploy"


def keys(home: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return run_plimsoll("gateway", "keys", *arguments, env=environment(home))


def test_a_key_is_shown_once_alone_on_standard_output_and_is_nowhere_in_the_archive(tmp_path: Path) -> None:
    made = keys(tmp_path, "add", "laptop", "--requests-per-minute", "60", "--money-per-day", "2.5")
    assert made.returncode == 0
    text = made.stdout.strip()
    assert re.fullmatch(PREFIX + r"[0-9a-f]{12}-[\w-]{43}", text)
    assert "not shown again" in made.stderr
    shown = keys(tmp_path, "list").stdout
    assert "laptop" in shown
    assert "60/min" in shown
    (listed,) = json.loads(keys(tmp_path, "list", "--json").stdout)
    assert (listed["requests_per_minute"], listed["money_per_day"], listed["tokens_per_day"]) == (
        60,
        2.5,
        None,
    )
    _, secret = split_key(text) or ("", "")
    assert secret
    for file in tmp_path.iterdir():
        assert secret.encode() not in file.read_bytes()


def test_renew_gives_another_text_and_the_same_id(tmp_path: Path) -> None:
    before = keys(tmp_path, "add", "laptop").stdout.strip()
    after = keys(tmp_path, "renew", "laptop").stdout.strip()
    assert before != after
    assert before.split("-")[1] == after.split("-")[1]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("add", "a b"), "'a b' is not a valid key name"),
        (("add", "laptop"), "A key named 'laptop' already exists"),
        (("revoke", "desk"), "No key has the name 'desk'. There are laptop."),
        (("renew", "desk"), "No key has the name 'desk'"),
        (("add", "desk", "--tokens-per-day", "0"), "0 is not in the range"),
    ],
)
def test_a_mistake_is_a_sentence(tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    assert keys(tmp_path, "add", "laptop").returncode == 0
    done = keys(tmp_path, *arguments)
    assert done.returncode == 2
    assert told in " ".join(done.stderr.split())
    assert done.stdout == ""


def test_revoked_keys_are_not_listed(tmp_path: Path) -> None:
    keys(tmp_path, "add", "laptop")
    assert "is revoked" in keys(tmp_path, "revoke", "laptop").stdout
    assert "No keys" in keys(tmp_path, "list").stdout


def test_only_the_whole_secret_proves_a_key() -> None:
    made = new_key()
    _, secret = split_key(made.text) or ("", "")
    assert matches_digest(secret, made.digest)
    assert not matches_digest(secret[:-1], made.digest)
    assert not matches_digest(secret + "x", made.digest)
    assert not matches_digest("", made.digest)
    assert made.text not in repr(made)


@given(st.text(max_size=300))
def test_whatever_a_client_sends_is_a_key_or_none(text: str) -> None:
    parts = split_key(text)
    assert parts is None or f"{PREFIX}{parts[0]}-{parts[1]}" == text


names = st.sampled_from([b"x-api-key", b"authorization", b"x-plimsoll-key", b"x-plimsoll-caller", b"accept"])
values = st.sampled_from(
    [b"plim-abc-secret", b"Bearer plim-abc-secret", b"bearer  plim-abc-secret ", b"sk-mine", b""]
)


@given(st.lists(st.tuples(names, values)))
def test_no_key_of_the_gateway_is_left_among_the_headers(headers: list[tuple[bytes, bytes]]) -> None:
    key, kept = without_gateway_key(headers)
    assert not [pair for pair in kept if pair[0] != b"accept" and b"plim-" in pair[1]]
    assert not [name for name, _ in kept if name.startswith(b"x-plimsoll")]
    own = [
        pair for pair in headers if pair[0] in (b"x-api-key", b"authorization") and b"plim-" not in pair[1]
    ]
    assert [pair for pair in kept if pair[0] != b"accept"] == own
    assert key in ("", "plim-abc-secret", "sk-mine")


def test_the_unit_starts_a_command_that_exists_and_waits_longer_than_the_gateway() -> None:
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(DEPLOY / "plimsoll-gateway.service")
    program, *arguments = unit["Service"]["ExecStart"].split()
    assert program.endswith("/plimsoll")
    done = run_plimsoll(*arguments, "--help", env=os.environ)
    assert done.returncode == 0
    assert int(unit["Service"]["TimeoutStopSec"]) > shutdown_seconds()


def test_the_compose_file_sets_variables_that_exist_and_waits_longer_than_the_gateway() -> None:
    compose: dict[str, Any] = YAML(typ="safe").load(DEPLOY / "compose.yaml")
    gateway = compose["services"]["gateway"]
    known = {setting.variable for setting in all_keys()}
    assert {name for name in gateway["environment"] if name.startswith("PLIMSOLL_")} <= known
    assert int(gateway["stop_grace_period"].removesuffix("s")) > shutdown_seconds()
    assert (DEPLOY.parent / gateway["build"]["dockerfile"]).exists()


def shutdown_seconds() -> float:
    return float(next(setting.default for setting in all_keys() if setting.key == "gateway.shutdown_seconds"))
