"""Paths that the gateway forwards unchanged: embeddings, audio, images, files, batches. The list is in
`forwarded.toml`.

    client    POST /v1/files/file-1/content
    listed         /v1/files/{file}/content          `file` is one segment, without dots or slashes in any encoding
    upstream  base URL + /files/file-1/content       built from the list and the segment, not from the client's path
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from plimsoll.dialects.addresses import base_path, path_pattern, path_segment, with_path
from plimsoll.dialects.dialect import Dialect


@dataclass(frozen=True, slots=True)
class ForwardedPath:
    """One path. `stored`: it accesses objects in the account of the upstream key."""

    path: str
    methods: tuple[str, ...]
    stored: bool = False

    def values(self, path: str) -> dict[str, str] | None:
        """The parameters in a client's path, by name; None for another path."""
        found = path_pattern(self.path).fullmatch(path)
        return found.groupdict() if found else None

    def written(self, values: Mapping[str, str]) -> str:
        """The path with these values, each as one segment. Raises `UserError` for a dot segment."""
        return self.path.format_map({name: path_segment(value) for name, value in values.items()})


def forwarded_paths(dialect: str) -> tuple[ForwardedPath, ...]:
    """The paths that are forwarded to an upstream of this dialect."""
    return _paths().get(dialect, ())


def forwarded_url(dialect: Dialect, base_url: str, path: str) -> str:
    """The URL of a forwarded path at an upstream; a prefix such as `/upload` precedes the version."""
    before, _, rest = path.partition(dialect.models_paths[0].removesuffix("/models"))
    url = dialect.models_url(base_url).removesuffix("/models") + rest
    return with_path(url, before + base_path(url)) if before else url


@cache
def _paths() -> Mapping[str, tuple[ForwardedPath, ...]]:
    text = files("plimsoll.dialects").joinpath("forwarded.toml").read_text(encoding="utf-8")
    listed = tomllib.loads(text)
    return MappingProxyType(
        {
            name: tuple(map(_path, listed[rows] if isinstance(rows, str) else rows))
            for name, rows in listed.items()
        }
    )


def _path(row: dict[str, Any]) -> ForwardedPath:
    return ForwardedPath(row["path"], tuple(row["methods"]), row.get("stored", False))
