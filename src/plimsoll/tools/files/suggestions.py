"""Suggests existing paths close to a missing one.

src/modle.py is not there. Near it: src/model.py, lib/modle.py
"""

import os
from difflib import get_close_matches
from pathlib import Path

from plimsoll.tools.workspace import Workspace

_MAX_NAMES = 5  # in an error message
_MAX_ENTRIES = 5_000  # entries; searching more is not worth it
_SKIPPED = frozenset({".git", "node_modules", ".venv", "__pycache__"})


def missing(path: Path, place: Workspace) -> str:
    """The error for a missing path."""
    if path.is_file():
        return f"{place.shown(path)} is a file, not a directory"
    near = nearest(path, place)
    hint = f" Similar names: {', '.join(near)}." if near else ""
    return f"{place.shown(path)} does not exist (working directory {place.directory}).{hint}"


def nearest(path: Path, place: Workspace) -> list[str]:
    """Paths that may have been meant: similar names in the same folder, the same name elsewhere in the project."""
    parent = path.parent
    while not parent.is_dir() and parent != parent.parent:
        parent = parent.parent
    wanted = path.relative_to(parent).parts[0] if path != parent else path.name
    siblings = _names(parent)
    lowered = {name.lower(): name for name in siblings}
    close = [lowered[name] for name in get_close_matches(wanted.lower(), lowered, _MAX_NAMES, 0.6)]
    found = [place.shown(parent / name) for name in close]
    found += [place.shown(other) for other in _same_name(path.name, place.root)]
    return list(dict.fromkeys(found))[:_MAX_NAMES]


def _names(directory: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in directory.iterdir())[:_MAX_ENTRIES]
    except OSError:
        return []


def _same_name(name: str, root: Path) -> list[Path]:
    found: list[Path] = []
    seen = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(entry for entry in folders if entry not in _SKIPPED)
        seen += len(folders) + len(names)
        if name in names or name in folders:
            found.append(Path(folder, name))
        if seen > _MAX_ENTRIES or len(found) >= _MAX_NAMES:
            break
    return found
