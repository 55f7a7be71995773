"""Finds passwords and keys in the columns of tables, in Markdown and in CSV.

| user | password  |        user,api_key
| joe  | Summer24! |        joe,9fK2…
"""

import re

from plimsoll.secrets.assigned import MARK
from plimsoll.secrets.value_checks import is_not_secret, is_stated_password, is_very_random

# A needle, and a cell of a heading with it. Both are searched for before any line is split.
_HEADINGS = tuple(
    (needle, re.compile(rf"(?i)[\w \"'`*-]{{0,30}}{needle}[\w]{{0,10}}[ \t\"'`*]{{0,30}}(?=[|,\n\r])"))
    for needle in ("passw", "passphrase", "passcode", "secret", "token", "key")
)
_CELL = re.compile(r"[\w\t .#/-]{0,40}")
_MAX_ROW = 2_000  # characters of a row
_AROUND = " \t\r\n`\"'*"


def without_columns(text: str, lowered: str) -> str:
    """The text without the values below headings that name a password or a key."""
    done = 0
    kept: list[str] = []
    for start in sorted(_heading_lines(text, lowered)):
        if start < done:
            continue
        end = text.index("\n", start)
        separator, columns = _columns(text[start:end])
        rows_end = end + 1
        while separator and rows_end < len(text):
            following = text.find("\n", rows_end)
            following = len(text) if following < 0 else following + 1
            row = text[rows_end:following]
            if row.count(separator) != text.count(separator, start, end) or len(row) > _MAX_ROW:
                break
            cells = row.split(separator)
            kept += [
                text[done:rows_end],
                separator.join(_cell(cell, columns.get(at)) for at, cell in enumerate(cells)),
            ]
            done = rows_end = following
    return "".join((*kept, text[done:])) if kept else text


def _heading_lines(text: str, lowered: str) -> set[int]:
    """Where the lines start that may be headings of a table with a secret column."""
    starts: set[int] = set()
    for needle, cell in _HEADINGS:
        at = lowered.find(needle)
        while at >= 0:
            first = max(0, at - _MAX_ROW)
            start = text.rfind("\n", first, at) + 1 or first
            end = text.find("\n", at, at + _MAX_ROW)
            if end >= 0 and cell.search(text, max(start, at - 32), end + 1):
                starts.add(start)
            at = lowered.find(needle, max(end, at + len(needle)))
    return starts


def _columns(line: str) -> tuple[str, dict[int, str]]:
    """The separator of a heading, and the names of its secret columns."""
    for separator in ("|", ","):
        cells = [cell.strip(_AROUND) for cell in line.split(separator)]
        named = {
            at: cell.lower()
            for at, cell in enumerate(cells)
            if any(needle in cell.lower() for needle, _ in _HEADINGS)
        }
        if named and sum(map(bool, cells)) >= 2 and all(map(_CELL.fullmatch, cells)):
            return separator, named
    return "", {}


def _cell(cell: str, heading: str | None) -> str:
    value = cell.strip(_AROUND)
    if not heading or " " in value or is_not_secret(value):
        return cell
    is_secret = is_stated_password if "pass" in heading else is_very_random
    return cell.replace(value, MARK, 1) if is_secret(value) else cell
