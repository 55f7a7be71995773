"""Plugins: discovered without running them, loaded when named, isolated from other modules."""

from plimsoll.plugins.builtin import built_in_engines, make_compressor
from plimsoll.plugins.catalogue import Catalogue, CatalogueEntry, catalogue
from plimsoll.plugins.discovery import DiscoveredPlugin, PluginLocations, find_plugins, plugin_at
from plimsoll.plugins.hermes import Services
from plimsoll.plugins.loading import Plugin, load_plugin
from plimsoll.plugins.manifest import Manifest
from plimsoll.plugins.offers import COMPRESSOR, EngineContext, EngineOffer
from plimsoll.plugins.plugin_engine import PluginEngine
from plimsoll.plugins.registration import PluginCommand, PluginContext
from plimsoll.plugins.registry import register_context_engine, registered_engines
from plimsoll.plugins.resolution import ResolvedPlugins, engine_names, resolve_plugins
from plimsoll.plugins.trust import TrustFile, fingerprint

__all__ = [
    "COMPRESSOR",
    "Catalogue",
    "CatalogueEntry",
    "DiscoveredPlugin",
    "EngineContext",
    "EngineOffer",
    "Manifest",
    "Plugin",
    "PluginCommand",
    "PluginContext",
    "PluginEngine",
    "PluginLocations",
    "ResolvedPlugins",
    "Services",
    "TrustFile",
    "built_in_engines",
    "catalogue",
    "engine_names",
    "find_plugins",
    "fingerprint",
    "load_plugin",
    "make_compressor",
    "plugin_at",
    "register_context_engine",
    "registered_engines",
    "resolve_plugins",
]
