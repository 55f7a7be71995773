"""Whether the words of a command refer to paths outside the project or to credential files.

Symbolic links are followed. A word counts as every path that it could be: the word itself, the part
after `=` or `:` (`--file=x`, `HEAD:x`), and the part after a one-letter option (`-fx`).
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

_MOST_FILES = 20_000  # checked below a directory before a command reads all of it: about 50 ms


@dataclass(frozen=True, slots=True)
class Paths:
    """A project's root, and the name patterns of credential files."""

    root: Path
    credentials: Sequence[str]
    not_credentials: Sequence[str]
    credential_folders: Sequence[str]

    def is_inside(self, path: Path) -> bool:
        real = Path(os.path.realpath(path))
        return real == self.root or self.root in real.parents

    def problem(self, word: str, directory: Path, *, names_only: bool = False) -> str | None:
        """Why a word needs approval; `names_only`: the file is named but not read."""
        for candidate in _candidates(word):
            if candidate == "/dev/null":
                continue
            path = directory / candidate
            if not self.is_inside(path):
                return f"uses {candidate}, outside {self.root}"
            if not names_only and (
                self._is_credential(path) or self._is_credential(Path(os.path.realpath(path)))
            ):
                return f"reads {candidate}, which may contain credentials"
        return None

    def tree_problem(self, words: Sequence[str], directory: Path) -> str | None:
        """Why reading everything below these directories needs approval."""
        seen = 0
        for word in words:
            for folder, folders, names in os.walk(directory / word):
                for name in (*folders, *names):
                    seen += 1
                    path = Path(folder, name)
                    if self._is_credential(path):
                        return f"reads {path}, which may contain credentials"
                    if path.is_symlink() and not self.is_inside(path):
                        return f"reads {path}, a link that points outside {self.root}"
                if seen > _MOST_FILES:
                    return f"reads more than {_MOST_FILES:,} files below {word}"
        return None

    def _is_credential(self, path: Path) -> bool:
        parts = [part.lower() for part in path.parts]
        last, last_two = parts[-1] if parts else "", "/".join(parts[-2:])
        if any(fnmatchcase(last, pattern) for pattern in self.not_credentials):
            return False
        if any(part in self.credential_folders for part in parts):
            return True
        return any(fnmatchcase(last_two if "/" in name else last, name) for name in self.credentials)


def _candidates(word: str) -> Iterator[str]:
    yield word
    for separator in "=:":
        if separator in word:
            yield from (part for part in word.split(separator)[1:] if part)
    if match := re.match(r"-\w(.+)", word, re.S):
        yield match[1]
