"""What a summary model reports about checks is compared with their newest results."""

import json

import pytest

from message_builders import user
from plimsoll.context.ledger import read_facts, without_fixed_failures
from plimsoll.context.ledger.reported_checks import says_passed


def ran(number, command, result):
    function = {"name": "terminal", "arguments": json.dumps({"command": command})}
    call = {"id": f"c{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
    ]


FAILED = (
    "FAILED tests/test_parse.py::test_nested - AssertionError: depth of the tree\n1 failed, 8 passed in 0.2s"
)
EDIT = ran(2, "sed -i s/1/2/ src/parse.py", "")
FIXED = [
    user("Fix the parser."),
    *ran(1, "pytest -q", FAILED),
    *EDIT,
    *ran(3, "pytest -q", "9 passed in 0.2s"),
]


def blocked(line, messages):
    return without_fixed_failures({"Blocked": f"* {line}"}, read_facts(messages))["Blocked"]


@pytest.mark.parametrize(
    "line",
    [
        "`pytest -q` fails with 1 failed test",
        "FAILED tests/test_parse.py::test_nested - AssertionError: depth of the tree",
        "pytest schlägt noch fehl",
        "pytest 测试失败",
    ],
)
def test_a_failure_that_was_fixed_is_removed_from_blocked_and_an_open_one_stays(line):
    assert blocked(line, FIXED) == ""
    assert blocked(line, FIXED[:-2]) == f"* {line}"


@pytest.mark.parametrize(
    "line", ["Waiting for access to the staging server", "No credentials for pytest on CI"]
)
def test_what_no_check_can_show_stays_under_blocked(line):
    assert blocked(line, FIXED) == f"* {line}"


@pytest.mark.parametrize(
    "text",
    [
        "* All tests pass.",
        "* Build is green",
        "* Alle Tests sind grün",
        "* Todas las pruebas pasan",
        "* Todos os testes passaram",
        "* 所有测试都通过了",
        "* テストはすべて通りました",
        "* The tests pass without errors",
    ],
)
def test_a_claim_of_success_is_recognised_in_many_languages(text):
    assert says_passed(text)


@pytest.mark.parametrize(
    "text",
    ["* The tests do not pass", "* 测试未通过", "* Passed the path to the parser", "* Tests fail: 3 errors"],
)
def test_a_failure_or_another_sense_of_the_word_is_no_claim_of_success(text):
    assert not says_passed(text)
