"""The peers' kept results, measured, each beside Plimsoll on the same cuts at no more tokens.

    peer at 11K, 30 cuts: mean 10 812 tokens ──► the rung of Plimsoll's ladder with the largest mean ≤ 10 812 × 1.02

Plimsoll runs a ladder of settings once; for every row of a peer the rung is chosen by mean size on that peer's cuts.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict
from typing import Any

from corpus import Cut
from ours import SizeSettings
from peer_runs import BUDGETS, kept
from pins import PINS, SUMMARISERS
from rows import Job, Taken, measured_rows, summed, taken

import money
from plimsoll.quality import MeasurementCase, joined, terms_in

RUNGS = (
    *(SizeSettings(size, 0.10) for size in (6_000, 7_500, 9_000, 12_000, 15_500, 19_000, 24_000, 32_000)),
    SizeSettings(),
)
# Words of a peer's own, around a summary or as the address of what it took out: not said of the conversation.
OWN_WORDS = {
    "hermes": re.compile(r"MEMORY\.md|USER\.md|file/system|repository/session"),
    "deepagents": re.compile(r"conversation_history/session_\w+\.md"),
    "pydantic-ai": re.compile(r"conversation_summary"),
    "headroom": re.compile(r"[0-9a-f]{12}|[0-9a-f]{24}"),
}
SLACK = 1.02
OVER = 1.10  # a result larger than that did not come down to the budget
Stage = Callable[[str, int], Callable[[], None]]
Ladder = Mapping[str, Mapping[str, Taken]]  # cut's name -> rung -> result


def run(
    names: Sequence[str],
    cuts: Sequence[Cut],
    facts: Mapping[str, MeasurementCase],
    pool: Executor,
    stage: Stage,
) -> dict[str, Any]:
    """By peer, by kind of cut, by budget."""
    usable = [cut for cut in cuts if facts[cut.name].far]
    ladder = _ladder(usable, facts, pool, stage("Plimsoll on these cuts", len(usable)))
    tick = stage("peers", len(names))
    found: dict[str, Any] = {}
    for name in names:
        found[name] = {"version": PINS[name]}
        for kind, part in (
            ("without", [cut for cut in usable if not cut.summary]),
            ("given", [cut for cut in usable if cut.summary and name in SUMMARISERS]),
        ):
            rows = {str(budget or "own"): _row(name, part, budget, facts, ladder, pool) for budget in BUDGETS}
            found[name][kind] = {budget: row for budget, row in rows.items() if row}
        tick()
    return found


def _ladder(
    cuts: Sequence[Cut], facts: Mapping[str, MeasurementCase], pool: Executor, tick: Callable[[], None]
) -> Ladder:
    knobs = {str(number): rung for number, rung in enumerate(RUNGS)}
    jobs = [Job(cut, facts[cut.name], knobs, windows=False) for cut in cuts]
    found = {}
    for job, rows in zip(jobs, pool.map(measured_rows, jobs), strict=True):
        found[job.cut.name] = {label: rows[f"plimsoll {label}"] for label in knobs}
        tick()
    return found


def _row(
    name: str,
    cuts: Sequence[Cut],
    budget: int | None,
    facts: Mapping[str, MeasurementCase],
    ladder: Ladder,
    pool: Executor,
) -> dict[str, Any] | None:
    """The figures of a peer at one budget, and Plimsoll's at no more tokens on the same cuts."""
    answers = [(cut, answer) for cut in cuts if (answer := kept(name, cut, budget)) is not None]
    good = [(cut, answer) for cut, answer in answers if not answer["error"]]
    if len(good) < max(3, len(answers) // 2):
        return None
    jobs = [(name, cut, facts[cut.name], answer, budget is None) for cut, answer in good]
    measured = list(pool.map(_measured, jobs))
    row = summed([one for one, _ in measured])
    row["errors"] = len(answers) - len(good)
    row["summary_calls"] = round(sum(len(answer["summary_calls"]) for _, answer in good) / len(good), 1)
    if budget is None:
        row["money"] = round(sum(spent for _, spent in measured) / len(measured), 4)
    if budget is None or row["tokens"] <= budget * OVER:
        row["plimsoll"] = _ours([cut for cut, _ in good], row["tokens"], ladder)
    return row


def _measured(job: tuple[str, Cut, MeasurementCase, dict[str, Any], bool]) -> tuple[Taken, float]:
    name, cut, prepared, answer, wants_money = job
    result = answer["messages"]
    # A conversion copies every message; what is the same as before is not new text.
    same = {_key(message): message for message in cut.history}
    result = [same.get(_key(message), message) for message in result]
    spent = money.after(cut, result, answer["summary_calls"]) if wants_money else 0.0
    words = OWN_WORDS.get(name)
    own = {term for term in terms_in(joined(result)) if words.fullmatch(term)} if words else set()
    return taken(cut, prepared, result, answer["seconds"], frozenset(own)), spent


def _key(message: dict[str, Any]) -> str:
    return repr(
        (message.get("role"), message.get("content"), message.get("tool_calls"), message.get("tool_call_id"))
    )


def _ours(cuts: Sequence[Cut], theirs: float, ladder: Ladder) -> dict[str, Any]:
    """Plimsoll's figures at the largest mean size that is not above the peer's."""
    means = {
        label: sum(ladder[cut.name][label].measured.tokens for cut in cuts) / len(cuts)
        for label in ladder[cuts[0].name]
    }
    fitting = [label for label, size in means.items() if size <= theirs * SLACK]
    label = max(fitting, key=lambda one: means[one]) if fitting else min(means, key=lambda one: means[one])
    row = summed([ladder[cut.name][label] for cut in cuts])
    rung = RUNGS[int(label)]
    return row | asdict(rung)
