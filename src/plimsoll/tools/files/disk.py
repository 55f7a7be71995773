"""Atomic writes: a new file next to the old one, then a rename.

    .plimsoll-3f2a…  ── written, flushed ──►  rename  ──►  app.py

Links keep their target, files keep their mode, and several files are all prepared before
the first rename. Blocking: call it in a thread.
"""

import contextlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex

from plimsoll.tools.workspace import Workspace


def unwritable(path: Path, place: Workspace) -> str | None:
    """Why a path cannot be written; None if it can."""
    shown = place.shown(path)
    if path.is_dir():
        return f"{shown} is a directory"
    if path.exists():
        if not stat.S_ISREG(path.stat().st_mode):
            return f"{shown} is not a regular file"
        if not os.access(path, os.W_OK):
            return f"{shown} is read-only"
    above = next((folder for folder in path.parents if folder.exists()), None)
    if above is not None and not above.is_dir():
        return f"{place.shown(above)} is a file, not a directory"
    return None


def outside_reason(path: Path, place: Workspace) -> str | None:
    """Why writing to a path needs approval; None if it does not."""
    return None if place.is_inside(path) else f"writes to {path}, outside {place.root}"


def write_all(contents: Mapping[Path, bytes]) -> None:
    """Write every file, or none if one cannot be prepared."""
    prepared: dict[Path, Path] = {}
    try:
        for path, data in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            prepared[path] = path.parent / f".plimsoll-{token_hex(8)}"
            _write_new(prepared[path], data, path)
        for path, temporary in list(prepared.items()):
            temporary.replace(path)
            del prepared[path]
    finally:
        for temporary in prepared.values():
            temporary.unlink(missing_ok=True)


def _write_new(temporary: Path, data: bytes, like: Path) -> None:
    # Not opened with `tempfile`, so that a new file gets the permissions of the user's umask.
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        with contextlib.suppress(FileNotFoundError):
            was = like.stat()
            with contextlib.suppress(PermissionError):
                os.chown(handle, was.st_uid, was.st_gid)
            os.fchmod(handle, stat.S_IMODE(was.st_mode))
        os.fsync(handle)
