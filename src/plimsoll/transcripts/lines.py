"""Decodes bytes into JSON values, with the line of every error.

    bytes ──► UTF-8 (BOM allowed), UTF-16 or UTF-32 (BOM required) ──► lines ──► JSON values

A file is read line by line; only a document that spans several lines is in memory
as a whole, once as text and once as values. Any input produces values or a
`TranscriptError` with the line.
"""

import codecs
import io
import json
import math
from collections.abc import Iterator
from typing import IO, Any, NoReturn

from plimsoll.errors import TranscriptError
from plimsoll.messages.untyped import list_of
from plimsoll.transcripts.transcript import ACCEPTED

# UTF-32 first: its little-endian BOM starts with UTF-16's.
_WIDE_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Conversations have about ten levels; far more would hit Python's recursion limit in copying and pickling.
MAX_DEPTH = 100


class LineReader:
    """The lines of one file or stream, numbered from 1; blank lines are skipped."""

    def __init__(self, handle: IO[bytes], source: str) -> None:
        self.source = source
        self.number = 0
        self._handle = handle
        self._started = False

    def next_line(self) -> str | None:
        """The next non-blank line, or None at the end."""
        while raw := self._raw():
            self.number += 1
            text = self._decoded(raw)
            if text.strip():
                return text
        return None

    def rest(self, first: str) -> str:
        """`first` and all following lines as one text."""
        raw = self._handle.read()
        text = self._decoded(raw)
        del raw
        return first + text

    def _raw(self) -> bytes:
        line = self._handle.readline()
        if not self._started:
            self._started = True
            encoding = next((name for mark, name in _WIDE_MARKS if line.startswith(mark)), None)
            if encoding:
                line = self._narrowed(line, encoding)
            line = line.removeprefix(codecs.BOM_UTF8)
        return line

    def _narrowed(self, line: bytes, encoding: str) -> bytes:
        """Transcode the rest to UTF-8, because wide encodings cannot be split into lines as bytes."""
        try:
            text = (line + self._handle.read()).decode(encoding)
            self._handle = io.BytesIO(text.encode("utf-8"))
        except UnicodeError as error:
            raise TranscriptError(
                f"{self.source} starts like {encoding.upper()} text but cannot be decoded ({error}). "
                f"Save it as UTF-8. {ACCEPTED}"
            ) from error
        return self._handle.readline()

    def _decoded(self, raw: bytes) -> str:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            line = max(1, self.number) + raw.count(b"\n", 0, error.start)
            raise TranscriptError(
                f"{self.source}: line {line} is not UTF-8 text (byte 0x{raw[error.start]:02x} in it); "
                f"is it a binary or compressed file?{_preceded_by_space(ACCEPTED if self.number <= 1 else '')}"
            ) from error


def parse(text: str, source: str, line: int, hint: str = "") -> Any:
    """The JSON value of `text`, which starts at `line` of `source`; errors end with `hint`."""
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
        too_deep = _deeper_than(value, MAX_DEPTH)
    except json.JSONDecodeError as error:
        # For a truncated value, report its last line, not the line after it.
        at = min(error.pos, len(text.rstrip()))
        unfinished = at == len(text.rstrip()) or error.msg.startswith("Unterminated")
        advice = "The file seems to be cut off." if unfinished else hint
        raise TranscriptError(
            f"{source}: line {line + text.count(chr(10), 0, at)} is not JSON ({error.msg}, "
            f"column {at - text.rfind(chr(10), 0, at)}).{_preceded_by_space(advice)}"
        ) from error
    except ValueError as error:
        raise TranscriptError(f"{_place(text, source, line)} contains invalid JSON ({error}).") from error
    except RecursionError as error:
        raise TranscriptError(f"{_place(text, source, line)} is nested too deeply.") from error
    if too_deep:
        place = _place(text, source, line)
        raise TranscriptError(f"{place} is nested deeper than {MAX_DEPTH} levels.{_preceded_by_space(hint)}")
    return value


def records(reader: LineReader) -> Iterator[tuple[int, Any]]:
    """The remaining lines as JSON values, each with its number."""
    while (text := reader.next_line()) is not None:
        yield reader.number, parse(text, reader.source, reader.number)


def _place(text: str, source: str, line: int) -> str:
    """The file and line of a value; only the file if the value spans several lines."""
    return source if "\n" in text.strip() else f"{source}: line {line}"


def _preceded_by_space(sentence: str) -> str:
    return f" {sentence}" if sentence else ""


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"the number {digits[:20]} is too large")
    return number


def _deeper_than(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [inner for outer in level for inner in _children(outer) if isinstance(inner, dict | list)]
        if not level:
            return False
    return True


def _children(value: Any) -> Any:
    if isinstance(value, dict):
        return value.values()
    return list_of(value)
