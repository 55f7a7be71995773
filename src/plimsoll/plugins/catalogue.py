"""Everything that can be chosen or enabled, for a person to look at. Nothing of a plugin runs.

    engines    compressor, …, every folder in plugins/context_engine/, plugins that say that they are engines
    general    every other plugin, enabled or not

What cannot be used is listed too, with the reason.
"""

from dataclasses import dataclass, field

from plimsoll.plugins.builtin import SOURCE, built_in_engines
from plimsoll.plugins.manifest import Manifest
from plimsoll.plugins.offers import COMPRESSOR
from plimsoll.plugins.outfit import PROGRAM
from plimsoll.plugins.places import ENGINES, Found, Surroundings, find_plugins
from plimsoll.plugins.registry import registered_engines


@dataclass(frozen=True, slots=True)
class Entry:
    """One engine or plugin."""

    name: str
    description: str
    source: str
    manifest: Manifest = field(default_factory=Manifest)
    obstacle: str = ""
    is_enabled: bool = False

    @property
    def is_built_in(self) -> bool:
        return self.source == SOURCE


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What there is, the built-in engines first."""

    engines: tuple[Entry, ...]
    general: tuple[Entry, ...]

    def find(self, name: str) -> Entry | None:
        """The entry that a name means, by the order in which engines are resolved."""
        named = [one for one in (*self.engines, *self.general) if one.name == name]
        usable = [one for one in named if not one.obstacle and (one.is_built_in or name != COMPRESSOR)]
        last = (PROGRAM, SOURCE)  # what is in a folder or a package outranks these
        usable.sort(key=lambda one: last.index(one.source) + 1 if one.source in last else 0)
        return next(iter((*usable, *named)), None)


def catalogue(surroundings: Surroundings) -> Catalogue:
    """What there is now."""
    found = find_plugins(surroundings)
    engines = [Entry(one.name, one.description, one.source) for one in built_in_engines()]
    engines += [Entry(one.name, one.description, PROGRAM) for one in registered_engines()]
    engines += [_entry(one, surroundings) for one in found if _is_engine(one)]
    general = [_entry(one, surroundings) for one in found if one.kind == "general"]
    general = [one for one in general if one not in engines or one.is_enabled]
    return Catalogue(tuple(engines), tuple(general))


def _is_engine(found: Found) -> bool:
    """Whether it is an engine as far as one can see; of a package nobody knows before it is named."""
    says_so = found.manifest.kind.replace("-", "_") == ENGINES
    return found.kind == "engine" or found.where == "installed" or says_so


def _entry(found: Found, surroundings: Surroundings) -> Entry:
    names = {found.name, found.manifest.name} - {""}
    return Entry(
        found.name,
        found.manifest.description,
        found.source,
        found.manifest,
        found.obstacle,
        is_enabled=found.kind == "general" and not names.isdisjoint(surroundings.enabled),
    )
