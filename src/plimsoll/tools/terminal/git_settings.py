"""Keeps git from running programs while it only reads.

Some settings of a repository can be overridden (`with_reading_settings`). The others are looked for, in submodules as
well, because git runs itself inside them (`program_in_git_settings`).
"""

import os
import subprocess
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

_SECONDS = 10
_SUBMODULE = "160000"  # the file mode of a submodule in git's index
_MAX_REPOSITORIES = 50  # submodules that are checked
_OVERRIDDEN = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "diff.ignoreSubmodules": "all",
    "log.showSignature": "false",
    "safe.bareRepository": "explicit",
}


def with_reading_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment in which git ignores the settings of a repository that can be overridden."""
    count = environment.get("GIT_CONFIG_COUNT", "0")
    first = int(count) if count.isdecimal() else 0
    more = {"GIT_CONFIG_COUNT": str(first + len(_OVERRIDDEN))}
    for number, (name, value) in enumerate(_OVERRIDDEN.items(), start=first):
        more |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return {**environment, **more}


def program_in_git_settings(
    directory: Path, environment: Mapping[str, str], patterns: Collection[str]
) -> str:
    """The first such setting, by name; empty if there is none."""
    seen: set[str] = set()
    waiting = [directory]
    while waiting:
        repository = waiting.pop()
        if (real := os.path.realpath(repository)) in seen:
            continue
        seen.add(real)
        if len(seen) > _MAX_REPOSITORIES:
            return f"one of more than {_MAX_REPOSITORIES} submodules"
        try:
            if found := _setting_in(repository, environment, patterns):
                return found
            waiting += _submodules(repository, environment)
        except (OSError, subprocess.SubprocessError):
            return "git config --list, which fails,"
    return ""


def _setting_in(repository: Path, environment: Mapping[str, str], patterns: Collection[str]) -> str:
    listing = ("config", "--includes", "--show-scope", "--name-only", "--list", "-z")
    parts = _output(listing, repository, environment, check=True)
    for scope, name in zip(parts[::2], parts[1::2], strict=False):
        is_own = scope in ("local", "worktree")
        if is_own and any(fnmatchcase(name.lower(), pattern) for pattern in patterns):
            return name
    return ""


def _submodules(repository: Path, environment: Mapping[str, str]) -> list[Path]:
    """The submodules that are checked out. Outside a repository, git fails and there are none."""
    top = _output(("rev-parse", "--show-toplevel"), repository, environment)[0].removesuffix("\n")
    if not top:
        return []
    entries = _output(("ls-files", "--stage", "-z"), Path(top), environment)
    paths = [entry.partition("\t")[2] for entry in entries if entry.startswith(_SUBMODULE)]
    return [Path(top, path) for path in paths if Path(top, path, ".git").exists()]


def _output(
    arguments: Sequence[str], directory: Path, environment: Mapping[str, str], *, check: bool = False
) -> list[str]:
    done = subprocess.run(
        ["git", *arguments],
        cwd=directory,
        env=with_reading_settings(environment),
        capture_output=True,
        timeout=_SECONDS,
        check=check,
    )
    return os.fsdecode(done.stdout).split("\0")
