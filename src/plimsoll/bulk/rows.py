"""Reads the rows of a chunk. A row is parsed only when it is processed, so skipping finished rows is cheap."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from plimsoll.bulk.chunks import Chunk, ChunkPart
from plimsoll.bulk.columns import conversation_in, line_kind
from plimsoll.bulk.parquet import rows_of_group, values_of
from plimsoll.errors import TranscriptError
from plimsoll.transcripts import Transcript, read_transcripts
from plimsoll.transcripts.lines import LineReader, parse

_MARK = b"\xef\xbb\xbf"  # UTF-8 byte order mark, which some programs write


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """One row and its position."""

    source: str
    number: int
    read: Callable[[], Transcript]  # raises `TranscriptError`
    raw: bytes | None = None  # bytes of a line, so that a rejected one can be kept


def rows_in(chunk: Chunk) -> Iterator[DatasetRow]:
    """Every row of a chunk, in order. A file that cannot be read to its end gets a row that fails."""
    for part in chunk.parts:
        number = part.first_row
        try:
            for row in _READERS[part.kind](part):
                number = row.number + 1
                yield row
        except (OSError, TranscriptError) as error:
            reason = (
                error
                if isinstance(error, TranscriptError)
                else f"{part.path} cannot be read: {error.strerror}"
            )
            refused = TranscriptError(f"{reason} Rows from {number:,} on are missing.")
            yield DatasetRow(part.path, number, partial(_refused, refused))


def _lines(part: ChunkPart) -> Iterator[DatasetRow]:
    with Path(part.path).open("rb") as handle:
        handle.seek(part.start)
        number, left = part.first_row, part.end - part.start
        while left > 0 and (line := handle.readline()):
            left -= len(line)
            if line.strip():
                raw = line.removeprefix(_MARK) if number == 1 else line
                yield DatasetRow(part.path, number, partial(_of_line, part.path, number, raw), raw)
            number += 1


def _of_line(path: str, number: int, raw: bytes) -> Transcript:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TranscriptError(f"{path}: line {number} is not UTF-8 text ({error.reason}).") from error
    return conversation_in(parse(text, path, number), path, number)


def _table(part: ChunkPart) -> Iterator[DatasetRow]:
    rows = rows_of_group(part.path, part.group, part.start, part.end)
    for number, row in enumerate(rows, start=part.first_row):
        yield DatasetRow(part.path, number, partial(_of_table, part.path, number, row))


def _of_table(path: str, number: int, row: Any) -> Transcript:
    return conversation_in(values_of(row, f"{path}: row {number}"), path, number)


def _document(part: ChunkPart) -> Iterator[DatasetRow]:
    """One conversation, or each of a list."""
    try:
        value = _whole(part.path)
    except TranscriptError as error:
        yield DatasetRow(part.path, 1, partial(_refused, error))
        return
    if _is_dataset(value):
        for number, document in enumerate(value, start=1):
            yield DatasetRow(part.path, number, partial(conversation_in, document, part.path, number))
    else:
        yield DatasetRow(part.path, 1, partial(conversation_in, value, part.path, None))


def _whole(path: str) -> Any:
    with Path(path).open("rb") as handle:
        reader = LineReader(handle, path)
        first = reader.next_line()
        if first is None:
            raise TranscriptError(f"{path} is empty.")
        return parse(reader.rest(first), path, reader.number)


def _is_dataset(value: Any) -> bool:
    """Whether a list contains conversations and is not one itself."""
    if not isinstance(value, list) or not value or not isinstance(value[0], dict):
        return False
    return "role" not in value[0] and line_kind(value[0]) is True


def _session(part: ChunkPart) -> Iterator[DatasetRow]:
    yield DatasetRow(part.path, 1, partial(_of_session, part.path))


def _of_session(path: str) -> Transcript:
    found = read_transcripts(path)
    if len(found) != 1:
        raise TranscriptError(f"{path} has {len(found)} conversations; write one on each line.")
    return replace(found[0], wrapper={}, shape="list")


def _refused(error: TranscriptError) -> Transcript:
    raise error


_READERS: dict[str, Callable[[ChunkPart], Iterator[DatasetRow]]] = {
    "lines": _lines,
    "parquet": _table,
    "document": _document,
    "session": _session,
}
