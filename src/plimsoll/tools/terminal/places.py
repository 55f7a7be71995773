"""Where the paths of a command lead.

    outside   not below the project's root; the root itself; a path that only the shell can know
    beyond    the same, without the root itself
    system    files that the machine or the person's login depends on
    device    /dev, without the harmless ones

A path inside the project is none of these, wherever the project lies.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_GLOB = re.compile(r"[*?\[{]")
_HOME = re.compile(r"\$HOME\b|\$\{HOME\}|^~(?=/|$)")
_HERE = re.compile(r"\$PWD\b|\$\{PWD\}")


@dataclass(frozen=True, slots=True)
class Places:
    """The project, and the paths by their kind (with `~` for the home)."""

    root: Path
    home: str | None
    system: Sequence[str]
    device: Sequence[str]
    harmless: Sequence[str]

    def leads(self, word: str, kind: str, directory: Path | None) -> bool:
        """Whether a word of a command is a path of this kind; `directory` None: nobody knows where it stands."""
        path = self.path_of(word, directory)
        if path is None:
            return kind in ("outside", "beyond")
        if self.root in path.parents or (kind == "beyond" and path == self.root):
            return False
        if kind in ("outside", "beyond"):
            return True
        if _below(path, self.harmless):
            return False
        listed = self.system if kind == "system" else self.device
        return _below(path, [_HOME.sub(self.home or "~", entry) for entry in listed])

    def path_of(self, word: str, directory: Path | None) -> Path | None:
        """The path that a word names, up to its first wildcard; None where only the shell can know."""
        if self.home:
            word = _HOME.sub(lambda _: self.home or "", word)
        if directory is not None:
            word = _HERE.sub(lambda _: str(directory), word)
        if "$" in word or "\0" in word or (word.startswith("~") and not self.home):
            return None
        wild = _GLOB.search(word)
        if wild:
            word = word[: wild.start()].rpartition("/")[0] or ("/" if word.startswith("/") else ".")
        if directory is None and not word.startswith("/"):
            return None
        return Path(os.path.realpath((directory or Path("/")) / word))


def _below(path: Path, listed: Sequence[str]) -> bool:
    return any(path == Path(entry) or Path(entry) in path.parents for entry in listed)
