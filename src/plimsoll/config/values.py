"""A setting's value with its source, and problems with it.

    default  ◄─  config.yaml:12  ◄─  PLIMSOLL_COMPRESSION__THRESHOLD  ◄─  command line
    lowest                                                                 highest

`ValueSource`, `GivenValue` and `ConfigProblem` are plain values; nothing here reads anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from plimsoll.errors import SettingError

KeyPath = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ValueSource:
    """Who set a value: the default, a line of the file, an environment variable, or a flag."""

    kind: Literal["default", "file", "variable", "flag"]
    name: str = ""
    line: int | None = None

    def __str__(self) -> str:
        if self.kind == "file":
            return self.name if self.line is None else f"{self.name}:{self.line}"
        return {"default": "default", "flag": "command line"}.get(self.kind, self.name)


DEFAULT = ValueSource("default")
COMMAND_LINE = ValueSource("flag")


@dataclass(frozen=True, slots=True)
class GivenValue:
    """One source's value for a key; `spelled` is the key as the user wrote it."""

    path: KeyPath
    value: Any
    source: ValueSource
    spelled: str

    @property
    def key(self) -> str:
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One problem: its location, key and message."""

    where: str
    path: KeyPath
    text: str

    def __str__(self) -> str:
        return f"{self.where}: {self.text}"


def setting_error(problems: Sequence[ConfigProblem]) -> SettingError:
    """One error that lists all problems, one per line."""
    if len(problems) == 1:
        return SettingError(str(problems[0]))
    lines = "".join(f"\n  {problem}" for problem in problems)
    return SettingError(f"{len(problems)} settings are invalid:{lines}")
