"""Whether a later run of a check covers an earlier one, so that its failure is resolved once the check passes.

go test ./... 2>&1 | tail -5     covers     go test ./parser -run TestSlice
go test ./parser                 does not   go test ./...
npm run lint                     covers     npm run lint -- --fix | head
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from plimsoll.context.ledger.outcomes.commands import Command, parsed, program_of
from plimsoll.context.ledger.outcomes.reading import Outcome
from plimsoll.context.ledger.outcomes.rules import rules

_REDIRECTED = re.compile(r"\d?[<>]{1,2}&?\s*\S+")
_WORD = re.compile(r"\"[^\"]*\"|'[^']*'|\S+")
# Options that select what to run; a run with one of them covers only itself.
_CHOOSING = frozenset(
    {"-run", "-k", "-t", "-g", "--grep", "--filter", "--run", "-m", "--test", "--only", "-p", "--package"}
)
# Options that select a variant of the build or the tests; a run without them does not cover it.
_VARIANTS = frozenset({"-tags", "--tags", "--features", "--tag", "--config", "--profile"})
_EVERYTHING = frozenset({".", "./...", "./", "--all", "--workspace"})
# Programs whose subcommand determines what they do.
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
_QUIETLY = frozenset({"-s", "--silent", "-q", "--quiet"})
_NAME = 4  # letters that identify a test's name
_RUNNERS = frozenset({"run", "exec", "x", "run-script"})


@dataclass(frozen=True, slots=True)
class _Run:
    """One program of a command: its task, targets and selection."""

    name: tuple[str, ...]
    targets: frozenset[str]
    chosen: frozenset[str]
    variants: frozenset[str] = frozenset()

    def covers(self, other: "_Run") -> bool:
        if self.name != other.name or self.variants != other.variants:
            return False
        if not (self.chosen <= other.chosen or self._chooses(other)):
            return False
        if not self.targets - _EVERYTHING:
            return True
        return all(any(_holds(own, target) for own in self.targets) for target in other.targets or {""})

    def without(self, gone: Collection[str]) -> "_Run":
        """The run without files that no longer exist; unchanged if no other target is left."""
        if not gone:
            return self
        left = frozenset(
            target for target in self.targets if not any(_is_file(path, target) for path in gone)
        )
        return replace(self, targets=left or self.targets)

    @property
    def alternatives(self) -> list[str]:
        """The test names or prefixes that it selects."""
        values = (value.partition(" ")[2] for value in self.chosen)
        return [part.strip("^$") for value in values for part in value.split("|") if len(part) >= _NAME]

    def _chooses(self, other: "_Run") -> bool:
        """Whether it selects every test that the other one names."""
        own, named = self.alternatives, other.alternatives
        return bool(own and named) and all(any(part in name for part in own) for name in named)


def covers(later: str, earlier: str, gone: Collection[str] = ()) -> bool:
    """Whether the later command includes all that the earlier one worked on, except for files that are gone."""
    runs = _runs(later)
    return bool(runs) and all(
        any(run.covers(other.without(gone)) for run in runs) for other in _runs(earlier)
    )


def names_only(command: str, files: Collection[str]) -> bool:
    """Whether all targets of a command's runs are among these files, at least one of them."""
    targets = [target for run in _runs(command) for target in run.targets]
    return bool(targets) and all(any(_is_file(path, target) for path in files) for target in targets)


def overcomes(
    later: str, earlier: str, kind: str, failed: Collection[str], gone: Collection[str] = ()
) -> bool:
    """Whether a later command that passed shows that an earlier failure is resolved.

    `kind` is the failed check of the earlier command, if known: in a chain of checks, only that one has to pass.
    `failed` are the tests that it named: a run of just these is enough. Files that are `gone` need not run again.
    """
    runs, before = list(_runs(later)), [run.without(gone) for run in _runs(earlier)]
    other = [run for run in before if not kind or _kind_of(run) in ("", kind)] or before
    if not runs or not other:
        return False
    return all(_is_repeated(one, runs) for one in other) or _runs_tests(runs, failed)


def _is_repeated(one: _Run, runs: Sequence[_Run]) -> bool:
    return any(run.covers(one) or _is_whole_suite(run, one) for run in runs)


def _runs_tests(runs: Sequence[_Run], names: Collection[str]) -> bool:
    """Whether the runs select all of these tests by name."""
    chosen = [part for run in runs if _kind_of(run) == "test" for part in run.alternatives]
    return bool(names) and all(any(part in name for part in chosen) for name in names)


def _is_whole_suite(run: _Run, other: _Run) -> bool:
    """Whether a run is a project's task for all of its tests, and the other one a run of tests."""
    if _kind_of(other) != "test" or run.targets - _EVERYTHING or run.chosen:
        return False
    is_plain = run.name[0] in rules().task_runners and run.name[-1] in rules().plain_suites
    # A task for the plain tests does not run tests with a tag, or those of another task.
    is_plain = is_plain and not other.variants and other.name[0] not in rules().task_runners
    return is_plain or run.name[-1] in rules().whole_suites


@dataclass(frozen=True, slots=True)
class Check:
    """A test suite, build or lint that a command runs."""

    name: str
    kind: str  # test, build or lint


def check_of(command: str, outcome: Outcome) -> Check | None:
    """The last check of a command; None if it runs none."""
    found = [Check(" ".join(run.name), kind) for run in _runs(command) if (kind := _kind_of(run))]
    if not found and outcome.check and (runs := _runs(command)):
        return Check(" ".join(runs[-1].name), outcome.check)
    same = [one for one in found if one.kind == outcome.check]
    return (same or found)[-1] if found else None


def is_misused(outcome: Outcome) -> bool:
    """Whether a command could not be run as it was typed."""
    return rules().misused.found_in(outcome.line)


def is_lasting(command: str, outcome: Outcome) -> bool:
    """Whether a failure stays open until the check passes: a failure of the work, not a typing error."""
    if is_misused(outcome) or rules().elsewhere.found_in(command):
        return False
    runs = _runs(command)
    return outcome.check == "test" or any(_kind_of(run) or run.name[0] in rules().builders for run in runs)


def kinds_of(command: str) -> frozenset[str]:
    """What a command checks: test, lint, format or build."""
    return frozenset(filter(None, map(_kind_of, _runs(command))))


def _kind_of(run: _Run) -> str:
    words = set(re.findall(r"[a-z0-9]+", " ".join(run.name).lower()))
    return next((kind for kind, named in rules().kinds.items() if words & named), "")


def _is_file(path: str, target: str) -> bool:
    """Whether a target names this file, where one of the two paths may be relative."""
    return path == target or path.endswith(f"/{target}") or target.endswith(f"/{path}")


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
            while len(words) > 2 and words[1] in _QUIETLY:  # `pnpm -s test`
                del words[1]
            count = 3 if len(words) > 2 and words[1] in _RUNNERS else 2
        yield _run((program, *words[1:count]), words[count:])


def _run(name: tuple[str, ...], arguments: Sequence[str]) -> _Run:
    targets, chosen, variants = set[str](), set[str](), set[str]()
    rest = iter(arguments)
    for word in rest:
        option, _, value = word.partition("=")
        if option in _CHOOSING or option in _VARIANTS:
            told = f"{option} {value or next(rest, '')}".replace('"', "").replace("'", "")
            (chosen if option in _CHOOSING else variants).add(told)
        elif not word.startswith("-"):
            targets.add(word)
    return _Run(name, frozenset(targets), frozenset(chosen), frozenset(variants))
