"""How each request field is translated to another dialect, by the table in `mapping.toml`.

    mapped    the field has an equivalent
    dropped   the field is removed and reported to the client
    refused   the reply would be wrong without the field

`examine` checks every field of a body, so that nothing is dropped silently.
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
_STRANGE = re.compile(r"[^A-Za-z0-9_.\[\]|*-]")  # names of unknown fields come from the client
_LONGEST_NAME = 100  # characters of a field's name in a report


@dataclass(frozen=True, slots=True)
class MappedField:
    """One row of the table."""

    field: str
    fate: Fate
    to: str = ""
    harmless: tuple[Any, ...] = ()
    whole: bool = False
    upstream: str = ""  # the upstream dialect it applies to; empty: every other dialect

    @property
    def exactness(self) -> int:
        """The number of literal characters; of two rows for one field, the higher number wins."""
        return len(self.field) - 2 * self.field.count("*")


@dataclass(slots=True)
class Findings:
    """The fields of a body that cannot be translated, by their names in the table, each once."""

    dropped: dict[str, None] = field(default_factory=dict)
    refused: dict[str, None] = field(default_factory=dict)


def examine(dialect: str, body: dict[str, Any], upstream: str) -> Findings:
    """The fields of a request in this dialect that are dropped or refused for another dialect's upstream."""
    findings = Findings()
    _Examination(dialect, upstream, findings).fields("", body)
    return findings


@cache
def rows(dialect: str) -> tuple[MappedField, ...]:
    """The table for clients of this dialect, in file order."""
    return tuple(
        MappedField(
            row["field"],
            row["fate"],
            row.get("to", ""),
            tuple(row.get("harmless", ())),
            row.get("whole", False),
            row.get("upstream", ""),
        )
        for row in _data()[dialect]
    )


@lru_cache(4_096)
def row_for(dialect: str, path: str, upstream: str) -> MappedField | None:
    """The row that applies to a field; None for an unlisted field.

    Of two equally specific rows, the one for this upstream wins.
    """
    about = (row for row in rows(dialect) if row.upstream in ("", upstream))
    found = [row for row in about if _pattern(row.field).fullmatch(path)]
    if found:
        return max(found, key=lambda row: (row.exactness, bool(row.upstream)))
    for alias in _data()["alias"]:
        start = re.match(_expression(alias["from"]), path)
        if start:
            same = alias["to"].replace("*", start[1]) if start.groups() else alias["to"]
            return row_for(dialect, same + path[start.end() :], upstream)
    return None


@dataclass(frozen=True, slots=True)
class _Examination:
    """One body of one dialect, for an upstream of another."""

    dialect: str
    upstream: str
    findings: Findings

    def fields(self, path: str, item: dict[str, Any]) -> None:
        """Examine every field of an object."""
        tagged = path.endswith("]")
        for key, value in item.items():
            if value is None or (tagged and key in _TAGS):
                continue
            below = f"{path}.{key}" if path else key
            row = row_for(self.dialect, below, self.upstream)
            if _goes_on(row, below, value, self.findings):
                assert row is not None
                for tag, inner in _objects(value):
                    self._object(below, tag, inner, row)

    def _object(self, path: str, tag: str, item: dict[str, Any], row: MappedField) -> None:
        """Examine an object in the value of a field, by its own row or else by the field's row."""
        if not tag:
            if not row.whole:
                self.fields(path, item)
            return
        place = f"{path}[{tag}]"
        own = row_for(self.dialect, place, self.upstream)
        if own is None and row.whole:
            return
        if _goes_on(own, place, item, self.findings) and own is not None and not own.whole:
            self.fields(place, item)


def _goes_on(row: MappedField | None, path: str, value: Any, findings: Findings) -> bool:
    """Record the finding for a value; return whether its nested fields must be examined."""
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
