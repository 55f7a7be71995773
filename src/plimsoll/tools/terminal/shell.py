"""Parses the subset of shell syntax whose meaning is unambiguous.

    rg -n 'a b' src 2>/dev/null | head -5        [ShellCommand(rg, -n, a b, src), ShellCommand(head, -5)]
    rg $(cat names)                              UnsupportedSyntax("a substitution")

Words, quotes, escapes, `*` and `?`, `~`, line continuations, comments, the separators
`;` `|` `&&` `||` and newline, input from a file, and redirections that lose or merge output. Everything else
is `UnsupportedSyntax`: variables, substitutions, here-documents, output files, background jobs, braces,
functions, compound commands. For accepted text, the words are those that bash passes to the program; the tests
compare the two.
"""

import glob
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

_MAX_MATCHES = 2_000  # files that one pattern may match; more are not checked one by one
_ENDS = r"(?=[\s;|&]|$)"
_TOKEN = re.compile(
    rf"""
    (?P<blank>(?:[ \t]|(?<=[ \t])\\\n)+)
  | (?P<comment>(?<![^\s;|&])\#[^\n]*)
  | (?P<separator>&&|\|\||[;|\n])
  | (?P<redirection>(?:[012]?>>?|&>>?|0?<)[ \t]*/dev/null{_ENDS}|[012]?>&[12]{_ENDS})
  | (?P<input>0?<(?![<>&(])[ \t]*)
  | (?P<word>(?:
        [A-Za-z0-9_@%+=:,./^!\]*?~-] | (?<=[^\s;|&])\# | \[{_ENDS} | (?<=@)\{{\w+\}}
      | \$\?
      | \\[!-~ ]
      | '[^']*'
      | "(?:[^"\\$`]|\\[^\n]|\$\?|\$(?=["|)/. ]))*"
    )+)
    """,
    re.X | re.A,
)
_PIECE = re.compile(
    r"""'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)"|\\(?P<escaped>.)|(?P<bare>\$\?|.)""", re.S
)
_IN_QUOTES = re.compile(r'\\([$`"\\])|\$\?')
_STATUS = "0"  # any exit status
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_ASSIGNMENT = re.compile(r"\w+\+?=")
_OTHER_TILDE = re.compile(r"[=:]~|^~[^/]")  # a word that looks like an assignment; another user
_RESERVED = frozenset(
    shlex.split("! [[ case coproc do done elif else esac fi for function if in select then time until while")
)


class UnsupportedSyntax(Exception):
    """The command uses shell syntax that is not supported here; the text names it."""


@dataclass(frozen=True, slots=True)
class ShellWord:
    """A word without its quotes; `pattern` is its glob, if it is one."""

    text: str
    pattern: str | None = None
    has_home: bool = False  # begins with an unquoted ~


@dataclass(slots=True)
class ShellCommand:
    """One simple command; `inputs` are the files that it gets as standard input."""

    words: list[ShellWord] = field(default_factory=list)
    inputs: list[ShellWord] = field(default_factory=list)

    def expanded(self, directory: Path, home: str | None) -> list[str]:
        """The words that the program gets when it is started in a directory."""
        return [text for word in self.words for text in _expanded(word, directory, home)]

    def expanded_inputs(self, directory: Path, home: str | None) -> list[str]:
        """The paths of its input files."""
        return [text for word in self.inputs for text in _expanded(word, directory, home)]


def commands_in(text: str) -> list[ShellCommand]:
    """The simple commands, in order."""
    if _CONTROL.search(text):
        raise UnsupportedSyntax("control characters")
    found = list(_simple_commands(text))
    for command in found:
        first = command.words[0].text
        if first in _RESERVED or _ASSIGNMENT.match(first):
            raise UnsupportedSyntax("variables" if "=" in first else f"the shell's {first!r}")
    return found


def _simple_commands(text: str) -> Iterator[ShellCommand]:
    current, needs_more, before = ShellCommand(), False, ""
    for kind, token in _tokens(text):
        if before == "input" and kind != "word":
            raise UnsupportedSyntax("a redirection")
        if kind == "word":
            (current.inputs if before == "input" else current.words).append(_word(token))
        elif kind == "separator":
            if current.words:
                yield current
                current, needs_more = ShellCommand(), token not in (";", "\n")
            elif token != "\n" or current.inputs:
                raise UnsupportedSyntax(f"{token!r} without a command before it")
        before = kind
    if current.words and before != "input":
        yield current
    elif needs_more or current.words or current.inputs:
        raise UnsupportedSyntax("an unfinished command")


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at, before = 0, ""
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise UnsupportedSyntax(_named(text[at:]))
        kind, token = match.lastgroup or "", match.group()
        if before == "word" and kind in ("redirection", "input") and text[at - 1].isdigit():
            raise UnsupportedSyntax("a redirection")  # the digits would be the number of the stream
        if before == "word" and kind == "comment":
            raise UnsupportedSyntax("'#' after an escaped blank")  # not a comment
        at, before = match.end(), kind
        yield kind, token


def _named(rest: str) -> str:
    """A description of the unsupported syntax."""
    kinds = {"$(": "a substitution", "`": "a substitution", "<(": "a substitution", ">(": "a substitution",
             "<<": "a here-document", "$": "variables", ">": "a redirection", "<": "a redirection",
             "&>": "a redirection", "&": "a background job", "(": "a subshell", "{": "braces", "[": "a [ pattern",
             "'": "an open quote", '"': "an open quote or variables"}  # fmt: skip
    return next((name for start, name in kinds.items() if rest.startswith(start)), f"{rest[:1]!r}")


def _word(token: str) -> ShellWord:
    pieces, pattern, is_pattern = [], [], False
    for match in _PIECE.finditer(token):
        bare = match["bare"]
        text = next(part for part in match.groups() if part is not None)
        if match["double"] is not None:
            text = _IN_QUOTES.sub(lambda found: found[1] or _STATUS, text)
        elif bare == "$?":
            text = _STATUS
        is_pattern |= bare in ("*", "?")
        pieces.append(text)
        pattern.append(text if bare in ("*", "?") else glob.escape(text))
    if _OTHER_TILDE.search(token):
        raise UnsupportedSyntax("'~' other than '~/'")
    text = "".join(pieces)
    return ShellWord(text, "".join(pattern) if is_pattern else None, token.startswith("~"))


def _expanded(word: ShellWord, directory: Path, home: str | None) -> list[str]:
    text, pattern = word.text, word.pattern
    if word.has_home:
        if not home:
            raise UnsupportedSyntax("'~' without HOME")
        text, pattern = home + text[1:], None if pattern is None else glob.escape(home) + pattern[1:]
    if pattern is None:
        return [text]
    if any(part.startswith(".") and fnmatchcase("..", part) for part in pattern.split("/")):
        raise UnsupportedSyntax("a pattern that matches '..'")  # in bash before 5.2
    matches = list(islice(glob.iglob(pattern, root_dir=directory), _MAX_MATCHES + 1))  # noqa: PTH207, bash's rules
    if len(matches) > _MAX_MATCHES:
        raise UnsupportedSyntax(f"a pattern that matches more than {_MAX_MATCHES:,} files")
    return matches or [text]
