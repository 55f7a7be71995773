"""What the runs of the clients showed: kept in `.local/peers/results.json`, and one line at the end of the run."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from cases import Case
from peer_list import FOLDER
from script import TURNS

FILE = FOLDER / "results.json"


@dataclass(frozen=True, slots=True)
class Result:
    """One client that passed."""

    case: str
    client: str
    versions: str
    api: str
    upstream: str
    model: str
    window: int
    turns: int
    requests: int  # of one run
    compactions: int  # of the first run
    compactions_again: int  # of the second run, which meets the views of the first
    cached: float  # share of the prompt tokens that the provider read from its cache, in both runs

    @classmethod
    def of(cls, case: Case, requests: int, first: int, second: int, cached: float) -> "Result":
        """The result of a case; its requests are those of one run."""
        return cls(
            case.id, case.client, case.peer.versions, case.api, case.upstream, case.model, case.window,
            TURNS, requests, first, second, round(cached, 2),
        )  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        """Its fields, for a file or another process."""
        return asdict(self)


@dataclass(slots=True)
class Results:
    """All results of a run."""

    passed: list[Result] = field(default_factory=list)

    def add(self, result: Result) -> None:
        """Keep a result, in the file too: a run of some cases replaces only those."""
        self.passed.append(result)
        known: dict[str, Any] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
        known[result.case] = result.as_json()
        FILE.write_text(json.dumps(known, indent=1), "utf-8")

    def line(self, outcomes: Mapping[str, int]) -> str:
        """The last line of `make test-peers`."""
        clients = len({result.client for result in self.passed})
        turns = sum(2 * result.turns for result in self.passed)
        compactions = sum(result.compactions + result.compactions_again for result in self.passed)
        counts = ", ".join(f"{outcomes.get(name, 0)} {name}" for name in ("passed", "failed", "skipped"))
        return f"peers: {clients} client{'s' * (clients != 1)}, {counts}; {turns:,} turns, {compactions} compactions"
