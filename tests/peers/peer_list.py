"""The pinned programs of `peers.toml`, and where they are installed.

    peers.toml ──► Peer ──► .local/peers/<name>/     an environment of its own
                                         .installed  the packages that are in it, written last

Imports only the standard library.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".local" / "peers"
LIST = Path(__file__).with_name("peers.toml")
TESTS = "tests/peers"


@dataclass(frozen=True, slots=True)
class Peer:
    """One program that somebody else wrote, at a fixed version."""

    name: str
    registry: str
    packages: tuple[str, ...]
    purpose: str
    used_by: str = TESTS
    extra: str = ""  # of Plimsoll, which is installed beside the packages
    needs_python: str = ""  # the version that a PyPI peer needs, where ours may be too old

    @property
    def wanted(self) -> list[str]:
        """What the environment must have."""
        return [*self.packages, *([f"plimsoll[{self.extra}]"] if self.extra else [])]

    @property
    def folder(self) -> Path:
        """Its environment."""
        return FOLDER / self.name

    @property
    def stamp(self) -> Path:
        """The file that says which packages were installed completely."""
        return self.folder / ".installed"

    @property
    def is_installed(self) -> bool:
        """Whether the pinned packages are in the environment."""
        return self.stamp.is_file() and self.stamp.read_text("utf-8").split() == self.wanted

    @property
    def versions(self) -> str:
        """Its packages with their versions; for Debian, the version that was found when it was installed."""
        if self.registry == "debian":
            name = self.packages[0].partition(">=")[0]
            return f"{name} {(self.folder / 'version').read_text('utf-8').strip()}"
        return ", ".join(
            re.sub(r"(\[.*\])?(==|(?<=.)@)(?=[^@=]*$)", " ", package) for package in self.packages
        )

    @property
    def python(self) -> Path:
        """The interpreter of a PyPI peer."""
        return self.folder / "bin" / "python"

    def program(self, command: str) -> Path:
        """The file that a command of this peer is."""
        binaries = "node_modules/.bin" if self.registry == "npm" else "bin"
        return self.folder / binaries / command


def read_peers() -> dict[str, Peer]:
    """Every peer by name, in the order of the list."""
    listed = tomllib.loads(LIST.read_text("utf-8"))
    return {
        name: Peer(
            name,
            entry["registry"],
            tuple(entry["packages"]),
            entry["purpose"],
            entry.get("used_by", TESTS),
            entry.get("extra", ""),
            entry.get("python", ""),
        )
        for name, entry in listed.items()
    }
