"""Whether a later run of a check covers an earlier one, so that a failure is over once the check has passed.

go test ./... 2>&1 | tail -5     covers     go test ./parser -run TestSlice
go test ./parser                 does not   go test ./...
npm run lint                     covers     npm run lint -- --fix | head
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from plimsoll.context.ledger.outcomes.commands import Command, parsed, program_of

_REDIRECTED = re.compile(r"\d?[<>]{1,2}&?\s*\S+")
_WORD = re.compile(r"\"[^\"]*\"|'[^']*'|\S+")
# Options that choose what is run; with one of them, a run stands only for itself.
_CHOOSING = frozenset(
    {"-run", "-k", "-t", "-g", "--grep", "--filter", "--run", "-m", "--test", "--only", "-p", "--package"}
)
_EVERYTHING = frozenset({".", "./...", "./", "--all", "--workspace"})
# Programs whose first word says what they do.
_WITH_SUBCOMMAND = frozenset(
    {
        "go",
        "cargo",
        "npm",
        "pnpm",
        "yarn",
        "bun",
        "mise",
        "make",
        "just",
        "task",
        "dotnet",
        "gradle",
        "mvn",
        "git",
        "uv",
        "deno",
    }
)
_RUNNERS = frozenset({"run", "exec", "x", "run-script"})


@dataclass(frozen=True, slots=True)
class _Run:
    """One program of a command: what it does, on what, and by which choice."""

    name: tuple[str, ...]
    targets: frozenset[str]
    chosen: frozenset[str]

    def covers(self, other: "_Run") -> bool:
        if self.name != other.name or not self.chosen <= other.chosen:
            return False
        if not self.targets - _EVERYTHING:
            return True
        return all(any(_holds(own, target) for own in self.targets) for target in other.targets or {""})


def covers(later: str, earlier: str) -> bool:
    """Whether everything that the earlier command worked on is part of the later one."""
    runs = _runs(later)
    return bool(runs) and all(any(run.covers(other) for run in runs) for other in _runs(earlier))


def _holds(own: str, target: str) -> bool:
    folder = own.removesuffix("...").rstrip("/")
    return own == target or (own.endswith("...") and target.startswith(folder))


@lru_cache(maxsize=2_048)
def _runs(command: str) -> tuple[_Run, ...]:
    return tuple(_read(parsed(command)))


def _read(command: Command) -> Iterator[_Run]:
    for step in command.works:
        if step.is_lookup:
            continue
        words = _WORD.findall(_REDIRECTED.sub(" ", step.work))
        if not words:
            continue
        program = program_of(words[0])
        count = 1
        if program in _WITH_SUBCOMMAND:
            count = 3 if len(words) > 2 and words[1] in _RUNNERS else 2
        targets, chosen = set(), set()
        rest = iter(words[count:])
        for word in rest:
            option, _, value = word.partition("=")
            if option in _CHOOSING:
                chosen.add(f"{option} {value or next(rest, '')}".replace('"', "").replace("'", ""))
            elif not word.startswith("-"):
                targets.add(word)
        yield _Run((program, *words[1:count]), frozenset(targets), frozenset(chosen))
