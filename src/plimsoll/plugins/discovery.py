"""Discovers plugins without importing them.

    $PLIMSOLL_HOME/plugins/context_engine/<name>/       engines
    $PLIMSOLL_HOME/plugins/<name>/                      general plugins
    ./.plimsoll/plugins/…                               the same in a project, once trusted
    entry points of the group `plimsoll`                installed packages

Discovery reads folder names and `plugin.yaml`. It also returns folders that may not run, with
the reason.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Literal

from plimsoll.errors import PluginError
from plimsoll.plugins.manifest import Manifest, read_manifest
from plimsoll.plugins.offers import COMPRESSOR
from plimsoll.plugins.trust import TrustFile

GROUP = "plimsoll"
ENGINES = "context_engine"
NAME = r"[A-Za-z0-9][A-Za-z0-9_-]*"
Where = Literal["home", "project", "installed"]


@dataclass(frozen=True, slots=True)
class PluginLocations:
    """Where to look, and what the configuration allows."""

    home: Path
    project: Path
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    enabled: tuple[str, ...] = ()

    @property
    def folders(self) -> tuple[tuple[Where, Path], ...]:
        """The plugin folders, the user's own first."""
        own, in_project = self.home / "plugins", self.project / ".plimsoll" / "plugins"
        if own.resolve() == in_project.resolve():  # the project folder contains the home
            return (("home", own),)
        return (("home", own), ("project", in_project))


@dataclass(frozen=True, slots=True)
class DiscoveredPlugin:
    """A discovered plugin. `obstacle` states why it cannot be loaded; empty if it can."""

    name: str
    kind: Literal["engine", "general"]
    where: Where
    manifest: Manifest
    path: Path | None = None
    entry: EntryPoint | None = None
    obstacle: str = ""

    @property
    def source(self) -> str:
        """Where it comes from, as text."""
        return str(self.path) if self.path else f"package {_package(self.entry)}"


def find_plugins(locations: PluginLocations) -> tuple[DiscoveredPlugin, ...]:
    """Every plugin in the order in which a name is looked up: home, project, installed packages."""
    engines, general = [], []
    for where, folder in locations.folders:
        engines += [_folder(path, "engine", where, locations) for path in _packages(folder / ENGINES)]
        general += [
            _folder(path, "general", where, locations) for path in _packages(folder) if path.name != ENGINES
        ]
    installed = [_installed(entry) for entry in sorted(_entries(), key=lambda item: item.name)]
    return (*engines, *general, *installed)


def plugin_at(path: Path, environ: Mapping[str, str]) -> DiscoveredPlugin:
    """The plugin in a folder that the user named, which counts as trusted."""
    if not path.is_dir():
        raise PluginError(f"{path} is not a folder. Name the folder that contains the plugin's __init__.py.")
    if not (path / "__init__.py").is_file():
        raise PluginError(f"{path} contains no __init__.py, so it is not a plugin.")
    manifest = read_manifest(path)
    kind: Literal["engine", "general"] = "engine" if path.resolve().parent.name == ENGINES else "general"
    name = path.resolve().name
    return DiscoveredPlugin(name, kind, "home", manifest, path, obstacle=_missing(name, manifest, environ))


def _packages(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from (path for path in sorted(folder.iterdir()) if (path / "__init__.py").is_file())


def _folder(
    path: Path, kind: Literal["engine", "general"], where: Where, locations: PluginLocations
) -> DiscoveredPlugin:
    manifest, obstacle = Manifest(), ""
    try:
        manifest = read_manifest(path)
        obstacle = _untrusted(path, locations.home) if where == "project" else ""
    except PluginError as error:
        obstacle = str(error)
    if kind == "engine" and path.name == COMPRESSOR:
        obstacle = f"the name {COMPRESSOR} always means the built-in engine. Rename the folder {path}."
    elif not re.fullmatch(NAME, path.name):
        obstacle = f"{path.name!r} is not a valid plugin name; use letters, digits, - and _."
    obstacle = obstacle or _missing(path.name, manifest, locations.environ)
    return DiscoveredPlugin(path.name, kind, where, manifest, path, obstacle=obstacle)


def _installed(entry: EntryPoint) -> DiscoveredPlugin:
    about = entry.dist.metadata if entry.dist else None
    manifest = Manifest(
        name=entry.name,
        version=entry.dist.version if entry.dist else "",
        description=str(about["Summary"] or "") if about else "",
        author=str(about["Author"] or "") if about else "",
    )
    obstacle = f"the name {COMPRESSOR} always means the built-in engine." if entry.name == COMPRESSOR else ""
    return DiscoveredPlugin(entry.name, "general", "installed", manifest, entry=entry, obstacle=obstacle)


def _entries() -> Iterator[EntryPoint]:
    yield from entry_points(group=GROUP)


def _package(entry: EntryPoint | None) -> str:
    return entry.dist.name if entry and entry.dist else "unknown"


def _untrusted(path: Path, home: Path) -> str:
    state = TrustFile.under(home).state(path)
    if state == "trusted":
        return ""
    was = (
        "has changed since it was trusted"
        if state == "changed"
        else "belongs to a project and is not trusted"
    )
    return f"{path} {was}. Read it, then `plimsoll plugins trust {path}`."


def _missing(name: str, manifest: Manifest, environ: Mapping[str, str]) -> str:
    missing = manifest.missing(environ)
    if not missing:
        return ""
    return f"plugin {name!r} needs {', '.join(missing)} in the environment, and it is not set."
