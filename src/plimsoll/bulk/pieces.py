"""The results of a chunk on disk, row by row, so that a killed run continues with the next row.

    {"row": 0, "data": 812, "report": 240, "reject": 0, "crc": …}   ← then so many bytes of each
    {"row": 1, …}
    {"end": 2}                                                      ← the chunk is complete and on disk

Only one process at a time writes a piece: a worker whose parent was killed may still process its last row. A row that
was only partly written at a power failure fails its checksum and is written again.
"""

import fcntl
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from plimsoll.bulk.process_row import RowResult
from plimsoll.messages.untyped import object_of


class PieceWriter:
    """Appends to a piece; rows of an earlier process stay."""

    def __init__(self, path: Path) -> None:
        self._handle = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+b")
        fcntl.flock(self._handle, fcntl.LOCK_EX)
        self.rows, self.is_complete, end = 0, False, 0
        for frame in _frames(self._handle):
            end = self._handle.tell()
            self.is_complete = frame is None
            self.rows += frame is not None
        self._handle.seek(end)
        self._handle.truncate()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._handle.close()

    def append(self, result: RowResult) -> None:
        """Append a row. After this call, killing the process does not lose it."""
        body = result.data + result.report + result.reject
        sizes = {"data": len(result.data), "report": len(result.report), "reject": len(result.reject)}
        self._handle.write(_line({"row": self.rows, **sizes, "crc": zlib.crc32(body)}) + body)
        self._handle.flush()
        self.rows += 1

    def complete(self) -> None:
        """Mark the piece as complete. After this call, a power failure does not lose it."""
        self._handle.write(_line({"end": self.rows}))
        self._handle.flush()
        os.fsync(self._handle.fileno())
        self.is_complete = True


def read_piece(path: Path) -> Iterator[RowResult]:
    """The rows of a complete piece."""
    with path.open("rb") as handle:
        for frame in _frames(handle):
            if frame is not None:
                yield frame


def rows_finished(path: Path) -> int:
    """How many rows a piece has; 0 if there is no piece."""
    return sum(1 for _ in read_piece(path)) if path.exists() else 0


def _frames(handle: IO[bytes]) -> Iterator[RowResult | None]:
    """The complete rows, then None for the end. Leaves the handle after what was yielded."""
    rows = 0
    while True:
        header = _header(handle.readline())
        if header.get("end") == rows:
            yield None
            return
        if header.get("row") != rows:
            return
        sizes = [header["data"], header["report"], header["reject"]]
        body = handle.read(sum(sizes))
        if len(body) < sum(sizes) or zlib.crc32(body) != header["crc"]:
            return
        data, report = body[: sizes[0]], body[sizes[0] : sizes[0] + sizes[1]]
        yield RowResult(data, report, body[sizes[0] + sizes[1] :])
        rows += 1


def _header(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        value = None
    return object_of(value)


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode("ascii") + b"\n"
