"""A command line taken apart, far enough to see what would be run.

    A=1 sudo rm -rf "$d" > log | tee x        Command(words=("sudo", "rm", "-rf", "$d"), writes=("log",))
                                              Command(words=("tee", "x"), fed_by=that one)

Quotes, escapes, comments, here-documents, subshells and substitutions are understood;
variables stay as they are written. What the shell itself could not read is `Unreadable`.
This is for asking a person, not for running: where it is in doubt it shows more commands
than there are.
"""

import re
from dataclasses import dataclass, field

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_BEFORE_A_COMMAND = frozenset(
    {
        "if",
        "then",
        "else",
        "elif",
        "while",
        "until",
        "do",
        "!",
        "{",
        "}",
        "time",
        "fi",
        "done",
        "esac",
        "coproc",
    }
)
_NO_COMMAND = frozenset({"for", "select", "case", "function"})
_ENDS_A_WORD = frozenset(" \t\n;&|<>()")
_ESCAPE = re.compile(r"\\([0-7]{1,3}|x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|.)", re.DOTALL)
_ONE_LETTER = {"a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_SPECIAL = re.compile(r"[\\$`\"]")  # inside double quotes
_DEEPEST = 40


class Unreadable(ValueError):
    """The text ends inside a quote or a bracket, or nests beyond reason."""


@dataclass(slots=True)
class Command:
    """One simple command. Filled while reading, then left alone."""

    words: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)  # files that its output goes to
    stdin: str = ""  # text that is known to be its input
    fed_by: "Command | None" = None  # the command in front of the pipe
    inner: list["Command"] = field(default_factory=list)  # in its substitutions


@dataclass(slots=True)
class _Heredoc:
    command: Command
    delimiter: str
    is_literal: bool
    strips_tabs: bool


def commands_in(text: str) -> list[Command]:
    """Every simple command, in the order in which it is written; those in substitutions too."""
    reader = _Reader(text)
    reader.script(closing="")
    return reader.found


class _Reader:
    def __init__(self, text: str, depth: int = 0) -> None:
        if depth > _DEEPEST:
            raise Unreadable("too deeply nested")
        self.text, self.at, self.depth, self.closing = text, 0, depth, ""
        self.found: list[Command] = []
        self.heredocs: list[_Heredoc] = []

    def peek(self, length: int = 1) -> str:
        return self.text[self.at : self.at + length]

    def script(self, closing: str) -> None:
        """Read commands up to the closing bracket, or to the end."""
        self.closing = closing
        current: Command = Command()
        feeding: Command | None = None
        while self.at < len(self.text):
            character = self.peek()
            if closing and character == closing:
                self.at += 1
                self._finish(current, feeding)
                return
            if character in " \t":
                self.at += 1
            elif self.peek(2) == "\\\n":
                self.at += 2
            elif character == "#":
                self._skip_comment()
            elif character in "<>" or self.peek(2) == "&>":
                self._redirection(current)
            elif character in "\n;&|()":
                current, feeding = self._operator(current, feeding)
            else:
                current.words.append(self._word(current))
        if closing:
            raise Unreadable(f"no {closing} at the end")
        self._finish(current, feeding)

    def _operator(self, current: Command, feeding: Command | None) -> tuple[Command, Command | None]:
        """Take one operator; the next command, and the one that feeds it."""
        character = self.peek()
        two = self.peek(2)
        self.at += 2 if two in ("&&", "||", ";;", "|&") else 1
        if character == "(" and not current.words:
            self._nested(")")
            group = self.found[-1] if self.found else None
            self._skip_blanks()
            if self.peek() == "|" and self.peek(2) != "||":
                self.at += 2 if self.peek(2) == "|&" else 1
                return Command(), group
            return Command(), None
        finished = self._finish(current, feeding)
        if character == "\n":
            self._read_heredocs()
        is_pipe = two == "|&" or (character == "|" and two != "||")
        return Command(), finished if is_pipe else None

    def _finish(self, command: Command, feeding: Command | None) -> Command | None:
        """Put a command on the list once words that are no command are gone."""
        words = command.words
        closes_a_group = bool(words) and words[0] in ("}", "done", "fi", "esac")
        while words and (words[0] in _BEFORE_A_COMMAND or _ASSIGNMENT.match(words[0])):
            del words[0]
        if words and words[0] in _NO_COMMAND:
            words.clear()
        command.fed_by = feeding
        if words or command.writes or command.inner:
            self.found.append(command)
            return command
        return self.found[-1] if closes_a_group and self.found else feeding

    def _word(self, command: Command) -> str:
        """One word with its quotes removed."""
        pieces: list[str] = []
        while self.at < len(self.text) and self.peek() not in _ENDS_A_WORD:
            character = self.peek()
            if character == self.closing == "`":
                break
            if character == "'":
                pieces.append(self._single_quoted())
            elif character == '"':
                self.at += 1
                pieces.append(self._double_quoted(command))
            elif self.peek(2) == "$'":
                self.at += 1
                pieces.append(_decoded(self._single_quoted(escapes=True)))
            elif character in "$`":
                pieces.append(self._expansion(command))
            elif character == "\\":
                pieces.append(self.peek(2)[1:] if self.peek(2) != "\\\n" else "")
                self.at += 2
            else:
                pieces.append(character)
                self.at += 1
        return "".join(pieces)

    def _single_quoted(self, escapes: bool = False) -> str:
        start = end = self.at + 1
        while True:
            end = self.text.find("'", end)
            if end < 0:
                raise Unreadable("no ' at the end")
            backslashes = len(self.text[start:end]) - len(self.text[start:end].rstrip("\\"))
            if not escapes or backslashes % 2 == 0:
                break
            end += 1
        self.at = end + 1
        return self.text[start:end]

    def _double_quoted(self, command: Command, to_the_end: bool = False) -> str:
        """The text up to the closing quote, or all of it for a here-document."""
        pieces: list[str] = []
        while self.at < len(self.text):
            character = self.peek()
            if character == '"' and not to_the_end:
                self.at += 1
                return "".join(pieces)
            if character == "\\":
                pieces.append(self.peek(2)[1:] if self.peek(2)[1:] in '$`"\\' else self.peek(2))
                self.at += 2
            elif character in "$`":
                pieces.append(self._expansion(command))
            else:
                special = _SPECIAL.search(self.text, self.at + 1)
                end = special.start() if special else len(self.text)
                pieces.append(self.text[self.at : end])
                self.at = end
        if not to_the_end:
            raise Unreadable('no " at the end')
        return "".join(pieces)

    def _expansion(self, command: Command) -> str:
        """A variable as it is written; a substitution as `$()`, its commands noted."""
        if self.peek(2) == "$(":
            self.at += 2
            command.inner += self._nested(")")
            return "$()"
        if self.peek() == "`":
            self.at += 1
            command.inner += self._nested("`")
            return "$()"
        if self.peek(2) == "${":
            end = self.text.find("}", self.at)
            if end < 0:
                raise Unreadable("no } at the end")
            found = self.text[self.at : end + 1]
            self.at = end + 1
            return found
        self.at += 1
        return "$"

    def _nested(self, closing: str) -> list[Command]:
        """Read up to the bracket; the commands are on the list and returned."""
        inner = _Reader(self.text, self.depth + 1)
        inner.at = self.at
        inner.script(closing)
        self.at = inner.at
        self.found += inner.found
        self.heredocs += inner.heredocs  # their text comes behind the line's end, outside of the bracket
        return inner.found

    def _redirection(self, command: Command) -> None:
        if self.peek(2) in ("<(", ">("):
            self.at += 2
            command.inner += self._nested(")")
            command.words.append("/dev/fd/63")
            return
        if command.words and command.words[-1].isdigit() and self.text[self.at - 1].isdigit():
            command.words.pop()  # the number of the stream
        operator = next(
            o for o in ("&>>", "<<<", "<<-", "&>", "<<", ">>", "<>", ">|", ">&", "<&", "<", ">")
            if self.text.startswith(o, self.at)
        )  # fmt: skip
        self.at += len(operator)
        self._skip_blanks()
        start = self.at
        word = self._word(command)
        if operator in ("<<", "<<-"):
            is_literal = any(c in self.text[start : self.at] for c in "'\"\\")
            self.heredocs.append(_Heredoc(command, word, is_literal, operator == "<<-"))
        elif operator == "<<<":
            command.stdin += word
        elif ">" in operator and not (operator == ">&" and (word.isdigit() or word == "-")):
            command.writes.append(word)

    def _read_heredocs(self) -> None:
        for heredoc in self.heredocs:
            lines: list[str] = []
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                line = self.text[self.at : end]
                self.at = min(end + 1, len(self.text))
                line = line.lstrip("\t") if heredoc.strips_tabs else line
                if line == heredoc.delimiter:
                    break
                lines.append(line)
            body = "\n".join(lines)
            heredoc.command.stdin += body
            if not heredoc.is_literal:
                inner = _Reader(body, self.depth + 1)
                inner._double_quoted(heredoc.command, to_the_end=True)
                self.found += inner.found
        self.heredocs.clear()

    def _skip_comment(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def _skip_blanks(self) -> None:
        while self.peek() in (" ", "\t") and self.peek():
            self.at += 1


def _decoded(text: str) -> str:
    """The text of $'…' with its escapes read."""
    return _ESCAPE.sub(_meant, text)


def _meant(found: re.Match[str]) -> str:
    escape = found.group(1)
    if escape[0] in "01234567":
        return chr(int(escape, 8))
    if escape[0] in "xuU" and len(escape) > 1:
        number = int(escape[1:], 16)
        return chr(number) if number < 0x110000 else ""
    return _ONE_LETTER.get(escape, escape)
