"""Trust in project plugins: granted by the user, for exactly the folder's current contents.

    plimsoll plugins trust PATH ──► $PLIMSOLL_HOME/plugins/trusted.json  {"/the/path": "sha256 of its files"}

A cloned repository must not run code, so nothing in a project is imported before its folder is trusted. When any file
in it changes, it must be trusted again. Compiled files in `__pycache__` are not included, and never run.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from plimsoll.errors import PluginError, advice_on

State = Literal["trusted", "changed", "unknown"]
_CACHE = "__pycache__"


def contents(directory: Path) -> dict[str, str]:
    """The hash of every file below a directory, by its relative path."""
    try:
        return {
            path.relative_to(directory).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(_files(directory))
        }
    except OSError as error:
        raise PluginError(f"{directory} cannot be read: {error.strerror}. {advice_on(error)}") from None


def fingerprint(directory: Path) -> str:
    """One hash over every name and every byte below a directory."""
    return _fingerprint(contents(directory))


def _fingerprint(files: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class TrustFile:
    """The folders that the user trusts, by their real path."""

    path: Path

    @classmethod
    def under(cls, home: Path) -> "TrustFile":
        """The trust file in a home directory."""
        return cls(home / "plugins" / "trusted.json")

    def state(self, directory: Path) -> State:
        """Whether a folder may run in its current state."""
        return self._state_of(directory.resolve())[0]

    def trusted_files(self, directory: Path) -> dict[str, str]:
        """The hashes of a trusted folder's files, by real path: only these may run."""
        real = directory.resolve()
        state, files = self._state_of(real)
        if state != "trusted":
            raise PluginError(
                f"{directory} has changed since it was trusted. Review it, then trust it again."
            )
        return {str(real / name): digest for name, digest in files.items()}

    def _state_of(self, real: Path) -> tuple[State, dict[str, str]]:
        known = self._read().get(str(real))
        if known is None:
            return "unknown", {}
        files = contents(real)
        return ("trusted" if known == _fingerprint(files) else "changed"), files

    def trust(self, directory: Path) -> None:
        """Trust a folder until its contents change."""
        real = directory.resolve()
        self._write({**self._read(), str(real): fingerprint(real)})

    def untrust(self, directory: Path) -> bool:
        """Revoke the trust. Returns whether the folder was trusted. The folder may no longer exist."""
        known = self._read()
        if known.pop(str(directory.resolve()), None) is None:
            return False
        self._write(known)
        return True

    def _read(self) -> dict[str, str]:
        try:
            read = json.loads(self.path.read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise PluginError(f"{self.path} cannot be read: {error}. Remove it and trust again.") from None
        if not isinstance(read, dict):
            raise PluginError(f"{self.path} is not a list of trusted folders. Remove it and trust again.")
        return {str(path): str(value) for path, value in read.items()}

    def _write(self, known: dict[str, str]) -> None:
        text = json.dumps(known, indent=2, sort_keys=True) + "\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=self.path.parent, prefix=".trusted.")
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            Path(name).replace(self.path)
        except OSError as error:
            raise PluginError(
                f"{self.path} cannot be written: {error.strerror}. {advice_on(error)}"
            ) from None


def _files(directory: Path) -> list[Path]:
    found = []
    for folder, names, files in os.walk(directory):
        root = Path(folder)
        names[:] = [name for name in names if name != _CACHE]
        for name in names:
            if (root / name).is_symlink():
                # The target of a link could change without a change here.
                raise PluginError(
                    f"{root / name} is a link to another folder. Copy that folder in its place."
                )
        found += [root / name for name in files]
    return found
