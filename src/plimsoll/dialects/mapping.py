"""What becomes of each field of a request that is translated to the other dialect: the table in `mapping.toml`.

    mapped    it has an equivalent
    dropped   left out, and named to the client
    refused   the answer would be wrong without it

`examine` looks at every field of a body, so that nothing is left out without a word.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal

Fate = Literal["mapped", "dropped", "refused"]
_TAGS = ("role", "type")
_STRANGE = re.compile(r"[^A-Za-z0-9_.\[\]|*-]")  # the names of unknown fields are the client's own words
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class MappedField:
    """One row of the table."""

    field: str
    fate: Fate
    to: str = ""
    harmless: tuple[Any, ...] = ()
    whole: bool = False

    @property
    def is_omitted(self) -> bool:
        """Whether nothing is sent for it although nothing is lost: the table says why."""
        return self.to.startswith("omitted:")

    @property
    def exactness(self) -> int:
        """Of two rows for one field, the one with more letters of its own counts."""
        return len(self.field) - 2 * self.field.count("*")


@dataclass(slots=True)
class Findings:
    """What of a body cannot be translated, by the names of the table, each once."""

    dropped: dict[str, None] = field(default_factory=dict)
    refused: dict[str, None] = field(default_factory=dict)


def examine(dialect: str, body: dict[str, Any]) -> Findings:
    """What of a request in this dialect is dropped or refused on the way to the other one."""
    findings = Findings()
    _fields(dialect, "", body, findings)
    return findings


@cache
def rows(dialect: str) -> tuple[MappedField, ...]:
    """The table for clients of this dialect, in its order."""
    return tuple(
        MappedField(
            row["field"],
            row["fate"],
            row.get("to", ""),
            tuple(row.get("harmless", ())),
            row.get("whole", False),
        )
        for row in _data()[dialect]
    )


@lru_cache(4_096)
def row_for(dialect: str, path: str) -> MappedField | None:
    """The row that decides about a field; None for a field that is not listed."""
    found = [row for row in rows(dialect) if _pattern(row.field).fullmatch(path)]
    if found:
        return max(found, key=lambda row: row.exactness)
    for alias in _data()["alias"]:
        start = re.match(_expression(alias["from"]), path)
        if start:
            same = alias["to"].replace("*", start[1]) if start.groups() else alias["to"]
            return row_for(dialect, same + path[start.end() :])
    return None


def _fields(dialect: str, path: str, item: dict[str, Any], findings: Findings) -> None:
    tagged = path.endswith("]")
    for key, value in item.items():
        if value is None or (tagged and key in _TAGS):
            continue
        below = f"{path}.{key}" if path else key
        row = row_for(dialect, below)
        if _goes_on(row, below, value, findings):
            assert row is not None
            for tag, inner in _objects(value):
                _object(dialect, below, tag, inner, row, findings)


def _object(
    dialect: str, path: str, tag: str, item: dict[str, Any], row: MappedField, findings: Findings
) -> None:
    """An object in the value of a field: what its own row says, else what the field's row says."""
    if not tag:
        if not row.whole:
            _fields(dialect, path, item, findings)
        return
    place = f"{path}[{tag}]"
    own = row_for(dialect, place)
    if own is None and row.whole:
        return
    if _goes_on(own, place, item, findings) and own is not None and not own.whole:
        _fields(dialect, place, item, findings)


def _goes_on(row: MappedField | None, path: str, value: Any, findings: Findings) -> bool:
    """Note what a row says of a value; whether the fields inside of it must be looked at."""
    if row is None:
        findings.dropped[_STRANGE.sub("?", path)[:_LONGEST_NAME]] = None
        return False
    if value in row.harmless:
        return False
    if row.fate != "mapped":
        (findings.dropped if row.fate == "dropped" else findings.refused)[row.field] = None
        return False
    return True


def _objects(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            tag = next((item[name] for name in _TAGS if isinstance(item.get(name), str)), "")
            yield tag, item


@cache
def _pattern(written: str) -> re.Pattern[str]:
    return re.compile(_expression(written))


def _expression(written: str) -> str:
    return re.escape(written).replace(r"\*", r"([^\]]*)")


@cache
def _data() -> dict[str, Any]:
    text = files("plimsoll.dialects").joinpath("mapping.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
