"""Parses the programs of a shell command, and whether its exit code is that of the main program.

    cd app && go test ./... 2>&1 | tail -5      the main program is `go test`; `tail` hides its exit code
    rg TODO src || true                         only a lookup
    cargo build && cargo test                   exit code 0 means that both succeeded

This determines how commands ended. It does not decide what may run: tools/terminal does that.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

from plimsoll.context.ledger.outcomes.rules import rules
from plimsoll.context.ledger.outcomes.scripts import from_literal

COMMAND_KEYS = ("command", "cmd", "script", "shell_command")
_LONGEST = 4_000  # characters of a command to parse; the rest is usually file content
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=\S*\s+")
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
_SHELL = re.compile(r"(?:/\S+/)?(?:ba|z|da)?sh(?: +-[a-z]+)* +-[a-z]*c +(.*)", re.DOTALL)
# Code mode: a script calls the shell with `cmd: "…"` or `"cmd": "…"`.
_IN_SCRIPT = re.compile(r"""\bcmd["']?\s*:\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`)""")
_OPTIONS = re.compile(
    r"^(?:-[Cc] +\S+ +|--\S+ +|-[a-zA-Z] +(?=[a-z]))+"
)  # options between a program and its subcommand
_LOOP = re.compile(r"(?:^|[;&|\n]\s*)(?:for|while|until)\s.*?\bdo\b", re.DOTALL)
_ERREXIT = re.compile(r"set +(?:-\w+ +)*-\w*e")
_WORDS_OF_SUBCOMMANDS = 4  # a program and the words by which it finds what to do: `gcloud run services list`
_OPERATOR = re.compile(r"&&|\|\||\|&|[;|&\n]")


@dataclass(frozen=True, slots=True)
class Step:
    """One pipeline of a command and the operator before it."""

    operator: str  # the operator before it: "", "&&", "||", ";" or "&"
    stages: tuple[str, ...]  # the text of each program, without wrappers and assignments

    @property
    def work(self) -> str:
        """The program whose outcome counts: the first of the pipeline."""
        return self.stages[0]

    @property
    def is_neutral(self) -> bool:
        """Whether it only prepares something or prints a message."""
        return program_of(self.work) in rules().neutral

    @property
    def is_lookup(self) -> bool:
        """Whether it is read-only."""
        return is_lookup(self.work) and all(map(_is_filter, self.stages[1:]))


@dataclass(frozen=True, slots=True)
class Command:
    """A command as steps."""

    text: str
    steps: tuple[Step, ...]
    pipefail: bool = False

    @property
    def works(self) -> tuple[Step, ...]:
        """The steps that matter."""
        return tuple(step for step in self.steps if not step.is_neutral)

    @property
    def only_looks(self) -> bool:
        """Whether all steps are read-only."""
        return all(step.is_lookup for step in self.works)

    @property
    def hides_failure(self) -> bool:
        """Whether it can exit with 0 although a relevant step failed."""
        works = self._last_attempts
        if not works:
            return False
        if not self.pipefail and any(map(_is_filtered, works)):
            return True
        if any(parsed(inner).hides_failure for step in works if (inner := _inner_command(step.work))):
            return True
        return self._goes_on_after_failure(works)

    def _goes_on_after_failure(self, works: list[Step]) -> bool:
        operators = {"||", "&"} if self.errexit else {"||", "&", ";"}
        if _LOOP.search(self.text) and not self.errexit:
            return True
        first, last = self.steps.index(works[0]), self.steps.index(works[-1])
        between = [
            step for step in self.steps[first + 1 : last + 1] if step in works or step.operator != "||"
        ]
        return any(step.operator in operators for step in [*between, *self.steps[last + 1 :]])

    @property
    def says_little(self) -> bool:
        """Whether its exit code is 0 although what a program was asked to do failed."""
        return any(_code_says_little(step.work) for step in self.works if not step.is_lookup)

    def passes_with(self, code: int) -> bool:
        """Whether the last program uses this exit code for success."""
        return 0 < code <= rules().passing_codes.get(program_of(self.steps[-1].work) if self.steps else "", 0)

    @property
    def errexit(self) -> bool:
        """Whether it ends at the first step that fails."""
        return _ERREXIT.match(self.text) is not None

    @property
    def is_silent(self) -> bool:
        """Whether all its programs print nothing where they succeed."""
        return all(step.is_lookup or f"{step.work} ".startswith(rules().silent) for step in self.works)

    @property
    def _last_attempts(self) -> list[Step]:
        """The steps that matter, without those that are run again later."""
        works = [step for step in self.works if not step.is_lookup]
        return [step for n, step in enumerate(works) if step.work not in {one.work for one in works[n + 1 :]}]

    @property
    def runs_apart(self) -> bool:
        """Whether one program runs several times, each time on something else: `pytest tests/a; pytest tests/b`."""
        works = [step.work for step in self.works if not step.is_lookup]
        return any(
            program_of(one) == program_of(other) and not one.startswith(other)
            for one, other in combinations(works, 2)
        )

    @property
    def goes_on(self) -> bool:
        """Whether it leaves a process in the background."""
        return self.text.rstrip(" )").endswith("&")

    @property
    def looks_at_server(self) -> bool:
        """Whether it starts processes in the background and then only looks at something."""
        first = next(
            (number for number, step in enumerate(self.steps) if step.operator == "&"), len(self.steps)
        )
        return any(not step.is_neutral for step in self.steps[first:]) and all(
            step.is_neutral or step.is_lookup for step in self.steps[first:]
        )

    @property
    def hides_the_end(self) -> bool:
        """Whether the last lines of the main program may have been filtered out."""
        return any(program_of(stage) in rules().selective for step in self.works for stage in step.stages[1:])


def command_of(arguments: dict[str, Any]) -> str | None:
    """The shell command that a call runs; None if there is no known one."""
    for key in COMMAND_KEYS:
        value = arguments.get(key)
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return value[-1] if len(value) > 1 and value[-2].lstrip("-").endswith("c") else " ".join(value)
        if isinstance(value, str) and value.strip():
            return value.strip()
    script = arguments.get("input")
    if isinstance(script, str) and "exec_command" in script:
        found = [from_literal(text) for text in _IN_SCRIPT.findall(script)]
        return "\n".join(found) or None
    return None


@lru_cache(maxsize=512)
def parsed(text: str) -> Command:
    """The command as steps."""
    text = text.strip()[:_LONGEST]
    inner = _SHELL.fullmatch(text)
    if inner:
        text = inner[1].strip()
        if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
            text = text[1:-1]
    steps: list[Step] = []
    stages: list[str] = []
    operator = ""
    for piece, separator in _pieces(_without_heredocs(text)):
        bare = _bare(piece)
        if bare:
            stages.append(bare)
        if separator not in ("|", "|&"):
            if stages:
                steps.append(Step(operator, tuple(stages)))
                operator = ""
            stages = []
            # An operator at the end of a line continues on the next: `a &&\n b`.
            operator = (
                ";" if separator == "\n" and not operator else operator if separator == "\n" else separator
            )
    return Command(text, tuple(steps), "pipefail" in text)


def program_of(stage: str) -> str:
    """The name of the program."""
    word = stage.split(None, 1)[0] if stage else ""
    return word.rpartition("/")[2]


def is_lookup(stage: str) -> bool:
    """Whether a program with these arguments is read-only."""
    if not rules().judging.isdisjoint(stage.split()):
        return False
    program = program_of(stage)
    if program in rules().lookups or rules().looking_cmdlets.match(program) or _describes_itself(stage):
        return True
    if program in rules().looking_without:
        return rules().looking_without[program].search(stage) is None
    if program in rules().looking_unless:
        stage = stage.replace("-o /dev/null", "")
        return not any(_has_option(stage, one) for one in rules().looking_unless[program])
    known = rules().looking_subcommands.get(program)
    if known is not None:
        return _has_subcommand(stage, known)
    words = stage.split()[1:_WORDS_OF_SUBCOMMANDS]
    return program not in rules().task_runners and not rules().looking_words.isdisjoint(words)


def _is_filter(stage: str) -> bool:
    program = program_of(stage)
    return program in rules().filters or rules().looking_cmdlets.match(program) is not None


def _has_option(stage: str, option: str) -> bool:
    """Whether a program has an option: by itself, with `=`, or as a letter followed by its value."""
    words = stage.split()[1:]
    if option.startswith("--"):
        return any(word == option or word.startswith(f"{option}=") for word in words)
    return any(re.match(rf"-[a-zA-Z]*{option[1]}", word) for word in words)


def is_check(command: Command) -> bool:
    """Whether the name of a program or its task says that it tests, lints or builds."""
    words = {
        word
        for step in command.works
        if not step.is_lookup
        for word in re.findall(r"[a-z0-9]+", " ".join(step.work.split()[:3]).lower())
    }
    return any(words & named for named in rules().kinds.values()) or bool(words & rules().builders)


def is_routine(command: str) -> bool:
    """Whether all that a command does is to prepare the work: `git add`, `mkdir`."""
    steps = parsed(command).works
    return bool(steps) and all(
        step.is_lookup or f"{step.work} ".startswith(tuple(f"{one} " for one in rules().routine))
        for step in steps
    )


def _describes_itself(stage: str) -> bool:
    """Whether a program only prints its version or its help; `version` with an argument may set one."""
    _, *rest = stage.split(None, 2) if stage else [""]
    if not rest:
        return False
    return rest[0] in rules().describing or stage.endswith(" --help") or stage.split()[1:] == ["version"]


def is_lookup_tool(call: str) -> bool:
    """Whether a call, which starts with the tool name, is of a read-only tool."""
    whole = call.partition("(")[0]
    name = whole.rpartition(".")[2].rpartition("__")[2]
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)
    known = rules().lookup_tools
    if whole.lower() in known or name.lower() in known:
        return True
    return bool(words) and (words[0].lower() in known or words[-1].lower() in rules().lookup_endings)


def answers_by_code(stage: str) -> bool:
    """Whether a lookup reports "no" or "nothing found" by its exit code."""
    program = program_of(stage)
    return program in rules().lookups or _has_subcommand(
        stage, rules().answering_subcommands.get(program, ())
    )


def _has_subcommand(stage: str, known: tuple[str, ...]) -> bool:
    if not known:
        return False
    rest = _OPTIONS.sub("", re.sub(r"^\S+\s*", "", stage))
    return any(words == "*" or rest == words or rest.startswith(f"{words} ") for words in known)


def _code_says_little(stage: str) -> bool:
    program = program_of(stage)
    careful = rules().code_says_little.get(program)
    return rules().cmdlets.match(program) is not None if careful is None else not careful.search(stage)


def _inner_command(stage: str) -> str:
    """The command line that a program such as ssh gets as one argument; empty if there is none."""
    found = rules().remote_shells.search(stage)
    return found["inner"] if found else ""


def _is_filtered(step: Step) -> bool:
    return any(program_of(stage) in rules().filters for stage in step.stages[1:])


def _bare(piece: str) -> str:
    """A program without preceding assignments, wrappers, keywords and brackets."""
    bare = piece.strip().strip("()").strip()
    while True:
        before = bare
        found = _ASSIGNMENT.match(bare) or rules().wrapper_phrases.match(bare)
        if found:
            bare = bare[found.end() :].lstrip()
        word, _, rest = bare.partition(" ")
        if word in rules().wrappers and not (word == "command" and rest.startswith("-")):
            bare = rest.lstrip()
        if bare == before:
            return (
                ""
                if bare in ("done", "fi", "esac", "}", "then", "do", "else") or bare.startswith(("for ", "#"))
                else bare
            )


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """The text between operators, each with the operator after it; quotes and substitutions stay intact."""
    start = position = 0
    depth = 0
    while position < len(text):
        character = text[position]
        if character == "\\":
            position += 2
            continue
        if character in "'\"`":
            position = _after_quote(text, position)
            continue
        if text.startswith("$(", position):
            depth += 1
            position += 2
            continue
        if character == ")" and depth:
            depth -= 1
        elif not depth:
            found = _OPERATOR.match(text, position)
            # `2>&1` and `&>` are redirections.
            if found and not (
                character == "&"
                and (text[position - 1 : position] in ("<", ">") or text[position + 1 : position + 2] == ">")
            ):
                yield text[start:position], found[0]
                start = position = found.end()
                continue
        position += 1
    yield text[start:], ""


def _after_quote(text: str, position: int) -> int:
    quote = text[position]
    position += 1
    while position < len(text) and text[position] != quote:
        position += 2 if text[position] == "\\" and quote != "'" else 1
    return position + 1


def _without_heredocs(text: str) -> str:
    """The command without its here-documents."""
    while found := _HEREDOC.search(text):
        line_end = text.find("\n", found.end())
        end = (
            re.compile(rf"^\s*{found[2]}\s*$", re.MULTILINE).search(text, line_end) if line_end >= 0 else None
        )
        after = text[end.end() :] if end else ""
        rest = text[found.end() : line_end] if line_end >= 0 else text[found.end() :]
        text = text[: found.start()] + rest + after
    return text
