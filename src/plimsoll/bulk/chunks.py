"""Divides the input into chunks: a few rows that one worker processes.

    files ──► | chunk 0 | chunk 1 | chunk 2 | …        each has positions in files, no content

Chunk boundaries depend only on the input, so every run has the same chunks, whatever the number of workers.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from plimsoll.bulk.inputs import InputFile, InputKind
from plimsoll.bulk.parquet import row_groups
from plimsoll.errors import TranscriptError

ROWS = 16  # per chunk; a worker reports after each chunk, which moves the progress bar
BYTES = 1_000_000  # per chunk, unless one row is larger


@dataclass(frozen=True, slots=True)
class ChunkPart:
    """Consecutive rows of one file: bytes of JSON lines, rows of a Parquet row group, or the whole file."""

    path: str
    kind: InputKind
    start: int = 0
    end: int = 0
    first_row: int = 1  # number of its first row in the file, from 1
    group: int = 0  # row group of a Parquet file


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one worker processes at a time."""

    number: int
    parts: tuple[ChunkPart, ...]
    size: int  # bytes, for the progress bar


def chunks_of(files: Iterable[InputFile], rows: int = ROWS, size: int = BYTES) -> Iterator[Chunk]:
    """The chunks of all files; `rows` and `size` limit each."""
    parts: list[ChunkPart] = []
    number = row_count = weight = 0
    for part, count, part_size in _parts(files, rows, size):
        if parts and (row_count + count > rows or weight + part_size > size):
            yield Chunk(number, tuple(parts), weight)
            number, parts, row_count, weight = number + 1, [], 0, 0
        parts.append(part)
        row_count, weight = row_count + count, weight + part_size
    if parts:
        yield Chunk(number, tuple(parts), weight)


def _parts(files: Iterable[InputFile], rows: int, size: int) -> Iterator[tuple[ChunkPart, int, int]]:
    """Parts with at most `rows` rows, their number of rows and their size."""
    for file in files:
        if file.kind == "lines":
            yield from _line_parts(file.path, rows, size)
        elif file.kind == "parquet":
            try:
                yield from _parquet_parts(file.path, rows, size)
            except TranscriptError:  # the worker sees the same error and rejects the file
                yield ChunkPart(file.path, file.kind, 0, 1), 1, file.size
        else:
            yield ChunkPart(file.path, file.kind), 1, file.size


def _line_parts(path: str, rows: int, size: int) -> Iterator[tuple[ChunkPart, int, int]]:
    start = end = count = 0
    first = 1
    with Path(path).open("rb") as handle:
        for number, line in enumerate(handle, start=1):
            if count and (count == rows or end - start + len(line) > size):
                yield ChunkPart(path, "lines", start, end, first), count, end - start
                start, first, count = end, number, 0
            end += len(line)
            count += bool(line.strip())
    if count:
        yield ChunkPart(path, "lines", start, end, first), count, end - start


def _parquet_parts(path: str, rows: int, size: int) -> Iterator[tuple[ChunkPart, int, int]]:
    before = 0
    for group, (count, weight) in enumerate(row_groups(path)):
        each = max(1, weight // max(1, count))
        step = max(1, min(rows, size // each))
        for start in range(0, count, step):
            end = min(count, start + step)
            part = ChunkPart(path, "parquet", start, end, before + start + 1, group)
            yield part, end - start, (end - start) * each
        before += count
