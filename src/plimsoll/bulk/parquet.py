"""Reads rows of Parquet files with pyarrow, as plain JSON values.

Parquet tables have a null for every key that some other row has. Such nulls are dropped, except for `content`, where
providers expect one. Dates, decimals and bytes become text.
"""

from base64 import b64encode
from collections.abc import Iterator
from datetime import date, datetime, time
from importlib import import_module
from typing import Any

from plimsoll.errors import TranscriptError, UserError
from plimsoll.installation import install_command

_BATCH = 16  # rows decoded at a time


def row_groups(path: str) -> Iterator[tuple[int, int]]:
    """The rows and bytes of every row group of a file."""
    with _opened(path) as file:
        for number in range(file.metadata.num_row_groups):
            group = file.metadata.row_group(number)
            yield group.num_rows, group.total_byte_size


def rows_of_group(path: str, group: int, start: int, end: int) -> Iterator[dict[str, Any]]:
    """The rows from `start` up to `end` of one row group."""
    at = 0
    with _opened(path) as file:
        for batch in _batches(file, path, group):
            if at >= end:
                return
            first, last = max(start - at, 0), min(end - at, batch.num_rows)
            at += batch.num_rows
            if first < last:
                for row in batch.slice(first, last - first).to_pylist(maps_as_pydicts="lossy"):
                    yield {key: _plain(value) for key, value in row.items()}


def _batches(file: Any, path: str, group: int) -> Iterator[Any]:
    try:
        yield from file.iter_batches(batch_size=_BATCH, row_groups=[group])
    except (import_module("pyarrow").ArrowException, OSError) as error:
        raise TranscriptError(f"{path} is damaged: {error}.") from error


def _opened(path: str) -> Any:
    """Open the file with pyarrow, which has no types."""
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise UserError(f"{path}: reading Parquet needs pyarrow. Run `{install_command('bulk')}`.") from error
    try:
        return parquet.ParquetFile(path)
    except (arrow.ArrowException, OSError) as error:
        raise TranscriptError(f"{path} is not a Parquet file that can be read: {error}.") from error


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, dict):
        return {str(k): _plain(one) for k, one in value.items() if one is not None or k == "content"}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    return value.isoformat() if isinstance(value, date | datetime | time) else str(value)
