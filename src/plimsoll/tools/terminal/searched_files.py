"""The files that ripgrep would read. Ignore files and globs decide, so ripgrep itself lists them."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

_SECONDS = 10


def searched_files(selection: Sequence[str], directory: Path, environment: Mapping[str, str]) -> list[Path]:
    """The files below the paths in `selection`, which begins with the options that select files."""
    listing = ["rg", "--files", "--null", "--no-messages", *selection]
    try:
        done = subprocess.run(
            listing,
            cwd=directory,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
        )
    except FileNotFoundError:  # then the command fails too
        return []
    return [directory / name for name in os.fsdecode(done.stdout).split("\0") if name]
