"""Why a command should be asked about before it is run.

    echo "rm -rf /"           None
    bash -c 'rm -rf /'        "deletes whole directories outside of the project"
    cd /tmp && rm -rf *       the same: the directory is followed

The rules are data (`dangers.toml`). Commands that run other commands are opened: sudo,
env, xargs, timeout, bash -c, eval, ssh, find -exec, a shell that is fed a text.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from plimsoll.tools.terminal.places import Places
from plimsoll.tools.terminal.shell import Command, Unreadable, commands_in

_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "fish"})
_SPEAKERS = frozenset({"echo", "printf", "cat"})
_UNKNOWN = "$()"  # a word that is known only when the command runs
# Programs that run the command behind their own options: how many words they take for themselves besides
# options, and which options have a value.
_WRAPPERS: Mapping[str, tuple[int, str]] = {
    "sudo": (0, "ugpCDRhrtTU"), "doas": (0, "uC"), "env": (0, "uCS"), "nohup": (0, ""), "nice": (0, "n"),
    "ionice": (0, "cn"), "time": (0, "fo"), "timeout": (1, "sk"), "setsid": (0, ""), "stdbuf": (0, "ioe"),
    "exec": (0, "a"), "command": (0, ""), "builtin": (0, ""), "xargs": (0, "IiLlnPsEad"),
    "ssh": (1, "bceEFIiJlmoOpQRSWw"),
    "watch": (0, "n"), "busybox": (0, ""), "strace": (0, "eop"), "chroot": (1, ""), "unshare": (0, ""),
    "parallel": (0, "jIn"),
}  # fmt: skip
_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class _Rule:
    reason: str
    commands: Sequence[str] = ("*",)
    words: Sequence[str] = ()
    flags: Sequence[str] = ()
    text: str = ""
    paths: str = ""
    last: bool = False
    writes: str = ""
    fed_by: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Seen:
    """A command as it would be run, and where."""

    command: Command
    words: Sequence[str]
    directory: Path | None

    @property
    def program(self) -> str:
        return self.words[0].rpartition("/")[2] if self.words else ""

    @property
    def arguments(self) -> Sequence[str]:
        return self.words[1:]

    @property
    def operands(self) -> list[str]:
        """The arguments that are no options."""
        found, only = [], False
        for word in self.arguments:
            if self.program == "find" and word.startswith("-"):
                break  # from here on it is an expression
            if word == "--" and not only:
                only = True
            elif only or not word.startswith("-") or word == "-":
                found.append(word)
        return found

    def has_flag(self, names: Sequence[str]) -> bool:
        for word in self.arguments:
            if word == "--":
                return False
            if word.startswith("--"):
                if word[2:].partition("=")[0] in names:
                    return True
            elif word.startswith("-") and any(name in word[1:] for name in names if len(name) == 1):
                return True
        return False


@dataclass(slots=True)
class _Walk:
    """The directory while the commands are read in order."""

    places: Places
    directory: Path | None
    depth: int = 0
    seen: list[_Seen] = field(default_factory=list)

    def script(self, text: str) -> None:
        if self.depth > _DEEPEST:
            raise Unreadable("too deeply nested")
        self.depth += 1
        for command in commands_in(text):
            self.one(command, command.words)
        self.depth -= 1

    def one(self, command: Command, words: Sequence[str]) -> None:
        seen = _Seen(command, words, self.directory)
        self.seen.append(seen)
        if seen.program in ("cd", "pushd"):
            target = seen.operands[0] if seen.operands else "~"
            self.directory = self.places.path_of(target, self.directory) if target != "-" else None
        for inner in _opened(seen):
            if isinstance(inner, str):
                self.script(inner)
            else:
                self.one(command, inner)


def danger_of(text: str, directory: Path, root: Path, home: str | None) -> str | None:
    """Why a person should be asked about this command; None where it looks harmless."""
    rules, shapes, places = _rules()
    squeezed = re.sub(r" ?([(){}|&;]) ?", r"\1", re.sub(r"\s+", " ", text))
    for shape in shapes:
        if re.search(shape.text, squeezed):
            return shape.reason
    here = Places(root, home, places["system"], places["device"], places["harmless"])
    walk = _Walk(here, directory)
    try:
        walk.script(text)
    except Unreadable:
        # The shell will most likely refuse it too; what was read until then still counts.
        walk.seen += [_Seen(Command(), words, None) for words in _rough(text)]
    for seen in walk.seen:
        for rule in rules:
            if _holds(rule, seen, here):
                return rule.reason
    return None


def _holds(rule: _Rule, seen: _Seen, places: Places) -> bool:
    if rule.writes:
        return any(places.leads(word, rule.writes, seen.directory) for word in seen.command.writes)
    if not any(fnmatchcase(seen.program, name) for name in rule.commands):
        return False
    if rule.flags and not seen.has_flag(rule.flags):
        return False
    if not all(any(re.fullmatch(w, given) for given in seen.arguments) for w in rule.words):
        return False
    if rule.text and not re.search(rule.text, "\n".join((*seen.words, _input(seen.command)))):
        return False
    if rule.paths:
        operands = seen.operands[-1:] if rule.last else seen.operands
        if not any(places.leads(word, rule.paths, seen.directory) for word in operands):
            return False
    return not rule.fed_by or _is_fed_by(seen, rule.fed_by)


def _is_fed_by(seen: _Seen, names: Sequence[str]) -> bool:
    """Whether the program that is run comes from one of these commands."""
    sources = list(seen.command.inner)
    # With a script or a module named, the input is data.
    names_one = seen.operands[:1] not in ([], ["-"]) and "-s" not in seen.arguments
    if not names_one and not any(word.startswith(("-c", "-m", "-e")) for word in seen.arguments):
        feeding = seen.command.fed_by
        while feeding is not None:
            sources.append(feeding)
            feeding = feeding.fed_by
    return any(source.words and source.words[0].rpartition("/")[2] in names for source in sources)


def _opened(seen: _Seen) -> Iterator[str | Sequence[str]]:
    """What a command would run in turn: texts for a shell, or the words of one command."""
    program, arguments = seen.program, list(seen.arguments)
    if program in _SHELLS:
        place = next((i for i, w in enumerate(arguments) if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", w)), None)
        if place is not None:
            yield from arguments[place + 1 : place + 2]
        elif not seen.operands or "-s" in arguments:
            yield _input(seen.command)
    elif program == "eval":
        yield " ".join(arguments)
    elif program == "find":
        yield from _executed(arguments)
    elif program in _WRAPPERS:
        own, valued = _WRAPPERS[program]
        rest = _behind_options(arguments, own, valued)
        if program == "xargs" and rest:
            rest = [*rest, _UNKNOWN]
        if program in ("ssh", "watch", "parallel") and rest:
            # They join their words and hand them to a shell. What is on another machine is outside.
            yield " ".join(rest)
        elif rest:
            yield rest


def _behind_options(words: Sequence[str], own: int, valued: str) -> list[str]:
    """The words behind options, their values, assignments, and the program's own operands."""
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if word.startswith("-") and len(word) > 1:
            has_its_value = word.startswith("--") or len(word) > 2 or word[1] not in valued
            at += 1 if has_its_value else 2
        elif re.match(r"[A-Za-z_]\w*=", word):
            at += 1
        else:
            break
    return list(words[at + own :])


def _executed(arguments: Sequence[str]) -> Iterator[Sequence[str]]:
    """The commands behind -exec and its kin, with the directory that is searched in place of {}."""
    starts = [word for word in arguments if not word.startswith(("-", "(", "!"))][:1]
    start = starts[0] if starts and arguments[0] == starts[0] else "."
    for place, word in enumerate(arguments):
        if word in ("-exec", "-execdir", "-ok", "-okdir"):
            inner = []
            for given in arguments[place + 1 :]:
                if given in (";", "+"):
                    break
                inner.append(given.replace("{}", f"{start}/found"))
            yield inner


def _input(command: Command) -> str:
    """What is known about the text that a command reads: here-documents, and what is said in front of its pipe."""
    feeding = command.fed_by
    if feeding is None or not feeding.words or feeding.words[0] not in _SPEAKERS:
        return command.stdin
    said = feeding.stdin if feeding.words[0] == "cat" else " ".join(feeding.words[1:])
    return f"{command.stdin}\n{said}"


def _rough(text: str) -> list[list[str]]:
    """Words of a text that cannot be read as a command, broken wherever a command could begin."""
    return [piece.replace('"', " ").replace("'", " ").split() for piece in re.split(r"[;&|\n()`]", text)]


@cache
def _rules() -> tuple[tuple[_Rule, ...], tuple[_Rule, ...], dict[str, Any]]:
    text = files("plimsoll.tools.terminal").joinpath("dangers.toml").read_text("utf-8")
    found = tomllib.loads(text)
    rules = tuple(_Rule(**entry) for entry in found["rule"])
    return rules, tuple(_Rule(**entry) for entry in found["shape"]), found["places"]
