"""Programs that the user allowed permanently, by project: `approvals.json` in Plimsoll's home.

    {"/home/ada/harbour": ["git commit", "pytest"]}

Files inside the project are ignored, so that a cloned repository cannot allow anything.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from plimsoll.tools.files.disk import write_all
from plimsoll.tools.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Grants:
    """The file; None if permanent approval is not available."""

    file: Path | None = None

    def can_store(self, place: Workspace) -> bool:
        return self.file is not None and not place.is_inside(self.file.resolve())

    def of(self, place: Workspace) -> frozenset[str]:
        """The allowed programs of a project."""
        return frozenset(self._read().get(str(place.root), ())) if self.can_store(place) else frozenset()

    def add(self, place: Workspace, programs: Iterable[str]) -> None:
        if self.file is None or not self.can_store(place):
            return
        known = self._read()
        known[str(place.root)] = sorted({*known.get(str(place.root), ()), *programs})
        write_all({self.file: f"{json.dumps(known, indent=2, sort_keys=True)}\n".encode()})

    def _read(self) -> dict[str, list[str]]:
        """The file's contents; empty if it is missing or damaged, so the user is asked again."""
        assert self.file is not None
        try:
            found = json.loads(self.file.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        if not isinstance(found, dict):
            return {}
        return {
            str(project): [str(p) for p in named]
            for project, named in found.items()
            if isinstance(named, list)
        }
