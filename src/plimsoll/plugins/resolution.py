"""Resolves the plugins of a conversation: the engine that the configuration names, and every enabled plugin.

    context.engine: X ──► compressor?  the built-in, whatever a folder is called
                      ──► 1  plugins/context_engine/X/      home, then the project if it is trusted
                      ──► 2  engines registered as X         enabled plugins, the plugin X, this program, built-ins
                      ──► 3  the built-in compressor         with a notice

Plugin code runs only if `plugins.enabled` or `context.engine` names it. A broken plugin is reported in `problems`;
the conversation always has an engine.
"""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from plimsoll.context import ContextEngine
from plimsoll.errors import PluginError
from plimsoll.plugins.builtin import built_in_engines
from plimsoll.plugins.discovery import DiscoveredPlugin, PluginLocations, find_plugins
from plimsoll.plugins.hermes import Services
from plimsoll.plugins.loading import Plugin, engine_offer, load_plugin
from plimsoll.plugins.offers import COMPRESSOR, EngineContext, EngineOffer
from plimsoll.plugins.registration import PluginCommand
from plimsoll.plugins.registry import registered_engines
from plimsoll.tools import Tool

PROGRAM = "this program"
ENGINE_KEY, ENABLED_KEY = "context.engine", "plugins.enabled"
Hook = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class ResolvedPlugins:
    """The engine of a conversation and the tools, hooks and commands of plugins; `problems` are for the user."""

    engine: ContextEngine
    source: str
    tools: tuple[Tool, ...] = ()
    hooks: tuple[tuple[str, Hook], ...] = ()
    commands: tuple[PluginCommand, ...] = ()
    problems: tuple[str, ...] = ()
    failed: Mapping[tuple[str, str], str] = field(default_factory=dict)  # (setting, name): why it is not used

    def hooks_named(self, name: str) -> tuple[Hook, ...]:
        """The functions that plugins registered for a hook, in order."""
        return tuple(function for moment, function in self.hooks if moment == name)


def resolve_plugins(name: str, locations: PluginLocations, context: EngineContext) -> ResolvedPlugins:
    """Resolve everything for a conversation whose configuration names this engine."""
    search = _Resolver(locations, context)
    search.load_enabled()
    engine, source = search.engine(name)
    loaded = [plugin.registered for plugin in search.plugins]
    return ResolvedPlugins(
        engine,
        source,
        tools=tuple(search.distinct_tools()),
        hooks=tuple(hook for plugin in loaded for hook in plugin.hooks),
        commands=tuple(command for plugin in loaded for command in plugin.commands),
        problems=tuple(search.problems),
        failed=search.failed,
    )


def engine_names(locations: PluginLocations) -> tuple[str, ...]:
    """Every valid name for `context.engine`, found without running plugin code."""
    names = [offer.name for offer in (*built_in_engines(), *_from_program())]
    names += [plugin.name for plugin in find_plugins(locations) if not plugin.obstacle]
    return tuple(dict.fromkeys(names))


def _from_program() -> Iterator[EngineOffer]:
    yield from (engine_offer(engine, PROGRAM, as_text=False) for engine in registered_engines())


@dataclass(slots=True)
class _Resolver:
    """One resolution in progress."""

    locations: PluginLocations
    context: EngineContext
    plugins: list[Plugin] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    failed: dict[tuple[str, str], str] = field(default_factory=dict)
    _found: tuple[DiscoveredPlugin, ...] | None = None

    @property
    def found(self) -> tuple[DiscoveredPlugin, ...]:
        # Looked up once, and only if the configuration names a plugin.
        if self._found is None:
            self._found = find_plugins(self.locations)
        return self._found

    def load_enabled(self) -> None:
        """Load every plugin that `plugins.enabled` names."""
        for name in dict.fromkeys(self.locations.enabled):
            named = [plugin for plugin in self.found if name in (plugin.name, plugin.manifest.name)]
            general = [plugin for plugin in named if plugin.kind == "general"]
            usable = next((plugin for plugin in general if not plugin.obstacle), None)
            try:
                if usable is None:
                    raise PluginError(self._unusable(name, named, general))
                self.plugins.append(self._load(usable))
            except PluginError as error:
                self.problems.append(f"{ENABLED_KEY}: {error}")
                self.failed[ENABLED_KEY, name] = str(error)

    def _unusable(
        self, name: str, named: Sequence[DiscoveredPlugin], general: Sequence[DiscoveredPlugin]
    ) -> str:
        if general:
            return general[0].obstacle
        if named:
            return f"{name!r} is an engine. Set it in context.engine instead: `plimsoll plugins use {name}`."
        return f"there is no plugin called {name!r}. {self._near(name)}"

    def engine(self, name: str) -> tuple[ContextEngine, str]:
        """The engine with this name, or the built-in one and a problem with the reason."""
        built_in = built_in_engines()[0]
        try:
            offer = built_in if name == COMPRESSOR else self._offer(name)
            return offer.make(self.context), offer.source
        except PluginError as error:
            self.failed[ENGINE_KEY, name] = str(error)
            self.problems.append(
                f"{ENGINE_KEY} is {name!r}, but {error} The built-in {COMPRESSOR} is used; "
                f"`plimsoll plugins use NAME` chooses another."
            )
            return built_in.make(self.context), built_in.source

    def distinct_tools(self) -> Iterator[Tool]:
        """The tools of all plugins; if two have the same name, the first is used."""
        seen: set[str] = set()
        for plugin in self.plugins:
            for tool in plugin.registered.tools:
                if tool.name in seen:
                    self.problems.append(
                        f"plugin {plugin.found.name!r} registers another tool called {tool.name!r}; it was skipped."
                    )
                else:
                    seen.add(tool.name)
                    yield tool

    def _offer(self, name: str) -> EngineOffer:
        obstacles = []
        for item in self.found:
            if item.kind == "engine" and item.name == name:
                if not item.obstacle:
                    return self._own_engine(self._loaded(item), name)
                obstacles.append(item.obstacle)
        for plugin in self.plugins:
            offered = plugin.offer(name)
            if offered:
                return offered
        for item in self.found:
            if item.kind == "general" and name in (item.name, item.manifest.name):
                if not item.obstacle:
                    return self._own_engine(self._loaded(item), name)
                obstacles.append(item.obstacle)
        for offer in (*_from_program(), *built_in_engines()):
            if offer.name == name:
                return offer
        raise PluginError(
            obstacles[0] if obstacles else f"there is no engine with that name. {self._near(name)}"
        )

    def _own_engine(self, plugin: Plugin, name: str) -> EngineOffer:
        """The engine of a plugin that is named like the plugin."""
        offered = plugin.offer(name) or next(iter(plugin.offers()), None)
        if offered is None:
            raise PluginError(f"plugin {name!r} registers no context engine.")
        return EngineOffer(name, offered.description, offered.source, offered.make)

    def _loaded(self, found: DiscoveredPlugin) -> Plugin:
        already = next((plugin for plugin in self.plugins if plugin.found == found), None)
        if already:
            return already
        plugin = self._load(found)
        self.plugins.append(plugin)
        return plugin

    def _load(self, found: DiscoveredPlugin) -> Plugin:
        return load_plugin(found, Services(self.context.home, self.context.summarizer))

    def _near(self, name: str) -> str:
        names = engine_names(self.locations)
        near = difflib.get_close_matches(name, names, n=1)
        return f"Did you mean {near[0]}?" if near else f"Installed: {', '.join(sorted(names))}."
