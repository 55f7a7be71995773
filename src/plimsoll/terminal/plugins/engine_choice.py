"""The current settings and available plugins, and the choice of an engine.

use("keep-ends") ─► loaded ─► context.engine in config.yaml; the rest of the file does not change
"""

import os
from collections.abc import Mapping
from pathlib import Path

from plimsoll.assembly import failed_plugins, plugin_locations
from plimsoll.config import FILE_NAME, LoadedSettings, load_settings, plimsoll_home, set_value
from plimsoll.errors import PluginError
from plimsoll.plugins import Catalogue, PluginLocations, catalogue

KEY = "context.engine"


class EngineChoice:
    """The user's settings and plugins, reloaded after each change."""

    def __init__(self) -> None:
        self.home = plimsoll_home()
        self.project = Path.cwd()
        self._failed: tuple[tuple[str, ...], Mapping[tuple[str, str], str]] | None = None

    @property
    def loaded(self) -> LoadedSettings:
        return load_settings()

    @property
    def locations(self) -> PluginLocations:
        return plugin_locations(self.loaded.settings, os.environ, self.home, self.project)

    @property
    def catalogue(self) -> Catalogue:
        return catalogue(self.locations)

    @property
    def tried(self) -> Catalogue:
        """The catalogue after loading what the settings name, once for each choice; a broken engine is not used."""
        settings = self.loaded.settings
        named = (settings.context.engine, *settings.plugins.enabled)
        if self._failed is None or self._failed[0] != named:
            self._failed = (named, failed_plugins(settings, os.environ, self.home, self.project))
        return self.catalogue.tried(settings.context.engine, self._failed[1])

    @property
    def active(self) -> str:
        """The engine that the settings name."""
        return self.loaded.settings.context.engine

    def use(self, name: str) -> tuple[str, ...]:
        """Load an engine, then set it in the file. Returns messages for the user."""
        settings = self.loaded.settings
        wanted = settings.model_copy(update={"context": settings.context.model_copy(update={"engine": name})})
        reason = failed_plugins(wanted, os.environ, self.home, self.project).get((KEY, name))
        if reason:
            raise PluginError(f"{name!r} was not chosen: {reason} Nothing was changed.")
        path = self.home / FILE_NAME
        set_value(path, KEY, name)
        messages = [f"{KEY} = {name} in {path}; new conversations use it."]
        source = self.loaded.source(KEY)
        if source.kind != "file":
            messages.append(f"{source} overrides it here: {self.active}.")
        return tuple(messages)
