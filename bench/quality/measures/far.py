"""Far facts at 11K tokens beside the fixed part, by kind of agent: grounded, stated, present.

Cuts lie behind persons' turns and, because unattended runs have few of those, also behind results that end a step.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bars import Bar, at_least, at_most
from corpus import DATA, Cut, generic_terms
from hand_labels import DataMissing
from measures.run import Run
from measures.summaries import BEYOND, written
from ours import Recorded

from plimsoll.quality import (
    CONTINUATION,
    MIN_TOKENS,
    Measurement,
    figures,
    measure,
    prepare,
    spread,
    turns_of,
)
from plimsoll.quality.texts import characters

FILES = {
    "Claude Code": ("dev_claudecode_entire.jsonl", 0.85),
    "Codex": ("dev_codex.jsonl", 0.75),
    "OpenCode": ("dev_other_agents.jsonl", 0.75),
}
MAX_CUTS = 3
_SAME = 0.005


@dataclass(frozen=True, slots=True)
class Job:
    """One cut, with or without what a real model wrote there."""

    agent: str
    cut: Cut
    generic: frozenset[str]
    with_summary: bool = False


def bars(run: Run) -> list[Bar]:
    """Figures of each kind of agent, and of recorded summaries against none."""
    found: list[Bar] = []
    generic = generic_terms(DATA)
    for agent, (file, least) in FILES.items():
        cuts = run.sample(list(agent_cuts(DATA / file, agent)), 12)
        measured = run.map(_measured, [Job(agent, cut, generic) for cut in cuts], f"far facts, {agent}")
        row = figures([one for one, _ in measured if one.prepared.far])
        where = f"{agent} ({row.cuts} cuts, {row.far_facts} facts)"
        found += [
            at_least(f"far facts grounded, {where}", row.far_grounded, least),
            at_least(f"stated facts, {agent}", row.stated, 0.92),
            at_least(f"far facts present, {agent}", row.far_present, 0.90),
            at_most(f"tokens beside the fixed part, largest, {agent}", max(b for _, b in measured), BEYOND),
        ]
    return found


def recorded_bars(run: Run) -> list[Bar]:
    """With the summaries that real models wrote, nothing is worse than without a model."""
    generic = generic_terms(DATA)
    cuts = [cut for cut in recorded_cuts(DATA / FILES["Claude Code"][0], "Claude Code") if cut.summary]
    cuts = run.sample(cuts, 10)
    jobs = [Job("Claude Code", cut, generic, given) for cut in cuts for given in (True, False)]
    measured = [one for one, _ in run.map(_measured, jobs, "recorded summaries")]
    given, without = figures(measured[::2]), figures(measured[1::2])
    ahead = {
        "grounded": _ahead(given.far_grounded, without.far_grounded),
        "stated": _ahead(given.stated, without.stated),
    }
    return [
        at_least(f"recorded summaries against none, {name}", value, -_SAME) for name, value in ahead.items()
    ]


def _ahead(ours: float | None, theirs: float | None) -> float | None:
    return None if ours is None or theirs is None else ours - theirs


def _measured(job: Job) -> tuple[Measurement, int]:
    cut = job.cut
    case = prepare(cut.history, cut.continuation, job.generic)
    writer = Recorded(cut.summary) if job.with_summary and cut.summary else None
    done = written(cut.history, writer)
    return measure(case, cut.history, done.result), done.beyond


def agent_cuts(path: Path, agent: str) -> list[Cut]:
    """Cuts of every recorded conversation of a kind of agent."""
    return [
        _cut(agent, told, at)
        for told in _conversations(path)
        for at in spread(places(told["messages"]), MAX_CUTS)
    ]


def _cut(agent: str, told: dict[str, Any], at: int, summary: str | None = None) -> Cut:
    messages = told["messages"]
    return Cut(agent, told["id"], at, messages[:at], messages[at : at + CONTINUATION], summary)


def recorded_cuts(path: Path, agent: str) -> list[Cut]:
    """Where the recorded agent was compacted, with the summary that its model wrote."""
    return [
        _cut(agent, told, one["at"], one["summary"])
        for told in _conversations(path)
        for one in told.get("compactions") or ()
        if sum(map(characters, told["messages"][: one["at"]])) >= MIN_TOKENS * 4
    ]


def places(messages: Sequence[dict[str, Any]]) -> list[int]:
    """Where a conversation can be cut: after persons' turns; where these are rare, also between two steps."""
    turns = turns_of(messages)
    if len(turns) >= MAX_CUTS:
        return turns
    found, size = set(turns), 0
    for position, message in enumerate(messages[:-CONTINUATION]):
        size += characters(message)
        ends_a_step = message.get("role") == "tool" and messages[position + 1].get("role") == "assistant"
        if size >= MIN_TOKENS * 4 and ends_a_step:
            found.add(position + 1)
    return sorted(found)


def _conversations(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        raise DataMissing(path)
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
