"""Lists every engine and plugin that can be chosen or enabled, without running plugin code.

    engines    compressor, …, every folder in plugins/context_engine/, plugins that declare themselves as engines
    general    every other plugin, enabled or not

Unusable ones are listed too, with the reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from plimsoll.plugins.builtin import SOURCE, built_in_engines
from plimsoll.plugins.discovery import ENGINES, DiscoveredPlugin, PluginLocations, find_plugins
from plimsoll.plugins.manifest import Manifest
from plimsoll.plugins.offers import COMPRESSOR
from plimsoll.plugins.registry import registered_engines
from plimsoll.plugins.resolution import ENABLED_KEY, ENGINE_KEY, PROGRAM


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
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
    """All engines and plugins, the built-in engines first."""

    engines: tuple[CatalogueEntry, ...]
    general: tuple[CatalogueEntry, ...]

    def find(self, name: str) -> CatalogueEntry | None:
        """The entry for a name, in the order in which engines are resolved."""
        named = [entry for entry in (*self.engines, *self.general) if entry.name == name]
        usable = [
            entry for entry in named if not entry.obstacle and (entry.is_built_in or name != COMPRESSOR)
        ]
        last = (PROGRAM, SOURCE)  # folders and packages take precedence
        usable.sort(key=lambda item: last.index(item.source) + 1 if item.source in last else 0)
        return next(iter((*usable, *named)), None)

    def serving(self, name: str) -> CatalogueEntry:
        """The entry that is used if the settings name this engine: the built-in one if it is unusable."""
        found = self.find(name)
        return found if found and not found.obstacle else self.engines[0]

    def tried(self, engine: str, failed: Mapping[tuple[str, str], str]) -> "Catalogue":
        """The catalogue after loading the plugins that the settings name; `failed` has those that cannot be used."""
        reason = failed.get((ENGINE_KEY, engine), "")
        broken = self.find(engine) if reason else None

        def checked(entry: CatalogueEntry) -> CatalogueEntry:
            if entry == broken:
                return replace(entry, obstacle=entry.obstacle or reason)
            names = (entry.name, entry.manifest.name) if entry.is_enabled else ()
            reasons = (failed[ENABLED_KEY, name] for name in names if (ENABLED_KEY, name) in failed)
            return replace(entry, obstacle=entry.obstacle or next(reasons, ""))

        return Catalogue(tuple(map(checked, self.engines)), tuple(map(checked, self.general)))


def catalogue(locations: PluginLocations) -> Catalogue:
    """The current catalogue."""
    found = find_plugins(locations)
    engines = [CatalogueEntry(offer.name, offer.description, offer.source) for offer in built_in_engines()]
    engines += [CatalogueEntry(engine.name, engine.description, PROGRAM) for engine in registered_engines()]
    engines += [_entry(plugin, locations) for plugin in found if _is_engine(plugin)]
    general = [_entry(plugin, locations) for plugin in found if plugin.kind == "general"]
    general = [entry for entry in general if entry not in engines or entry.is_enabled]
    return Catalogue(tuple(engines), tuple(general))


def _is_engine(found: DiscoveredPlugin) -> bool:
    """Whether it looks like an engine; unknown for an installed package that the settings do not name."""
    says_so = found.manifest.kind.replace("-", "_") == ENGINES
    return found.kind == "engine" or found.where == "installed" or says_so


def _entry(found: DiscoveredPlugin, locations: PluginLocations) -> CatalogueEntry:
    names = {found.name, found.manifest.name} - {""}
    return CatalogueEntry(
        found.name,
        found.manifest.description,
        found.source,
        found.manifest,
        found.obstacle,
        is_enabled=found.kind == "general" and not names.isdisjoint(locations.enabled),
    )
