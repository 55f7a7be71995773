"""The numbers of weights.toml, read once, and which level each kind of line has."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from plimsoll.context.ledger.template import SECTIONS


@dataclass(frozen=True, slots=True)
class TermOdds:
    """How much each thing that is known about a term adds to the log-odds that it is needed next."""

    base: float
    typed: float
    said: float
    asked: float
    shown: float
    only_shown: float
    recent: float
    named: float
    companion: float

    @property
    def factors(self) -> tuple[float, ...]:
        """All but the base, in the order of `choose.known_about`."""
        return (
            self.typed,
            self.said,
            self.asked,
            self.shown,
            self.only_shown,
            self.recent,
            self.named,
            self.companion,
        )


@dataclass(frozen=True, slots=True)
class LineWeights:
    """What lines of a summary are worth."""

    must: float
    high: float
    normal: float
    low: float
    said_share: float
    terms: TermOdds
    sections: dict[str, float]  # what a line under a heading is worth where nothing more is known about it

    @property
    def wish(self) -> float:
        """How a person wants the work at hand done."""
        return self.high

    @property
    def rules_file(self) -> float:
        """A limit that a rules file sets."""
        return self.normal

    @property
    def asked(self) -> float:
        """An earlier request that was answered."""
        return self.normal

    @property
    def side_effect(self) -> float:
        """A command that may have changed something, which must not be done twice."""
        return self.high

    @property
    def tried(self) -> float:
        """A command that failed and was given up."""
        return self.normal

    @property
    def guess(self) -> float:
        """What the agent supposes and nothing has proved."""
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
    """The weights; read at first use."""
    data = tomllib.loads(files(__package__).joinpath("weights.toml").read_text("utf-8"))
    levels: dict[str, float] = data["levels"]
    sections = {
        **dict.fromkeys(SECTIONS, levels["normal"]),
        "Goal": levels["high"],
        "Constraints & Preferences": levels["must"] + 1,  # before all others
        "Done": levels["low"],
        "In Progress": levels["must"],
        "Blocked": levels["must"],
        "Key Decisions": levels["high"],  # why things are as they are: nothing else in a summary says it
        "Relevant Files": levels["low"],
        "Next Steps": levels["must"],
        "Critical Context": levels["normal"],
    }
    return LineWeights(**levels, **data["lines"], terms=TermOdds(**data["terms"]), sections=sections)
