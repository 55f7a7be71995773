"""Plugins: found without running them, loaded when named, kept apart from everybody else's modules."""

from plimsoll.plugins.builtin import built_in_engines, make_compressor
from plimsoll.plugins.catalogue import Catalogue, Entry, catalogue
from plimsoll.plugins.foreign import ForeignEngine
from plimsoll.plugins.hermes import Services
from plimsoll.plugins.loading import Plugin, load_plugin
from plimsoll.plugins.manifest import Manifest
from plimsoll.plugins.offers import COMPRESSOR, EngineContext, EngineOffer
from plimsoll.plugins.outfit import Outfit, engine_names, outfit
from plimsoll.plugins.places import Found, Surroundings, find_plugins, plugin_at
from plimsoll.plugins.registration import PluginCommand, PluginContext
from plimsoll.plugins.registry import register_context_engine, registered_engines
from plimsoll.plugins.trust import TrustFile, fingerprint

__all__ = [
    "COMPRESSOR",
    "Catalogue",
    "EngineContext",
    "EngineOffer",
    "Entry",
    "ForeignEngine",
    "Found",
    "Manifest",
    "Outfit",
    "Plugin",
    "PluginCommand",
    "PluginContext",
    "Services",
    "Surroundings",
    "TrustFile",
    "built_in_engines",
    "catalogue",
    "engine_names",
    "find_plugins",
    "fingerprint",
    "load_plugin",
    "make_compressor",
    "outfit",
    "plugin_at",
    "register_context_engine",
    "registered_engines",
]
