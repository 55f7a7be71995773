"""The numbers of weights.toml, read once, and which level each kind of line has."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from plimsoll.context.ledger.template import SECTIONS


@dataclass(frozen=True, slots=True)
class TermOdds:
    """How much each feature of a term adds to the log-odds that it is needed next."""

    base: float
    typed: float
    spoken: float
    sources: float
    only_shown: float
    recent: float
    named: float
    parts: float
    request: float

    @property
    def factors(self) -> tuple[float, ...]:
        """All but the base, in the order of `choose.known_about`."""
        return (
            self.typed,
            self.spoken,
            self.sources,
            self.only_shown,
            self.recent,
            self.named,
            self.parts,
            self.request,
        )


@dataclass(frozen=True, slots=True)
class LineWeights:
    """The values of summary lines."""

    must: float
    high: float
    normal: float
    low: float
    said_share: float
    terms: TermOdds
    sections: dict[str, float]  # the default value of a line under a heading

    @property
    def wish(self) -> float:
        """How a person wants the current work done."""
        return self.high

    @property
    def rules_file(self) -> float:
        """A limit that a rules file sets."""
        return self.normal

    @property
    def asked(self) -> float:
        """An earlier request that was answered."""
        return self.high

    @property
    def side_effect(self) -> float:
        """A command that may have changed something and must not be repeated."""
        return self.high

    @property
    def tried(self) -> float:
        """A command that failed and was given up."""
        return self.normal

    @property
    def guess(self) -> float:
        """An unproved assumption of the agent."""
        return self.normal

    @property
    def commit(self) -> float:
        """A commit or pull request."""
        return self.high

    @property
    def check(self) -> float:
        """The newest result of a test suite, build or lint."""
        return self.high


@cache
def weights() -> LineWeights:
    """The weights; read on first use."""
    data = tomllib.loads(files(__package__).joinpath("weights.toml").read_text("utf-8"))
    levels: dict[str, float] = data["levels"]
    sections = {
        **dict.fromkeys(SECTIONS, levels["normal"]),
        "Goal": levels["high"],
        "Constraints & Preferences": levels["must"] + 1,  # before all others
        "Done": levels["low"],
        "In Progress": levels["must"],
        "Blocked": levels["must"],
        "Key Decisions": levels["high"],  # reasons, which no other section contains
        "Relevant Files": levels["low"],
        "Next Steps": levels["must"],
        "Critical Context": levels["normal"],
    }
    return LineWeights(**levels, **data["lines"], terms=TermOdds(**data["terms"]), sections=sections)
