"""File search without ripgrep: a standalone script that imports nothing from Plimsoll.

    arguments, one line of JSON ──► this script ──► ["path", line, "text", start of the match]  one per line

It walks directories in order of name, skips .git, binary files and what .gitignore lists, and follows no links. To
stop a search, kill the script.
"""

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_LONGEST_LINE = 1_000_000  # bytes; a longer line is searched in pieces
_SHOWN = 300
_BEFORE = 100  # characters before the match


class IgnoreRules:
    """The rules of .gitignore files, from the top of a repository down to one directory."""

    def __init__(self, rules: tuple[tuple[str, Any], ...] = ()) -> None:
        self._rules = rules

    def below(self, directory: str) -> "IgnoreRules":
        """The rules that apply inside a directory."""
        import pathspec

        try:
            with Path(directory, ".gitignore").open(encoding="utf-8", errors="replace") as file:
                spec = pathspec.GitIgnoreSpec.from_lines(file)
        except OSError:
            return self
        return IgnoreRules((*self._rules, (directory, spec)))

    def holds(self, path: str, is_directory: bool) -> bool:
        """Whether a path is ignored; the nearest directory with a matching rule decides."""
        for directory, spec in reversed(self._rules):
            relative = os.path.relpath(path, directory)
            decided = spec.check_file(relative + "/" if is_directory else relative).include
            if decided is not None:
                return bool(decided)
        return False


def above(directory: str) -> IgnoreRules:
    """The rules that apply to a directory from its enclosing repository."""
    chain = [directory]
    while not Path(chain[-1], ".git").exists():
        parent = str(Path(chain[-1]).parent)
        if parent == chain[-1]:
            return IgnoreRules()
        chain.append(parent)
    ignored = IgnoreRules()
    for folder in reversed(chain[1:]):
        ignored = ignored.below(folder)
    # A user who names an ignored directory wants to search it.
    return IgnoreRules() if ignored.holds(directory, is_directory=True) else ignored


def walk(directory: str, ignored: IgnoreRules) -> Iterator[str]:
    """Every file below a directory that is not ignored, in order of path."""
    ignored = ignored.below(directory)
    try:
        with os.scandir(directory) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        is_directory = entry.is_dir(follow_symlinks=False)
        if entry.is_symlink() or entry.name == ".git" or ignored.holds(entry.path, is_directory):
            continue
        if is_directory:
            yield from walk(entry.path, ignored)
        elif entry.is_file(follow_symlinks=False):
            yield entry.path


def fits(path: str, top: str, glob: re.Pattern[str] | None) -> bool:
    """Whether a path matches the glob, by its name or relative to the top."""
    if glob is None:
        return True
    return bool(glob.fullmatch(os.path.relpath(path, top).replace(os.sep, "/")))


def matches(path: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, str, int]]:
    """The matching lines of a file: number, text around the match, offset of the match."""
    try:
        with Path(path).open("rb") as file:
            if b"\0" in file.read(8_192):
                return
            file.seek(0)
            number, starts_line = 0, True
            while raw := file.readline(_LONGEST_LINE):
                number += starts_line
                starts_line = raw.endswith(b"\n")
                line = raw.decode("utf-8", "replace").rstrip("\r\n")
                found = pattern.search(line)
                if found:
                    cut = max(0, found.start() - _BEFORE)
                    yield number, line[cut : cut + _SHOWN], found.start() - cut
    except OSError:
        return


def main() -> None:
    wanted = json.loads(sys.argv[1])
    top = wanted["path"]
    glob = re.compile(wanted["glob"]) if wanted["glob"] else None
    pattern = None
    if wanted["pattern"] is not None:
        try:
            pattern = re.compile(wanted["pattern"], re.IGNORECASE if wanted["ignore_case"] else 0)
        except (re.error, OverflowError, RecursionError) as error:
            print(f"the pattern is not a valid regular expression: {error}", file=sys.stderr)
            sys.exit(2)
    files = [top] if Path(top).is_file() else walk(top, above(top))
    for path in files:
        if path != top and not fits(path, top, glob):
            continue
        if pattern is None:
            print(json.dumps([path]))
            continue
        for number, text, start in matches(path, pattern):
            print(json.dumps([path, number, text, start]))


if __name__ == "__main__":
    main()
