"""Outlines a large text in a few lines, enough to decide whether and where to read it.

    JSON    {"orders": [412 × {"id", "total", "lines"}], "next": text}
    table   1,204 rows: id, name, total; the first row
    code    signatures, with their line numbers
    text    its beginning and its end

Pure, and bounded for any text.
"""

import csv
import io
import json
import re
from typing import Any, Literal

from plimsoll.messages import excerpt

Kind = Literal["json", "table", "code", "text"]
MAX_CHARACTERS = 1_200  # of an outline
_PARSED = 4_000_000  # characters of JSON that are worth parsing
_KEYS, _DEPTH = 12, 3  # of a JSON object in an outline
# Only leading spaces, not line breaks: otherwise, matching empty lines would be quadratic.
_SIGNATURE = re.compile(
    r"^[ \t]*(?:(?:export|public|private|protected|static|async|pub|final|abstract|default)[ \t]+)*"
    r"(?:def|class|func|fn|function|interface|struct|enum|trait|impl|type|module|package)\b[^\n{;]{0,140}",
    re.MULTILINE,
)
_MIN_SIGNATURES = 3  # in a text that counts as code
_TABLE_LINES = 20  # read to recognise a table


def outline_of(text: str, limit: int = MAX_CHARACTERS) -> str:
    """The outline in at most `limit` characters."""
    return _described(text, *_outlined(text), limit)


def shape_of(text: str, limit: int = MAX_CHARACTERS) -> str:
    """The outline of JSON, a table or code; empty for other text, whose beginning and end say as much."""
    kind, lines = _outlined(text)
    return "" if kind == "text" else _described(text, kind, lines, limit)


def kind_of(text: str) -> Kind:
    """The apparent kind of a text."""
    return _outlined(text)[0]


def _described(text: str, kind: Kind, lines: str, limit: int) -> str:
    size = f"{len(text):,} characters, {text.count(chr(10)) + 1:,} lines"
    whole = f"{kind}, {size}\n{lines}" if lines else f"{kind}, {size}"
    # Half a surrogate pair is legal as a JSON escape, but cannot be encoded once it is parsed.
    return excerpt(whole, limit).encode("utf-8", "replace").decode("utf-8")


def _outlined(text: str) -> tuple[Kind, str]:
    shape = _json_shape(text)
    if shape:
        return "json", shape
    table = _table_shape(text)
    if table:
        return "table", table
    signatures = list(_SIGNATURE.finditer(text[:_PARSED]))
    if len(signatures) >= _MIN_SIGNATURES:
        return "code", "\n".join(
            f"{_line(text, signature)}: {signature[0].strip()}" for signature in signatures[:60]
        )
    return "text", excerpt(text, 600)


def _json_shape(text: str) -> str:
    if not text.lstrip().startswith(("{", "[")) or len(text) > _PARSED:
        return ""
    try:
        value = json.loads(text)
    except ValueError:
        return _lines_of_json(text)
    except RecursionError:  # nested a thousand deep
        return ""
    return _shape(value, _DEPTH)


def _lines_of_json(text: str) -> str:
    """The outline of JSON Lines."""
    lines = [line for line in text.splitlines() if line.strip()]
    try:
        first = json.loads(lines[0])
        json.loads(lines[-1])
    except (ValueError, IndexError, RecursionError):
        return ""
    return f"{len(lines):,} lines × {_shape(first, _DEPTH)}" if len(lines) > 1 else ""


def _shape(value: Any, depth: int) -> str:
    if isinstance(value, dict):
        if depth == 0:
            return f"{{{len(value)} keys}}"
        named = [f'"{key}": {_shape(item, depth - 1)}' for key, item in list(value.items())[:_KEYS]]
        more = [f"… {len(value) - _KEYS} more keys"] if len(value) > _KEYS else []
        return "{" + ", ".join([*named, *more]) + "}"
    if isinstance(value, list):
        return (
            f"[{len(value):,} × {_shape(value[0], depth - 1) if value and depth else '…'}]" if value else "[]"
        )
    if isinstance(value, str):
        return f"text of {len(value):,}" if len(value) > 40 else json.dumps(value, ensure_ascii=False)
    return json.dumps(value)


def _table_shape(text: str) -> str:
    lines = text.splitlines()
    if len(lines) < 3:
        return ""
    for separator in (",", "\t", ";"):
        counts = {line.count(separator) for line in lines[:_TABLE_LINES] if line.strip()}
        if len(counts) == 1 and counts != {0} and min(counts) >= 1:
            head, first = _rows(lines[:2], separator)
            if head and all(name and len(name) <= 60 and not name.isdigit() for name in head):
                row = separator.join(first)
                return f"{len(lines) - 1:,} rows: {', '.join(head)}\nfirst row: {excerpt(row, 200)}"
    return ""


def _rows(lines: list[str], separator: str) -> tuple[list[str], list[str]]:
    """Two lines as rows; empty if they are not rows, such as with an unclosed quote."""
    try:
        rows = list(csv.reader(io.StringIO("\n".join(lines)), delimiter=separator))
    except csv.Error:
        return [], []
    return (rows[0], rows[1]) if len(rows) > 1 else ([], [])


def _line(text: str, match: re.Match[str]) -> int:
    return text.count("\n", 0, match.start() + len(match[0]) - len(match[0].lstrip())) + 1
