"""Whether a command is read-only and may run without approval.

    git log --oneline -5 | head         None
    git -c alias.x='!rm -rf ~' x        ApprovalReason("runs `git -c`, …")
    npm test                            ApprovalReason("runs `npm test`, …", program="npm test")

Read-only commands are data (`read_only.toml`): programs, each with the options that keep it read-only. Everything
else is a reason to ask: another program, another option, a path outside the project or to credentials. Only a reason
that names a program can be allowed permanently.
"""

import re
import shutil
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from plimsoll.tools.terminal.git_settings import program_in_git_settings
from plimsoll.tools.terminal.paths import Paths
from plimsoll.tools.terminal.searched_files import searched_files
from plimsoll.tools.terminal.shell import ShellCommand

_URL = re.compile(r"(?:https?|ssh|git)://")


@dataclass(frozen=True, slots=True)
class ApprovalReason:
    """Why a user must be asked; `program` is what they can allow permanently, if anything."""

    reason: str
    program: str = ""


@dataclass(frozen=True, slots=True)
class _Program:
    """How one program may be called; `read_only.toml` explains the fields."""

    flags: str = ""
    texts: str = ""
    values: str = ""
    scripts: str = ""
    first: str = ""
    no_first: str = ""
    operands: str = ""
    needs: str = ""
    never: str = ""
    trees: str = ""
    selects: str = ""
    listing: str = ""
    folders: bool = False
    max_operands: int = 10_000
    long: bool = False
    is_text: bool = False
    is_free: bool = False
    names: bool = False
    like: Sequence[str] = ()


@dataclass(slots=True)
class _Call:
    """The arguments of one call, parsed with the known options."""

    program: _Program
    options: set[str] = field(default_factory=set)
    operands: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)  # of options that take paths
    scripts: list[str] = field(default_factory=list)  # of options that take the place of the first operand
    selected: list[str] = field(default_factory=list)  # the options that select files, with their values
    unknown: str = ""

    def has_any(self, options: str) -> bool:
        """Whether one of these options is given."""
        return not self.options.isdisjoint(options.split())

    @property
    def _has_first(self) -> bool:
        """Whether the first operand is text, such as a pattern, and not a path."""
        return bool(self.program.first) and not self.scripts and not self.has_any(self.program.no_first)

    @property
    def paths(self) -> list[str]:
        """The operands that are paths."""
        return self.operands[1:] if self._has_first else self.operands

    @property
    def has_known_form(self) -> bool:
        """Whether the program is known to be read-only with these operands and options."""
        program = self.program
        if not all(re.fullmatch(program.first, script) for script in self.scripts):
            return False
        if self._has_first and not (self.operands and re.fullmatch(program.first, self.operands[0])):
            return False
        if program.operands and not all(re.fullmatch(program.operands, word) for word in self.paths):
            return False
        return (not program.needs or self.has_any(program.needs)) and len(
            self.operands
        ) <= program.max_operands

    def read(self, arguments: Sequence[str]) -> None:
        """Sort the arguments into options and operands, up to the first unknown option."""
        rest, flags = list(arguments), self.program.flags.split()
        while rest and not self.unknown:
            word = rest.pop(0)
            if word == "--" and not self.program.long:
                self.operands += rest
                return
            if word in flags:
                self.options.add(word)
            elif word == "-" or not word.startswith("-"):
                self.operands.append(word)
            elif not (re.fullmatch(r"-\d+", word) and "-NUM" in flags):
                self._read_options(word, rest, flags)

    def _read_options(self, word: str, rest: list[str], flags: Collection[str]) -> None:
        """Parse the options in one word; the last one may take its value from the following words."""
        program = self.program
        valued = {*program.texts.split(), *program.values.split(), *program.scripts.split()}
        for option, value in [(word, None)] if program.long else _pieces(word, valued):
            self.options.add(option)
            if option not in valued:
                if option in flags and value is None:
                    continue
                self.unknown = word
                return
            if value is None and option not in flags:
                if not rest or (rest[0].startswith("-") and not program.long):
                    self.unknown = word
                    return
                value = rest.pop(0)
            if value is not None:
                self._keep_value(option, value)

    def _keep_value(self, option: str, value: str) -> None:
        program = self.program
        if option in program.values.split():
            self.values.append(value)
        if option in program.scripts.split():
            self.scripts.append(value)
        if option in program.selects.split():
            self.selected += [option, value]


def approval_reason(
    command: ShellCommand, words: Sequence[str], directory: Path, paths: Paths, environment: Mapping[str, str]
) -> ApprovalReason | None:
    """Why one simple command, expanded to these words, may not be read-only."""
    name, program, arguments, moved = _found(words)
    key = grantable(words)
    if program is None:
        return ApprovalReason(f"runs `{name}`, which is not known to be read-only", key)
    if _is_replaceable(words[0], paths, environment):
        return ApprovalReason(f"runs `{words[0]}`, a program that the project could replace", key)
    if program.is_free:
        return path_reason(words[1:], directory, paths, names=True) if _has_pattern(command) else None
    call = _Call(program)
    call.read(arguments)
    if call.unknown:
        return ApprovalReason(f"runs `{name}` with {call.unknown!r}, which is not known to be read-only", key)
    if not call.has_known_form or (program.never and re.search(program.never, " ".join(arguments))):
        return ApprovalReason(f"runs `{name}` in a way that is not known to be read-only", key)
    for folder in moved:
        if found := path_reason([folder], directory, paths, names=True):
            return found
        directory = directory / folder
    if not program.is_text or _has_pattern(command):
        named = [*call.paths, *call.values]
        if found := path_reason(named, directory, paths, names=program.names):
            return found
        if reason := paths.tree_problem(_trees(call, directory), directory):
            return ApprovalReason(reason)
    return _effect_of_files(words[0], call, directory, paths, environment)


def _trees(call: _Call, directory: Path) -> list[str]:
    """The directories whose files are read."""
    if call.has_any(call.program.trees):
        return call.paths or ["."]
    return [word for word in call.paths if (directory / word).is_dir()] if call.program.folders else []


def _effect_of_files(
    name: str, call: _Call, directory: Path, paths: Paths, environment: Mapping[str, str]
) -> ApprovalReason | None:
    """Why a read-only call needs approval in this project, because of files that its words do not name."""
    if call.program.selects and not call.has_any(call.program.listing):
        searched = searched_files([*call.selected, "--", *call.paths], directory, environment)
        if reason := paths.credential_among(searched):
            return ApprovalReason(reason)
    if name != "git":
        return None
    setting = program_in_git_settings(directory, environment, _lists()["git_settings"])
    reason = f"runs `git` where {setting} in the repository's settings names a program"
    return ApprovalReason(reason) if setting else None


def grant_obstacle(words: Sequence[str], directory: Path, paths: Paths) -> ApprovalReason | None:
    """Why an allowed program needs approval anyway: the paths in its words."""
    return path_reason([word for word in words[1:] if not _URL.match(word)], directory, paths, names=False)


def grantable(words: Sequence[str]) -> str:
    """What can be allowed permanently: `pytest`, `git commit`; empty for programs that run arbitrary code."""
    name, lists = words[0], _lists()
    if "/" in name or not re.fullmatch(r"[\w.+-]+", name) or _fits(name.lower(), lists["never"]):
        return ""
    if name not in lists["subcommands"]:
        return name
    following = words[1] if len(words) > 1 else ""
    if not re.fullmatch(r"\w[\w:-]*", following) or f"{name}:{following}" in lists["never_subcommands"]:
        return ""
    return f"{name} {following}"


def _found(words: Sequence[str]) -> tuple[str, _Program | None, Sequence[str], Sequence[str]]:
    """The entry for these words: its name, its rules, its arguments, and the directories it changes to first."""
    name, programs = words[0], _programs()
    if name in _lists()["version"] and list(words[1:]) == ["--version"]:
        return name, _Program(is_free=True), (), ()
    outer = programs.get(name)
    if not any(entry.startswith(f"{name} ") for entry in programs):
        return name, outer, words[1:], ()
    at, known = 1, outer or _Program()
    moved: list[str] = []
    while at < len(words) and words[at].startswith("-"):
        if words[at] in known.values.split():
            moved += words[at + 1 : at + 2]
            at += 2
        elif words[at] in known.flags.split():
            at += 1
        else:
            return f"{name} {words[at]}", None, (), ()
    if at >= len(words):
        return name, outer, words[1:], ()
    sub, at = f"{name} {words[at]}", at + 1
    if any(entry.startswith(f"{sub} ") for entry in programs) and at < len(words):
        sub, at = f"{sub} {words[at]}", at + 1  # git stash list
    return sub, programs.get(sub), words[at:], moved


def _pieces(word: str, valued: Collection[str]) -> Iterator[tuple[str, str | None]]:
    """The options in one word, each with its attached value: --color=auto, -rn, -A3."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        yield name, value if equals else None
        return
    for place, letter in enumerate(word[1:], start=2):
        yield f"-{letter}", (word[place:] or None) if f"-{letter}" in valued else None
        if f"-{letter}" in valued:
            return


def path_reason(words: Sequence[str], directory: Path, paths: Paths, *, names: bool) -> ApprovalReason | None:
    """Why reading these paths needs approval; `names`: only their names are shown."""
    for word in words:
        if reason := paths.problem(word, directory, names_only=names):
            return ApprovalReason(reason)
    return None


def _has_pattern(command: ShellCommand) -> bool:
    return any(word.pattern is not None or word.has_home for word in command.words)


def _is_replaceable(program: str, paths: Paths, environment: Mapping[str, str]) -> bool:
    """Whether the project could replace this program with its own."""
    searched = environment.get("PATH", "")
    if not all(folder.startswith("/") for folder in searched.split(":") if searched):
        return True
    found = shutil.which(program, path=searched)
    return found is not None and (paths.is_inside(Path(found).parent) or paths.is_inside(Path(found)))


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _joined(program: _Program, other: _Program) -> _Program:
    """An entry with another's options added, and its shape if it has none."""
    joined: dict[str, Any] = {
        name: f"{getattr(other, name)} {getattr(program, name)}".strip()
        for name in ("flags", "texts", "values", "trees", "selects")
    }
    for name in (
        "first",
        "no_first",
        "operands",
        "needs",
        "never",
        "listing",
        "folders",
        "long",
        "is_text",
        "names",
    ):
        joined[name] = getattr(program, name) or getattr(other, name)
    return replace(program, **joined, max_operands=min(program.max_operands, other.max_operands))


@cache
def _data() -> dict[str, dict[str, Any]]:
    return tomllib.loads(files("plimsoll.tools.terminal").joinpath("read_only.toml").read_text("utf-8"))


@cache
def _lists() -> Mapping[str, Sequence[str]]:
    return {name: tuple(str(words).split()) for name, words in _data()["lists"].items()}


@cache
def _programs() -> Mapping[str, _Program]:
    known = {name: _Program(**entry) for name, entry in _data()["programs"].items()}
    return {name: _with_inherited(program, known) for name, program in known.items()}


def _with_inherited(program: _Program, known: Mapping[str, _Program]) -> _Program:
    for other in program.like:
        program = _joined(program, _with_inherited(known[other], known))
    return program


def credential_patterns() -> tuple[Sequence[str], Sequence[str], Sequence[str], Sequence[str]]:
    """The name patterns of `Paths`, in its order."""
    lists = _lists()
    names = ("credentials", "not_credentials", "sometimes_credentials", "credential_folders")
    first, second, third, fourth = (lists[name] for name in names)
    return first, second, third, fourth
