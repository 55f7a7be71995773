"""Reads rows of Parquet files with pyarrow, as plain JSON values.

Parquet tables have a null for every key that some other row has. Such nulls are dropped, except for `content`, where
providers expect one. Dates, times, decimals, bytes and infinite numbers become text; NaN, with which pandas marks a
missing number, becomes null.
"""

import math
from base64 import b64encode
from collections.abc import Iterator
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


def rows_of_group(path: str, group: int, start: int, end: int) -> Iterator[Any]:
    """The rows from `start` up to `end` of one row group, for `values_of`."""
    at = 0
    with _opened(path) as file:
        for batch in _batches(file, path, group):
            if at >= end:
                return
            first, last = max(start - at, 0), min(end - at, batch.num_rows)
            at += batch.num_rows
            yield from (batch.slice(place, 1) for place in range(first, last))


def values_of(row: Any, where: str) -> dict[str, Any]:
    """The columns of a row. A value that Python cannot represent is an error of this row alone."""
    arrow = import_module("pyarrow")
    schema = arrow.schema([_readable(field) for field in row.schema])
    try:
        readable = row if schema == row.schema else row.cast(schema)
        (values,) = readable.to_pylist(maps_as_pydicts="lossy")
    except UnicodeDecodeError as error:
        raise TranscriptError(f"{where} has text that is not UTF-8 ({error.reason}).") from error
    except (arrow.ArrowException, ValueError, OverflowError) as error:
        raise TranscriptError(f"{where} cannot be read: {error}.") from error
    return {key: _plain(value) for key, value in values.items()}


def _readable(field: Any) -> Any:
    """The field with text in place of dates, times and durations: Arrow's are finer and wider than Python's."""
    arrow = import_module("pyarrow")
    kind, types = field.type, arrow.types
    if types.is_temporal(kind) and not types.is_interval(kind):
        return field.with_type(arrow.string())
    if types.is_struct(kind):
        return field.with_type(arrow.struct([_readable(inner) for inner in kind]))
    if types.is_list(kind):
        return field.with_type(arrow.list_(_readable(kind.value_field)))
    if types.is_large_list(kind):
        return field.with_type(arrow.large_list(_readable(kind.value_field)))
    if types.is_map(kind):
        return field.with_type(arrow.map_(_readable(kind.key_field), _readable(kind.item_field)))
    return field


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
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, dict):
        return {str(k): _plain(item) for k, item in value.items() if item is not None or k == "content"}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return b64encode(value).decode("ascii") if isinstance(value, bytes) else str(value)
