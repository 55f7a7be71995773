"""The rules of rules.toml, compiled once."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


class LinePatterns:
    """Several patterns over one line. Those that start with `^` are tried once, not at every character."""

    def __init__(self, patterns: Iterable[str]) -> None:
        split: dict[bool, list[str]] = {True: [], False: []}
        for pattern in dict.fromkeys(patterns):
            split[pattern.startswith("^") and "|^" not in pattern].append(pattern)
        self._at_start, self._anywhere = map(_joined, (split[True], split[False]))

    def found_in(self, line: str) -> bool:
        """Whether any of them is found."""
        if self._at_start is not None and self._at_start.match(line):
            return True
        return self._anywhere is not None and self._anywhere.search(line) is not None


@dataclass(frozen=True, slots=True)
class Closing:
    """How one family of programs reports that it passed or failed."""

    name: str
    kind: str  # test, build or lint
    program: re.Pattern[str] | None
    failed: LinePatterns
    passed: LinePatterns
    several: bool  # one result per part: a failed part fails the whole


@dataclass(frozen=True, slots=True)
class Answers:
    """Fields of JSON objects that report how a request ended, and their values."""

    errors: frozenset[str]
    successes: frozenset[str]
    exit_codes: frozenset[str]
    states: frozenset[str]
    failed: frozenset[str]
    passed: frozenset[str]
    created: frozenset[str]


@dataclass(frozen=True, slots=True)
class Rules:
    """The contents of rules.toml."""

    neutral: frozenset[str]
    filters: frozenset[str]
    selective: frozenset[str]
    lookups: frozenset[str]
    printers: frozenset[str]
    looking_subcommands: dict[str, tuple[str, ...]]
    answering_subcommands: dict[str, tuple[str, ...]]
    judging: frozenset[str]
    looking_unless: dict[str, tuple[str, ...]]
    looking_without: dict[str, re.Pattern[str]]
    describing: frozenset[str]
    routine: tuple[str, ...]
    silent: tuple[str, ...]
    code_says_little: dict[str, re.Pattern[str]]
    cmdlets: re.Pattern[str]
    looking_cmdlets: re.Pattern[str]
    remote_shells: re.Pattern[str]
    looking_words: frozenset[str]
    passing_codes: dict[str, int]
    could_not_look: LinePatterns
    query_failed: LinePatterns
    empty_handed: frozenset[int]
    wrappers: frozenset[str]
    wrapper_phrases: re.Pattern[str]
    closings: tuple[Closing, ...]
    failure: LinePatterns
    failure_shape: LinePatterns
    failure_header: LinePatterns
    failure_of_check: LinePatterns
    success: LinePatterns
    success_within: int
    answers: Answers
    failure_within: int
    tool_failed: LinePatterns
    tool_stopped: LinePatterns
    tool_cancelled: LinePatterns
    lookup_tools: frozenset[str]
    lookup_endings: frozenset[str]
    whole_suites: frozenset[str]
    plain_suites: frozenset[str]
    task_runners: frozenset[str]
    builders: frozenset[str]
    misused: LinePatterns
    elsewhere: LinePatterns
    kinds: dict[str, frozenset[str]]  # words in the names of programs that test, lint or build
    states_failure: frozenset[str]
    notes: LinePatterns
    placeholders: frozenset[str]
    code_keys: frozenset[str]
    telling: LinePatterns  # finds every line that any closing rule could find


def _joined(patterns: list[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns)) if patterns else None


def _subcommands(raw: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return {program: tuple(words) for program, words in raw.items()}


def _closing(raw: dict[str, Any]) -> Closing:
    program = raw.get("program")
    return Closing(
        name=raw["name"],
        kind=raw["kind"],
        program=re.compile(program) if program else None,
        failed=LinePatterns(raw.get("failed", [])),
        passed=LinePatterns(raw.get("passed", [])),
        several=raw.get("several", False),
    )


@cache
def rules() -> Rules:
    """The rules; read on first use."""
    raw = tomllib.loads(files(__package__).joinpath("rules.toml").read_text("utf-8"))
    commands, failures, tools = raw["commands"], raw["failures"], raw["tools"]
    return Rules(
        neutral=frozenset(commands["neutral"]),
        filters=frozenset(commands["filters"]),
        selective=frozenset(commands["selective"]),
        lookups=frozenset(commands["lookups"]),
        printers=frozenset(commands["printers"]),
        looking_subcommands=_subcommands(commands["looking_subcommands"]),
        answering_subcommands=_subcommands(commands["answering_subcommands"]),
        judging=frozenset(commands["judging"]),
        looking_unless=_subcommands(commands["looking_unless"]),
        looking_without={name: re.compile(one) for name, one in commands["looking_without"].items()},
        describing=frozenset(commands["describing"]),
        routine=tuple(commands["routine"]),
        silent=tuple(f"{one} " for one in commands["silent"]),
        code_says_little={name: re.compile(one) for name, one in commands["code_says_little"].items()},
        cmdlets=re.compile(commands["cmdlets"]),
        looking_cmdlets=re.compile(commands["looking_cmdlets"]),
        remote_shells=re.compile(commands["remote_shells"], re.DOTALL),
        could_not_look=LinePatterns(commands["could_not_look"]),
        looking_words=frozenset(commands["looking_words"]),
        passing_codes=commands["passing_codes"],
        query_failed=LinePatterns(commands["query_failed"]),
        empty_handed=frozenset(commands["empty_handed"]),
        wrappers=frozenset(commands["wrappers"]),
        wrapper_phrases=re.compile(f"(?:{'|'.join(commands['wrapper_phrases'])}) +"),
        closings=tuple(map(_closing, raw["closing"])),
        failure=LinePatterns(failures["lines"]),
        failure_shape=LinePatterns(failures["shapes"]),
        failure_header=LinePatterns(failures["headers"]),
        failure_of_check=LinePatterns(failures["of_checks"]),
        success=LinePatterns(failures["successes"]),
        success_within=failures["success_within"],
        answers=Answers(**{name: frozenset(words) for name, words in raw["answers"].items()}),
        failure_within=failures["within"],
        tool_failed=LinePatterns(tools["failed"]),
        tool_stopped=LinePatterns(tools["stopped"]),
        tool_cancelled=LinePatterns(tools["cancelled"]),
        lookup_tools=frozenset(tools["lookups"]),
        lookup_endings=frozenset(tools["lookup_endings"]),
        whole_suites=frozenset(raw["suites"]["whole"]),
        plain_suites=frozenset(raw["suites"]["plain"]),
        task_runners=frozenset(raw["suites"]["task_runners"]),
        builders=frozenset(raw["lasting"]["builders"]),
        misused=LinePatterns(raw["lasting"]["misused"]),
        elsewhere=LinePatterns(raw["lasting"]["elsewhere"]),
        kinds={kind: frozenset(words) for kind, words in raw["kinds"].items()},
        states_failure=frozenset(raw["harness"]["states_failure"]),
        notes=LinePatterns(raw["harness"]["notes"]),
        placeholders=frozenset(raw["harness"]["placeholders"]),
        code_keys=frozenset(raw["harness"]["code_keys"]),
        telling=LinePatterns(
            [line for rule in raw["closing"] for key in ("failed", "passed") for line in rule.get(key, [])]
        ),
    )
