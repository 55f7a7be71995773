"""How a call ended: by its exit code if it counts, else by the output of known programs, else unknown.

exit code of the program     ok · exit N
hidden or not stated         closing lines of test runners, builders, linters; lines that report a failure
lookups                      never a failure: finding nothing is an answer
unknown                      ran
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from plimsoll.context.ledger.outcome import last_line, one_line
from plimsoll.context.ledger.outcomes.answers import reports_success
from plimsoll.context.ledger.outcomes.commands import (
    Command,
    answers_by_code,
    command_of,
    is_check,
    is_lookup_tool,
    parsed,
    program_of,
)
from plimsoll.context.ledger.outcomes.echoed import echoed_code
from plimsoll.context.ledger.outcomes.rules import Closing, LinePatterns, rules
from plimsoll.context.ledger.outcomes.wrapping import Wrapped, process_asked, unwrapped
from plimsoll.messages import arguments_of, call_name

_START = 400  # leading characters that may report a tool's failure
_FIRST, _LAST = 400, 1_500  # lines of a long output that may contain its results
_HEAD_LINES = re.compile(r"\bhead(?: +-n)? *-?(\d+)|\bhead\b")
_LONGEST_LINE = 200


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended: ok, exit N, error, interrupted, running, or ran if unknown."""

    status: str
    line: str = ""
    check: str = ""  # test, build or lint, if the line is its closing line
    process: str | None = None  # the id of a process that is still running

    @property
    def is_cancelled(self) -> bool:
        """Whether a harness stopped the call for the sake of another one, so that it says nothing about the work."""
        return self.status == "interrupted" and rules().tool_cancelled.found_in(self.line)

    @property
    def failed(self) -> bool:
        """Whether it is known to have failed."""
        return self.status not in ("ok", "ran", "running")


@dataclass(frozen=True, slots=True)
class _Found:
    """The result that a program's closing lines state."""

    passed: bool
    line: str
    kind: str


def outcome_of(call: dict[str, Any], result: str) -> Outcome:
    """How a call ended, by its arguments and its result."""
    wrapped = unwrapped(result)
    start = wrapped.text[:_START].lstrip()
    if _is_stopped(start) or _is_stopped(result):
        return Outcome("interrupted", _line(start))
    arguments = arguments_of(call)
    command = command_of(arguments)
    if wrapped.running is not None:
        return Outcome("running", last_line(wrapped.text), process=wrapped.running)
    if command is None:
        return _of_tool(call, wrapped, runs_code=process_asked(arguments) is not None or _is_code(arguments))
    code = wrapped.exit_code
    if code is None and wrapped.is_error:
        code = 1
    if code is None and call_name(call) in rules().states_failure:
        code = 0
    steps = parsed(command)
    return _of_command(steps, _without_notes(wrapped.text), 0 if code and steps.passes_with(code) else code)


def _line(text: str) -> str:
    return one_line(text, _LONGEST_LINE)


def _without_notes(text: str) -> str:
    """An output without the last line if a harness added it."""
    body, _, last = text.rstrip().rpartition("\n")
    return body if rules().notes.found_in(last) else text


def _is_stopped(text: str) -> bool:
    first = text[:_START].lstrip().removeprefix("[error]").lstrip()
    return rules().tool_stopped.found_in(first.split("\n", 1)[0])


def _is_code(arguments: dict[str, Any]) -> bool:
    return any(isinstance(arguments.get(key), str) for key in rules().code_keys)


def _of_tool(call: dict[str, Any], wrapped: Wrapped, runs_code: bool) -> Outcome:
    """The outcome of a tool other than a command: only the beginning of its result counts; the rest is content.

    The output of code, and of a process with an unknown command, is checked for failure like a command's.
    """
    stated = wrapped.exit_code if wrapped.has_header else None
    first = wrapped.text[:_START].lstrip().split("\n", 1)[0]
    if wrapped.is_error or stated or (stated is None and rules().tool_failed.found_in(first)):
        return Outcome("error", _line(wrapped.text[:_START]))
    if runs_code and stated is None and (failure := _failure_line(_relevant_lines(wrapped.text))):
        return Outcome("error", failure)
    if stated is None and not is_lookup_tool(call_name(call)):
        if rules().failure.found_in(first) or rules().failure_shape.found_in(first):
            return Outcome("error", _line(first))
        if reports_success(wrapped.text) is False:
            return Outcome("error", last_line(wrapped.text))
    return Outcome("ok", last_line(wrapped.text))


def _of_command(command: Command, text: str, code: int | None) -> Outcome:
    lines = _relevant_lines(text)
    if command.only_looks:
        return _of_lookup(command, text, lines, code)
    found = _closing(command, lines)
    echoed = echoed_code(command, lines)
    if echoed is not None:
        told = found.line if found and found.passed == (echoed == 0) else ""
        status = f"exit {echoed}" if echoed else "ok"
        return Outcome(status, told or _failure_line(lines) or last_line(text), found.kind if found else "")
    by_code = None if code is None else _by_code(command, text, lines, code, found)
    return by_code or _by_output(command, text, lines, found)


def _by_output(command: Command, text: str, lines: Sequence[str], found: _Found | None) -> Outcome:
    """The outcome by what the programs printed. Words that no rule knows decide nothing."""
    if found:
        return Outcome("ok" if found.passed else "error", found.line, found.kind)
    answer = reports_success(text)
    failure = _failure_line(lines) or _failure_shape(command, lines)
    if answer is False or failure:
        return Outcome("error", failure or last_line(text))
    is_open = command.goes_on or _is_cut(command, lines)
    passed = _shows_success(command, lines, answer) if lines else command.is_silent or is_check(command)
    return Outcome("ok" if passed and not is_open else "ran", last_line(text))


def _failure_shape(command: Command, lines: Sequence[str]) -> str:
    """The last line near the end in a shape of failure, unless a lookup printed it."""
    shown = "" if _ends_looking(command) else _line_near_end(lines, rules().failure_shape)
    return shown or (_line_near_end(lines, rules().failure_of_check) if is_check(command) else "")


def _shows_success(command: Command, lines: Sequence[str], answer: bool | None) -> bool:
    """Whether the output reports success. What a lookup printed last proves nothing."""
    if _ends_looking(command):
        return command.looks_at_server
    return answer is True or command.looks_at_server or _states_success(command, lines)


def _states_success(command: Command, lines: Sequence[str]) -> bool:
    """Whether one of the last lines reports success; lines that the command itself echoes prove nothing."""
    near = lines[-rules().success_within :]
    return any(rules().success.found_in(line) and line.strip() not in command.text for line in near)


def _by_code(
    command: Command, text: str, lines: Sequence[str], code: int, found: _Found | None
) -> Outcome | None:
    """The outcome by exit code; None if it is not that of the main program."""
    kind = found.kind if found else ""
    told = found.line if found and found.passed == (code == 0) else ""
    if code and (not _ends_looking(command) or code not in rules().empty_handed):
        return Outcome(f"exit {code}", told or _failure_line(lines) or last_line(text), kind)
    if code == 0 and not (command.hides_failure or command.goes_on or command.says_little):
        return Outcome("ok", told or last_line(text), kind)
    return None


def _of_lookup(command: Command, text: str, lines: Sequence[str], code: int | None) -> Outcome:
    answers = code in rules().empty_handed and all(
        answers_by_code(step.work) or len(step.stages) > 1 for step in command.works
    )
    if code is None and any(map(rules().query_failed.found_in, lines[:3])):
        return Outcome("error", _failure_line(lines) or last_line(text))
    if code and (not answers or any(map(rules().could_not_look.found_in, lines[:3]))):
        return Outcome(f"exit {code}", _failure_line(lines) or last_line(text))
    return Outcome("ok", last_line(text))


def _ends_looking(command: Command) -> bool:
    """Whether the exit code may be that of a search that found nothing."""
    last = command.steps[-1]
    return last.is_lookup or (len(last.stages) > 1 and program_of(last.stages[-1]) in rules().lookups)


def _is_cut(command: Command, lines: Sequence[str]) -> bool:
    """Whether the relevant lines may have been filtered out of the output."""
    if not command.hides_the_end:
        return False
    limits = [int(found[1] or 10) for found in _HEAD_LINES.finditer(command.text)]
    filters = {program_of(stage) for step in command.works for stage in step.stages[1:]} & rules().selective
    return filters != {"head"} or len(lines) >= min(limits, default=10)


def _relevant_lines(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.split("\n")]
    lines = [line for line in lines if line and line not in rules().placeholders]
    return lines if len(lines) <= _FIRST + _LAST else lines[:_FIRST] + lines[-_LAST:]


def _closing(command: Command, lines: Sequence[str]) -> _Found | None:
    """The result by the programs' closing lines; one failure makes the whole fail."""
    telling = [line for line in lines if rules().telling.found_in(line)]
    if not telling:
        return None
    verdicts = list(_verdicts(command, telling))
    failed = [verdict for verdict in verdicts if not verdict.passed]
    tests = [verdict for verdict in failed or verdicts if verdict.kind == "test"]
    return next(iter(tests or failed or verdicts), None)


def _verdicts(command: Command, telling: Sequence[str]) -> Iterator[_Found]:
    """What each rule that applies to the command's programs finds."""
    for rule in rules().closings:
        if rule.program is None or rule.program.search(command.text):
            verdict = _verdict(rule, telling, rule.several or command.runs_apart)
            if verdict is not None:
                yield verdict


def _verdict(rule: Closing, lines: Sequence[str], several: bool) -> _Found | None:
    failed = [index for index, line in enumerate(lines) if rule.failed.found_in(line)]
    passed = [index for index, line in enumerate(lines) if rule.passed.found_in(line)]
    if failed and (several or not passed or failed[-1] > passed[-1]):
        # A single FAIL does not help a later reader.
        telling = next(
            (lines[index] for index in reversed(failed) if " " in lines[index].strip()), lines[failed[-1]]
        )
        return _Found(False, _line(telling), rule.kind)
    return _Found(True, _line(lines[passed[-1]]), rule.kind) if passed else None


def _failure_line(lines: Sequence[str]) -> str:
    """The last line near the end of the output that reports a failure."""
    return _line_near_end(lines, rules().failure)


def _line_near_end(lines: Sequence[str], patterns: LinePatterns) -> str:
    """The last line near the end that has one of the patterns, if possible one that says what failed."""
    near = lines[-rules().failure_within :]
    found = [line for line in reversed(near) if patterns.found_in(line)]
    telling = (line for line in found if not rules().failure_header.found_in(line))
    return _line(next(telling, found[0])) if found else ""
