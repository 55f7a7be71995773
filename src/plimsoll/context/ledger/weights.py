"""The numbers of weights.toml, read once."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class LineWeights:
    """What lines of a summary are worth."""

    sections: dict[str, float]
    wish: float
    rules_file: float
    asked: float
    side_effect: float
    commit: float
    check: float
    said_share: float


@cache
def weights() -> LineWeights:
    """The weights; read at first use."""
    data = tomllib.loads(files(__package__).joinpath("weights.toml").read_text("utf-8"))
    return LineWeights(data["sections"], **data["lines"])
