"""The recorded conversations and where they are cut.

    ../shared/data/dev_*.jsonl ──► Conversation ──► Cut: behind a person's turn, or where the recorded agent compacted

A bounded, deterministic sample: the same cuts in every run, so that figures of two runs can be compared.
"""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plimsoll.quality.cuts import CONTINUATION, MIN_TOKENS, spread, turns_of
from plimsoll.quality.texts import tokens

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
SETS = {"code": "dev_claudecode_entire", "airline": "dev_tau_airline", "research": "dev_trail_research"}
MAX_CUTS = 4
Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Cut:
    """A place in a conversation: what the compactor sees, and what follows."""

    set: str
    conversation: str
    at: int
    history: list[Message]
    continuation: list[Message]
    summary: str | None = None  # what a real model wrote here

    @property
    def name(self) -> str:
        """Unique among all cuts."""
        return f"{self.set}/{self.conversation}@{self.at}{'s' if self.summary else ''}"


def conversations(data: Path, name: str) -> Iterator[dict[str, Any]]:
    """Every recorded conversation of a set."""
    with (data / f"{SETS[name]}.jsonl").open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def cuts(data: Path, name: str, most: int = MAX_CUTS) -> list[Cut]:
    """Behind persons' turns, at most so many in each conversation."""
    return [
        _cut(name, told, at)
        for told in conversations(data, name)
        for at in spread(turns_of(told["messages"]), most)
    ]


def recorded_cuts(data: Path, name: str = "code") -> list[Cut]:
    """Where the recorded agent was compacted, with the summary that its model wrote."""
    return [
        _cut(name, told, event["at"], event["summary"])
        for told in conversations(data, name)
        for event in told.get("compactions") or ()
        if tokens(told["messages"][: event["at"]]) >= MIN_TOKENS
    ]


def sample(every: Sequence[Cut], most: int) -> list[Cut]:
    """A fixed random sample in a fixed order: a beginning of it is a sample too."""
    shuffled = list(every)
    random.Random(1).shuffle(shuffled)
    return shuffled[:most]


def generic_terms(data: Path) -> frozenset[str]:
    """Terms that unrelated projects share, which are no evidence of anything; none where the file is missing."""
    path = data / "generic_terms.json"
    return frozenset(json.loads(path.read_text("utf-8"))) if path.exists() else frozenset()


def _cut(name: str, told: dict[str, Any], at: int, summary: str | None = None) -> Cut:
    messages = told["messages"]
    return Cut(name, told["id"], at, messages[:at], messages[at : at + CONTINUATION], summary)
