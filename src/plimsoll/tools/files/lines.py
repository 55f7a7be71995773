"""Reads a page of lines from a file of any size in bounded memory.

    1 ┐
    2 ┘ counted only
    3 ┐
    4 ┘ shown from `column` on, shortened if long
    5 … counted only

Lines end only at \\n, as editors and compilers count them. Blocking: call it in a thread.
"""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from plimsoll.tools.files.text import Encoding

_CHUNK = 262_144


@dataclass(frozen=True, slots=True)
class FileLine:
    """A line, or the part of it that fits; `length` is that of the whole line."""

    text: str
    length: int


@dataclass(frozen=True, slots=True)
class FilePage:
    """Some lines of a file, and how many it has."""

    lines: tuple[FileLine, ...]
    total: int


@dataclass(slots=True)
class _Wanted:
    """The wanted part of a file, and what was found of it."""

    first: int
    count: int
    column: int
    widest: int  # characters of one line
    room: int  # characters of all lines
    number: int = 1  # of the current line
    length: int = 0  # of the current line so far
    shown: list[str] = field(default_factory=list)  # pieces of the current line
    returns: bool = False  # the current line ends in \r so far
    lines: list[FileLine] = field(default_factory=list)

    def is_open(self) -> bool:
        """Whether the current line is to be shown."""
        return self.first <= self.number and len(self.lines) < self.count and self.room > 0

    def part(self, text: str) -> None:
        """Add a piece of the current line."""
        if self.is_open() and text:
            have = max(0, self.length - (self.column - 1))
            start = max(0, self.column - 1 - self.length)
            self.shown.append(text[start : start + max(0, self.widest - have)])
        self.length += len(text)
        self.returns = text.endswith("\r") if text else self.returns

    def end(self) -> None:
        """End the current line."""
        if self.is_open():
            text, length = "".join(self.shown), self.length - self.returns  # \r\n is one line end
            text = text[: max(0, length - (self.column - 1))]
            self.lines.append(FileLine(text, length))
            self.room -= len(text) + 1
        self.shown.clear()
        self.number, self.length, self.returns = self.number + 1, 0, False

    def skip(self, ends: int, rest: int) -> None:
        """Skip lines, counting them."""
        self.number += ends
        self.length = rest if ends else self.length + rest

    def is_far(self, ends: int) -> bool:
        """Whether none of the next `ends` lines is to be shown."""
        return self.number + ends < self.first or (self.number >= self.first and not self.is_open())


def read_page(
    path: Path, encoding: Encoding, first: int, count: int, column: int, widest: int, room: int
) -> FilePage:
    """`count` lines starting at line `first` (from 1), as many as fit in `room` characters, at least one."""
    wanted = _Wanted(first, count, column, widest, room)
    ends_open = False
    for text in _texts(path, encoding):
        ends = text.count("\n")
        if wanted.is_far(ends):
            wanted.skip(ends, len(text) - (text.rindex("\n") + 1 if ends else 0))
        else:
            *whole, rest = text.split("\n")
            for piece in whole:
                wanted.part(piece)
                wanted.end()
            wanted.part(rest)
        ends_open = not text.endswith("\n")
    if ends_open:
        wanted.end()
    return FilePage(tuple(wanted.lines), wanted.number - 1)


def _texts(path: Path, encoding: Encoding) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding.name)("replace")
    with path.open("rb") as file:
        file.seek(len(encoding.mark))
        while chunk := file.read(_CHUNK):
            if text := decoder.decode(chunk):
                yield text
        if text := decoder.decode(b"", final=True):
            yield text
