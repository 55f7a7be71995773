"""A project as an attacker would prepare it, and what the terminal decides in it."""

import os
import stat
import subprocess
from pathlib import Path

from plimsoll.tools import Workspace
from plimsoll.tools.terminal.approval import approval_for

IDENTITY = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")


def git(directory: Path, *arguments: str) -> None:
    subprocess.run(["git", *IDENTITY, *arguments], cwd=directory, check=True, capture_output=True)


def project_with_traps(parent: Path) -> Workspace:
    """Credentials, links that lead outside, files named like options, and a program called `canary`."""
    root, beside, home = parent / "project", parent / "beside", parent / "home"
    for folder in (root / "src", root / "tests", root / "traps", beside, home / ".ssh"):
        folder.mkdir(parents=True)
    for name in ("src/a.py", "src/app.py", "src/util.py", "notes.txt", "README.md"):
        (root / name).write_text("foo = 1\n" * 30, "utf-8")
    (root / "package.json").write_text('{"name": "x", "scripts": {"test": "x"}}\n', "utf-8")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    git(root, "commit", "-qm", "second", "--allow-empty")
    for path in (root / ".env", root / "secret.pem", beside / "id", home / ".ssh" / "id_rsa"):
        path.write_text("KEY=value\n", "utf-8")
    (root / "out").symlink_to(beside)
    (root / "key").symlink_to(beside / "id")
    (root / "src" / "linked.py").symlink_to("/etc/passwd")
    for name in ("--pre=.canary", "-ostolen", "--output=stolen"):
        (root / "traps" / name).write_text("x\n", "utf-8")
    canary = root / "canary"
    canary.write_text("#!/bin/sh\ntouch ran\n", "utf-8")
    canary.chmod(canary.stat().st_mode | stat.S_IXUSR)
    return Workspace(root, environment={"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"})


def asks(command: str, place: Workspace, **allowed: frozenset[str]) -> str | None:
    """Why a person would be asked about a command; None where it runs at once."""
    return approval_for(command, place.directory, place, **allowed).reason
