"""The agent's workspace: the project directory and the current directory.

    root        the user's project; writing outside it needs approval
    directory   follows `cd`; relative paths start here

Symbolic links are resolved, so a link out of the project counts as outside.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(slots=True)
class Workspace:
    """The workspace of one conversation. Only `directory` changes."""

    root: Path
    directory: Path = field(default_factory=Path)
    environment: Mapping[str, str] = field(
        default_factory=dict, repr=False
    )  # for commands; may contain secrets

    def __post_init__(self) -> None:
        self.root = Path(os.path.realpath(self.root))
        self.directory = Path(os.path.realpath(self.root / self.directory))

    def resolve(self, path: str) -> Path:
        """The absolute path that the model means: relative to the directory, with `~` and links resolved."""
        expanded = _with_home(path, self.environment.get("HOME"))
        return Path(os.path.realpath(self.directory / expanded))

    def is_inside(self, path: Path) -> bool:
        """Whether a resolved path is in the project."""
        return path == self.root or self.root in path.parents

    def shown(self, path: Path) -> str:
        """A path in its shortest form, relative to the directory if possible."""
        if path == self.directory:
            return "."
        if self.directory in path.parents:
            return str(path.relative_to(self.directory))
        return str(path)

    def existing_directory(self) -> Path:
        """The current directory, or the root if it no longer exists."""
        if not self.directory.is_dir():
            self.directory = self.root
        return self.directory


def _with_home(path: str, home: str | None) -> str:
    if home and (path == "~" or path.startswith("~/")):
        return home + path[1:]
    return path
