"""The summary models: one for each that the settings name, opened when the gateway starts."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from plimsoll.assembly import open_auxiliary
from plimsoll.config import Settings
from plimsoll.context import SummaryWriter
from plimsoll.providers.auxiliary import Auxiliary, resolve_auxiliary
from plimsoll.providers.auxiliary.summary_model import Record


class SummaryModels:
    """Summary models by the model of the conversation (`models.<pattern>.summary_model`)."""

    def __init__(self, settings: Settings, opened: Mapping[str | None, tuple[Auxiliary | None, str]]) -> None:
        self._settings, self._opened = settings, opened

    @classmethod
    async def open(cls, settings: Settings, environ: Mapping[str, str], home: Path) -> "SummaryModels":
        """Resolve every summary model that the settings name."""
        general = settings.auxiliary.compression
        names = {
            general.model,
            *(model.summary_model for model in settings.models.values() if model.summary_model),
        }
        opened: dict[str | None, tuple[Auxiliary | None, str]] = {}
        for name in names:
            section = general.model_copy(update={"model": name})
            found = await resolve_auxiliary(section, settings.model, environ, home=home)
            candidates = found.candidates
            writer = candidates[0].endpoint.model if candidates else ""
            opened[name] = open_auxiliary(settings, found, home), writer
        return cls(settings, opened)

    def name_for(self, model: str) -> str:
        """The summary model for conversations with this model; empty if summaries are extracted without a model."""
        return self._for(model)[1]

    def writer_for(self, model: str, charge: Record) -> SummaryWriter | None:
        """The summary writer for this model, which reports the usage of each summary."""
        auxiliary = self._for(model)[0]
        return auxiliary.charging(charge) if auxiliary else None

    async def close(self) -> None:
        """Close all models."""
        for auxiliary, _ in self._opened.values():
            if auxiliary is not None:
                await asyncio.to_thread(auxiliary.close)

    def _for(self, model: str) -> tuple[Auxiliary | None, str]:
        return self._opened[self._settings.for_model(model).auxiliary.compression.model]
