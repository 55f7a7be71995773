"""Engine registration: built-ins and plugins provide an `EngineOffer`, created from an `EngineContext`.

    EngineOffer("mine", …, make)  ──►  make(EngineContext(settings, window, summarizer, archive, …))  ──►  engine

An offer is a name, a description and a function. No engine is created before the user's configuration names it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from plimsoll.archive import Archive
from plimsoll.context import ContextEngine, SummaryWriter
from plimsoll.settings.context import CompressionSettings

COMPRESSOR = "compressor"


class EngineSettings(Protocol):
    """The settings that every engine may read; `Settings` satisfies this protocol."""

    @property
    def compression(self) -> CompressionSettings: ...


@dataclass(frozen=True, slots=True)
class EngineContext:
    """What the host provides to the engine of one conversation."""

    settings: EngineSettings
    window: int
    home: Path = field(default_factory=Path)  # a directory for the engine's own files
    model: str = ""
    summarizer: SummaryWriter | None = None
    archive: Archive | None = None
    session_id: str = ""
    offers_tools: bool = True  # whether the model can call tools


EngineFactory = Callable[[EngineContext], ContextEngine]


@dataclass(frozen=True, slots=True)
class EngineOffer:
    """An engine that can be named in `context.engine`."""

    name: str
    description: str
    source: str
    make: EngineFactory
