"""Runs code with a copy of the package to whose data files something was added."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import plimsoll


def run_with_additions(folder: Path, added: Mapping[str, str], code: str, **environ: str) -> str:
    """What `code` prints; `added` is the text to append to files, by their paths inside the package."""
    package = folder / "plimsoll"
    shutil.copytree(Path(plimsoll.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for path, text in added.items():
        with (package / path).open("a", encoding="utf-8") as file:
            file.write(text)
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(folder),
            "PLIMSOLL_HOME": str(folder / "home"),
            **environ,
        },
        capture_output=True,
        text=True,
        cwd=folder,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
