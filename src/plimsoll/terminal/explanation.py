"""What a setting resolves to now: its model, and the models for which it has another value."""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path

from plimsoll.config import LoadedSettings, Settings, scalar_text
from plimsoll.config.per_model import GENERAL
from plimsoll.errors import UserError

_MAIN = ("model.name", "model.provider", "model.base_url")
_AUXILIARY = tuple(f"auxiliary.compression.{name}" for name in ("model", "provider", "base_url"))


def values_per_model(loaded: LoadedSettings, key: str) -> Iterator[tuple[str, str]]:
    """The patterns of models for which a setting has another value: key and value, with its source."""
    fields = [field for field, path in GENERAL.items() if ".".join(path) == key]
    for pattern, overrides in loaded.settings.models.items():
        for field in fields:
            value, own = getattr(overrides, field), f"models.{pattern}.{field}"
            if value is not None:
                yield own, f"{scalar_text(value)} ({loaded.source(own)})"


def explain(key: str, settings: Settings, environ: Mapping[str, str], home: Path) -> tuple[str, ...]:
    """The model that a setting resolves to now, and why; empty for other settings."""
    if key not in (*_MAIN, *_AUXILIARY):
        return ()
    # Both import every provider, which other settings do not need.
    from plimsoll.assembly import resolve_summaries
    from plimsoll.providers import resolve

    if key in _AUXILIARY:
        resolution = resolve_summaries(settings, environ, home)
        return (
            f"{resolution.headline}.",
            *(step.sentence for step in resolution.explanation if not step.taken),
        )
    try:
        found = asyncio.run(resolve(settings.model, environ, home=home))
    except UserError as error:
        return (str(error),)
    sentences = found.sentences()
    return (sentences[-1], *sentences[:-1])
