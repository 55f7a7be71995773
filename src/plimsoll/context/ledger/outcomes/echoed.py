"""The exit code that a command prints itself: `cargo test; echo "exit: $?"`.

cargo test; echo "exit: $?"                       the line `exit: 101` states it
pytest | tail; echo $?                            that of `tail`: it states nothing
pytest | tail; echo "rc=${PIPESTATUS[0]}"         that of `pytest`
make test && echo good || echo bad                the last line tells which
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from plimsoll.context.ledger.outcomes.commands import Command, Step

_ECHO = re.compile(r"echo +(?:-\w+ +)?(.*)", re.DOTALL)
_LAST = re.compile(r"\$\{?\?\}?")
_FIRST_OF_PIPE = re.compile(r"\$\{(?:PIPESTATUS\[0\]|pipestatus\[1\])\}")


def echoed_code(command: Command, lines: Sequence[str]) -> int | None:
    """The first code other than 0 that was printed for a step, or 0 if every step that matters has one."""
    works = [step for step in command.works if not step.is_lookup]
    codes: list[int] = []
    for step, after in pairwise(command.steps):
        if step in works and (pattern := _printed_by(after, step, command.pipefail)) is not None:
            found = [match for line in lines if (match := pattern.fullmatch(line.strip()))]
            codes += [int(found[-1][1])] if found else []
    codes += _by_branch(command, lines)
    failed = next((code for code in codes if code), None)
    return failed if failed is not None else 0 if codes and len(codes) == len(works) else None


def _by_branch(command: Command, lines: Sequence[str]) -> list[int]:
    """The code of the one step that decides which of two fixed texts is printed at the end."""
    steps = command.steps
    if not lines or len(steps) < 2 or steps[0].is_lookup or len(steps[0].stages) > 1 or steps[0].is_neutral:
        return []
    printed = {
        step.operator: found[1].strip("\"' ") for step in steps[1:] if (found := _ECHO.fullmatch(step.work))
    }
    if (
        len(printed) < len(steps) - 1
        or not printed.keys() <= {"&&", "||"}
        or "$" in "".join(printed.values())
    ):
        return []
    last = lines[-1].strip()
    return [int(operator == "||") for operator, text in printed.items() if text == last]


def _printed_by(echo: Step, before: Step, pipefail: bool) -> re.Pattern[str] | None:
    """The line that an `echo` prints for the exit code of the step before it; None if it prints none."""
    match = _ECHO.fullmatch(echo.work)
    if match is None or len(echo.stages) > 1 or echo.operator != ";":
        return None
    text = match[1].replace('"', "").replace("'", "").strip()
    parts = _FIRST_OF_PIPE.split(text)
    if len(parts) != 2:
        parts = _LAST.split(text) if len(before.stages) == 1 or pipefail else []
    if len(parts) != 2 or "$" in "".join(parts):
        return None
    return re.compile(rf"{re.escape(parts[0])}(\d{{1,3}}){re.escape(parts[1])}")
