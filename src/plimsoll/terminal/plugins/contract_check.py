"""Runs the engine contract on a plugin's folder and shows the smallest conversation that breaks each property.

The plugin gets a temporary home, and no model is called.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from plimsoll.context import ContextEngine
from plimsoll.errors import PluginError
from plimsoll.plugins import EngineContext, Services, load_plugin, plugin_at
from plimsoll.settings.context import CompressionSettings
from plimsoll.testing import ContractCase, PropertyResult, check_engine


@dataclass(frozen=True, slots=True)
class _Settings:
    compression: CompressionSettings


def contract_results(path: Path, examples: int, home: Path) -> list[PropertyResult]:
    """The result of each property; raises `PluginError` if the plugin cannot be loaded."""
    make = engine_maker(path, home)
    make(ContractCase([]))
    return check_engine(make, examples)


def engine_maker(path: Path, home: Path) -> Callable[[ContractCase], ContextEngine]:
    """A function that creates a new engine of the plugin for each case."""
    found = plugin_at(path, os.environ)

    def make(case: ContractCase) -> ContextEngine:
        plugin = load_plugin(found, Services(home))
        offer = plugin.offer(found.name) or next(iter(plugin.offers()), None)
        if offer is None:
            raise PluginError(
                f"plugin {found.name!r} registers no context engine, so there is none to check."
            )
        settings = _Settings(CompressionSettings(protect_last_n=case.protect_last_n))
        return offer.make(EngineContext(settings, case.window, home))

    return make
