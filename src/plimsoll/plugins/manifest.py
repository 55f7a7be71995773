"""Reads `plugin.yaml` without running the plugin.

    name: keep-ends
    version: 1.0.0
    description: Keeps both ends of a conversation.
    author: You
    kind: context_engine
    requires_env: [KEEP_ENDS_KEY]
    provides_tools: [keep_grep]

Every key is optional, and so is the file. Unknown keys are ignored, because a plugin may be written for other hosts
too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent

from plimsoll.errors import PluginError

FILE_NAMES = ("plugin.yaml", "plugin.yml")
MAX_BYTES = 64_000  # maximum size of a manifest; known plugins have less than 2,000
MAX_LEVELS = 50  # of nested lists and mappings; parsing time is quadratic in the depth


@dataclass(frozen=True, slots=True)
class Manifest:
    """A plugin's description of itself."""

    name: str = ""
    version: str = ""
    description: str = ""
    author: str = ""
    kind: str = ""
    requires_env: tuple[str, ...] = ()
    provides_tools: tuple[str, ...] = ()

    def missing(self, environ: Mapping[str, str]) -> list[str]:
        """The required variables that are not set."""
        return [name for name in self.requires_env if not environ.get(name)]


def read_manifest(directory: Path) -> Manifest:
    """The manifest in a directory, empty if there is none; raises `PluginError` if it cannot be read."""
    path = next((directory / name for name in FILE_NAMES if (directory / name).is_file()), None)
    if path is None:
        return Manifest()
    try:
        read = _read(path)
    except (OSError, UnicodeDecodeError, YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        raise PluginError(f"{path} cannot be read: {reason}. Correct it; every key is optional.") from None
    if read is None:
        return Manifest()
    if not isinstance(read, dict):
        raise PluginError(f"{path} contains no keys. Write `name:`, `version:` and so on, one per line.")
    return Manifest(
        **{key: _text(read.get(key)) for key in ("name", "version", "description", "author", "kind")},
        requires_env=_names(path, "requires_env", read.get("requires_env")),
        provides_tools=_names(path, "provides_tools", read.get("provides_tools")),
    )


def _read(path: Path) -> Any:
    with path.open("rb") as file:
        raw = file.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise ValueError(f"it has more than {MAX_BYTES:,} bytes")
    text = raw.decode("utf-8")
    _check_structure(text)
    return YAML(typ="safe", pure=True).load(text)


def _check_structure(text: str) -> None:
    """Reject YAML that takes long to parse: a few nested aliases expand to billions of entries."""
    levels = 0
    for event in YAML(typ="safe", pure=True).parse(text):
        if isinstance(event, AliasEvent):
            raise ValueError("it has an alias (*name); write the value out")
        levels += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        if levels > MAX_LEVELS:
            raise ValueError(f"it has more than {MAX_LEVELS} levels of lists and mappings")


def _text(value: Any) -> str:
    return "" if value is None else " ".join(str(value).split())


def _names(path: Path, key: str, value: Any) -> tuple[str, ...]:
    """A list of names; an entry may also be a mapping that has a `name`."""
    if value is None:
        return ()
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, Sequence):
        raise PluginError(f"{path}: {key} is not a list of names. Write `{key}: [ONE, TWO]`.")
    names = [entry.get("name") if isinstance(entry, Mapping) else entry for entry in value]
    return tuple(str(name) for name in names if name)
