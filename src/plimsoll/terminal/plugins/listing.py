"""Displays plugins as a list, or one in detail."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from plimsoll.messages.printable import plain
from plimsoll.plugins import Catalogue, CatalogueEntry

ACTIVE, USABLE, UNUSABLE = "●", "○", "×"


def plugin_list(found: Catalogue, active: str) -> Group:
    """Engines, then general plugins, each with its source and description."""
    using = found.serving(active)
    parts: list[RenderableType] = [Text("Context engines", "bold"), _table(found.engines, using)]
    if found.find(active) is None:
        parts.append(
            Text(f"{UNUSABLE} {plain(active)} is set in context.engine but does not exist", "yellow")
        )
    parts += [Text(""), Text("General plugins", "bold")]
    parts.append(_table(found.general, None) if found.general else Text("none", "dim"))
    return Group(*parts)


def mark_of(entry: CatalogueEntry, using: CatalogueEntry | None) -> str:
    """Active, usable, or not usable."""
    if entry == using or entry.is_enabled:
        return UNUSABLE if entry.obstacle else ACTIVE
    return UNUSABLE if entry.obstacle else USABLE


def _table(entries: Sequence[CatalogueEntry], using: CatalogueEntry | None) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for entry in entries:
        mark = mark_of(entry, using)
        title = Text(f"{mark} {plain(entry.name)}", "bold" if mark == ACTIVE else "")
        about = Text(plain(entry.description) or "no description")
        about.append(f"\n{plain(entry.source)}", "dim")
        if entry.obstacle:
            about.append(f"\n{plain(entry.obstacle)}", "yellow")
        table.add_row(title, about)
    return table


def plugin_details(entry: CatalogueEntry, using: CatalogueEntry | None) -> Iterator[tuple[str, str]]:
    """One entry in detail."""
    manifest = entry.manifest
    yield "description", entry.description or "none"
    yield "source", entry.source
    state = "active" if entry == using else "enabled" if entry.is_enabled else "not in use"
    yield "state", f"cannot be used: {entry.obstacle}" if entry.obstacle else state
    known = (("version", manifest.version), ("author", manifest.author), ("kind", manifest.kind))
    yield from ((name, value) for name, value in known if value)
    if manifest.requires_env:
        yield "needs", ", ".join(manifest.requires_env)
    if manifest.provides_tools:
        yield "tools", ", ".join(manifest.provides_tools)


def as_json(found: Catalogue, active: str) -> dict[str, Any]:
    """The same for programs."""
    using = found.serving(active)

    def entry(plugin: CatalogueEntry) -> dict[str, Any]:
        return {
            "name": plugin.name,
            "description": plugin.description,
            "source": plugin.source,
            "version": plugin.manifest.version,
            "in_use": (plugin == using or plugin.is_enabled) and not plugin.obstacle,
            "obstacle": plugin.obstacle,
        }

    return {
        "context_engine": active,
        "engines": [entry(engine) for engine in found.engines],
        "general": [entry(plugin) for plugin in found.general],
    }
