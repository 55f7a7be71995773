"""Agents that only have a shell print files instead of reading them, and name them relative to their folder."""

import json

import pytest

from plimsoll.context.ledger import SummaryRoom, read_facts, write_summary
from plimsoll.context.ledger.outcomes import printed_file

REQUEST = {"role": "user", "content": "Port the importer to the new schema."}


def step(number, name, arguments, result):
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{number}", "content": result},
    ]


def shell(number, command, result):
    return step(number, "exec_command", {"cmd": command}, result)


def whole_summary(messages):
    sections = write_summary(read_facts(messages), {}, SummaryRoom(2_000, 4_000)).sections
    return "\n".join(sections.values())


@pytest.mark.parametrize(
    "command",
    [
        "sed -n '1,80p' src/importer.py",
        "nl -ba src/importer.py | sed -n '5,9p'",
        "cat src/importer.py",
        "head -n 50 src/importer.py",
        "cd app && tail -20 src/importer.py",
    ],
)
def test_a_command_that_prints_a_file_reads_it(command):
    assert printed_file(command) == "src/importer.py"


@pytest.mark.parametrize(
    "command",
    [
        "cat src/importer.py src/schema.py",
        "sed -i 's/a/b/' src/importer.py",
        "cat > src/importer.py <<'EOF'\nx = 1\nEOF",
        "cat src/importer.py | grep parse_row",
        "cat src/importer.py && make test",
        "rg parse_row src/importer.py",
        "cat 'src/importer.py",
        "cat",
    ],
)
def test_a_command_that_does_anything_else_is_no_read_of_a_file(command):
    assert printed_file(command) is None


def test_ranges_of_a_file_that_a_shell_printed_are_reads_of_one_file():
    messages = [
        REQUEST,
        *shell(1, "sed -n '1,80p' src/importer.py", "def parse_row(line): the parser of one row\n"),
        *shell(2, "sed -n '80,160p' src/importer.py", "def write_table(rows): the writer of one table\n"),
    ]
    summary = whole_summary(messages)
    assert summary.count("`src/importer.py`") == 1
    assert "parse_row" in summary
    assert "write_table" in summary
    assert "sed -n" not in summary


def test_a_read_under_a_relative_path_belongs_to_the_file_that_was_changed():
    patch = "*** Begin Patch\n*** Update File: /work/app/src/importer.py\n@@\n-a = 1\n+a = 2\n*** End Patch"
    messages = [
        REQUEST,
        *shell(1, "cat src/importer.py", "def parse_row(line): the parser of one row\n"),
        *step(2, "apply_patch", {"input": patch}, "Done!"),
    ]
    summary = whole_summary(messages)
    assert "`/work/app/src/importer.py` — edited 1×, read 1×" in summary
    assert "`src/importer.py`" not in summary


def test_a_search_is_labelled_by_what_it_looked_for_and_not_by_its_success():
    found = "src/importer.py:12:def parse_row(line): the parser of one row\n"
    messages = [REQUEST, *step(1, "Grep", {"path": "/work/app", "pattern": "parse_row|write_table"}, found)]
    summary = whole_summary(messages)
    assert "Grep(pattern=parse_row|write_table)" in summary
    assert "Grep(pattern=parse_row|write_table) → ok" not in summary
