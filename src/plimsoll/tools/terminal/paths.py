"""Whether the words of a command refer to paths outside the project or to credential files.

Symbolic links are followed. A word counts as every path that it could be: the word itself, the part
after `=` or `:` (`--file=x`, `HEAD:x`), and the part after a one-letter option (`-fx`).
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from plimsoll.secrets import redact

_MAX_FILES = 20_000  # checked below a directory before a command reads all of it: about 50 ms


@dataclass(frozen=True, slots=True)
class Paths:
    """A project's root, and the name patterns of credential files."""

    root: Path
    credentials: Sequence[str]
    not_credentials: Sequence[str]
    sometimes_credentials: Sequence[str]
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
        """Why reading everything below these directories needs approval. Links are followed, as some programs do."""
        waiting, walked, seen = [directory / word for word in words], set[str](), 0
        while waiting:
            top = waiting.pop()
            for folder, folders, names in os.walk(top):
                real = os.path.realpath(folder)
                if real in walked:
                    folders.clear()
                    continue
                walked.add(real)
                seen += len(folders) + len(names)
                paths = [Path(folder, name) for name in (*folders, *names)]
                if reason := self.credential_among(paths):
                    return reason
                for link in filter(Path.is_symlink, paths):
                    if not self.is_inside(link):
                        return f"reads {link}, a link that points outside {self.root}"
                    waiting.append(link)
                if seen > _MAX_FILES:
                    return f"reads more than {_MAX_FILES:,} files below {top}"
        return None

    def credential_among(self, files: Iterable[Path]) -> str | None:
        """Why reading these files needs approval."""
        for file in files:
            names = (file, Path(os.path.realpath(file))) if file.is_symlink() else (file,)
            if any(self._is_credential(name) for name in names) and not self._is_without_secret(file):
                return f"reads {file}, which may contain credentials"
        return None

    def _is_without_secret(self, path: Path) -> bool:
        """Whether a file that every repository has turns out to contain no credentials."""
        if not _fits_one(path, self.sometimes_credentials):
            return False
        try:
            text = path.read_text("utf-8", "replace")
        except OSError:
            return False
        return redact(text) is text

    def _is_credential(self, path: Path) -> bool:
        if _fits_one(path, self.not_credentials):
            return False
        if any(part.lower() in self.credential_folders for part in path.parts):
            return True
        return _fits_one(path, (*self.credentials, *self.sometimes_credentials))


def _fits_one(path: Path, patterns: Iterable[str]) -> bool:
    """Whether the last name of a path, or its last two, fits one of these patterns."""
    parts = [part.lower() for part in path.parts[-2:]]
    last, last_two = parts[-1] if parts else "", "/".join(parts)
    return any(fnmatchcase(last_two if "/" in pattern else last, pattern) for pattern in patterns)


def _candidates(word: str) -> Iterator[str]:
    yield word
    for separator in "=:":
        if separator in word:
            yield from (part for part in word.split(separator)[1:] if part)
    if match := re.match(r"-\w(.+)", word, re.S):
        yield match[1]
