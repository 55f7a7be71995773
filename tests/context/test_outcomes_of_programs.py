"""How the programs that people use ended, also where a pipe, `|| true` or an `echo` hides the exit code."""

import json
import tomllib
from pathlib import Path

import pytest

from plimsoll.context.ledger import outcome_of

CASES = tomllib.loads(Path(__file__).with_name("runner_outputs.toml").read_text("utf-8"))["case"]


def ran(command):
    return {"function": {"name": "terminal", "arguments": json.dumps({"command": command})}}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["command"][:60])
def test_the_outcome_is_what_a_careful_reader_says(case):
    outcome = outcome_of(ran(case["command"]), case["output"])
    assert ("failed" if outcome.failed else outcome.status) == case["outcome"]


@pytest.mark.parametrize(
    ("command", "output", "status"),
    [
        ('cargo test; echo "exit: $?"', "exit: 101", "exit 101"),
        ("make lint; echo A $?; make test; echo B $?", "A 0\nB 2", "exit 2"),
        ("pytest -q | tail -2; echo rc=${PIPESTATUS[0]}", "...\nrc=4", "exit 4"),
        ("make deploy && echo good || echo bad", "copying\nbad", "exit 1"),
    ],
)
def test_an_exit_code_that_the_command_prints_counts(command, output, status):
    assert outcome_of(ran(command), output).status == status


def test_the_printed_exit_code_of_a_filter_does_not_count():
    output = "== 1 failed, 3 passed in 0.2s ==\n0"
    assert outcome_of(ran("pytest | tail -1; echo $?"), output).failed
