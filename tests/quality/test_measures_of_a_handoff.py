"""The measures of a hand-off judge by words alone, and share nothing with what they measure."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import plimsoll.context.ledger
import plimsoll.quality
from plimsoll.quality.handoff import content_words, says, says_in_a_line, section, taken_up

SUMMARY = """## Goal
- Ship the parser by Friday
## Progress
### Done
(none)
### In Progress
- Write the benchmark
## Next Steps
- Run `make lint` again
"""


def test_a_section_is_its_lines_without_bullets_and_placeholders() -> None:
    assert section(SUMMARY, "Goal") == ["Ship the parser by Friday"]
    assert section(SUMMARY, "Done") == []
    assert section(SUMMARY, "In Progress") == ["Write the benchmark"]


def test_half_of_the_content_words_count_as_stated() -> None:
    assert says("Ship the parser by Friday", "Please ship the parser, it is urgent")
    assert not says("Ship the parser by Friday", "Rename every column of the invoice table")


def test_a_source_without_content_words_counts_only_word_for_word() -> None:
    assert says("The user answered: 1", "1")
    assert not says("Ship the parser", "1")


def test_one_line_has_to_say_it_all() -> None:
    split = ["never rename", "the invoice column"]
    assert not says_in_a_line(split, "Never rename the invoice column")
    assert says_in_a_line(["Never rename the invoice column."], "Never rename the invoice column")


def test_scripts_without_spaces_count_by_pairs() -> None:
    assert content_words("登录接口") == {"登录", "录接", "接口"}
    assert says("目标：修复登录接口的超时", "登录接口的超时")


def test_a_next_step_is_recognised_by_its_name_or_by_most_of_its_words() -> None:
    call = {
        "id": "1",
        "type": "function",
        "function": {"name": "read", "arguments": '{"path": "src/app_core.py"}'},
    }
    behind = [{"role": "assistant", "content": "Let me run the integration tests.", "tool_calls": [call]}]
    assert taken_up("Fix src/app_core.py", behind)
    assert taken_up("run the integration tests", behind)
    assert not taken_up("Deploy to production", behind)
    assert not taken_up("Fix src/app_core.py", [{"role": "user", "content": "look at src/app_core.py"}])


def patterns(folder: Path) -> Iterator[str]:
    """Every regular expression in the Python files of a folder."""
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            if isinstance(node.func.value, ast.Name) and node.func.value.id == "re":
                yield from (
                    one.value
                    for one in node.args
                    if isinstance(one, ast.Constant) and isinstance(one.value, str)
                )


def alternatives(pattern: str) -> set[str]:
    """The alternatives of a pattern that are phrases, not single words."""
    return {part.strip("()?:") for part in pattern.split("|") if " " in part.strip("()?: ")}


@pytest.fixture
def folders() -> tuple[Path, Path]:
    """The measures, and what they measure."""
    found = [Path(str(module.__file__)).parent for module in (plimsoll.quality, plimsoll.context.ledger)]
    return found[0], found[1]


def test_no_measure_uses_a_pattern_of_the_ledger(folders: tuple[Path, Path]) -> None:
    ours, theirs = map(set, map(patterns, folders))
    assert ours
    assert theirs
    assert not ours & theirs
    phrases = [set().union(*map(alternatives, found)) for found in (ours, theirs)]
    assert not phrases[0] & phrases[1]


def test_no_measure_imports_what_it_measures(folders: tuple[Path, Path]) -> None:
    for path in folders[0].rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert not str(node.module).startswith("plimsoll.context"), path
