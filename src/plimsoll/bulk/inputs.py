"""Finds the input files of a run and the kind of each.

    data.jsonl             a conversation on each line         lines
    data.parquet           a conversation in each row          parquet
    conversation.json      one, or a list of several           document
    session.jsonl          the log of an agent                 session
    …/events/event-*.json  the folder of an OpenHands run      session

A folder is searched recursively. Files are sorted by path, so the order is always the same.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from stat import S_ISREG
from typing import Literal

from plimsoll.bulk.columns import line_kind
from plimsoll.errors import TranscriptError, UserError
from plimsoll.transcripts.lines import LineReader, parse

InputKind = Literal["lines", "parquet", "document", "session"]
SUFFIXES = (".jsonl", ".ndjson", ".json", ".parquet")
_LINES = (".jsonl", ".ndjson")
# Lines to read to recognise a file: the first ones may be broken.
_PROBED = 50
_EVENTS = "events/event-*.json"


@dataclass(frozen=True, slots=True)
class InputFile:
    """One file, or the folder of one OpenHands run."""

    path: str
    kind: InputKind
    size: int  # bytes
    changed: int  # nanoseconds


def find_inputs(paths: Sequence[str], output: Path | None = None) -> list[InputFile]:
    """Every file below these paths once, without the output of an earlier run."""
    found: dict[Path, str] = {}
    for path in paths:
        if not Path(path).exists():
            raise UserError(f"{path} does not exist. Check the path.")
        for item in _below(Path(path)):
            real = item.resolve()
            if output is None or output.resolve() not in real.parents:
                found.setdefault(real, str(item))
    if not found:
        shown = ", ".join(paths)
        raise UserError(f"No conversation files found in {shown}. Names must end in {', '.join(SUFFIXES)}.")
    return [_input(path) for path in found.values()]


def _below(path: Path) -> Iterator[Path]:
    if not path.is_dir() or _is_run(path):
        yield path
        return
    for folder, folders, names in os.walk(path):
        runs = sorted(name for name in folders if _is_run(Path(folder, name)))
        folders[:] = sorted(name for name in folders if name not in runs and not name.startswith("."))
        files = [name for name in names if Path(name).suffix.lower() in SUFFIXES and not name.startswith(".")]
        yield from (Path(folder, name) for name in sorted([*runs, *files]))


def _is_run(folder: Path) -> bool:
    return next(folder.glob(_EVENTS), None) is not None


def _input(path: str) -> InputFile:
    try:
        if Path(path).is_dir():
            events = [item.stat() for item in Path(path).glob(_EVENTS)]
            size, changed = sum(event.st_size for event in events), max(event.st_mtime_ns for event in events)
        else:
            facts = Path(path).stat()
            if not S_ISREG(facts.st_mode):
                raise UserError(f"{path} is not a regular file.")  # reading a pipe could wait forever
            size, changed = facts.st_size, facts.st_mtime_ns
        return InputFile(path, _kind(path), size, changed)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}.") from error


def _kind(path: str) -> InputKind:
    suffix = Path(path).suffix.lower()
    if Path(path).is_dir():
        return "session"
    if suffix == ".parquet":
        return "parquet"
    with Path(path).open("rb") as handle:
        found = next(_recognised(islice(_values(LineReader(handle, path)), _PROBED)), None)
    if found is not None and suffix in _LINES:
        return found
    # One value over several lines, or one line that is the whole file. A log may have any name.
    return found if found == "session" else "lines" if suffix in _LINES else "document"


def _values(reader: LineReader) -> Iterator[object]:
    """The lines that are valid JSON."""
    while True:
        try:
            text = reader.next_line()
            if text is None:
                return
            yield parse(text, reader.source, reader.number)
        except TranscriptError:
            continue


def _recognised(values: Iterable[object]) -> Iterator[InputKind]:
    for value in values:
        is_whole = line_kind(value)
        if is_whole is not None:
            yield "lines" if is_whole else "session"
