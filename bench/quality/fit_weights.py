"""Fit the odds that a term is needed next ([terms] of the ledger's weights.toml), and show what each is worth.

    python bench/quality/fit_weights.py               fit on all agents, and with each kind left out
    python bench/quality/fit_weights.py --cuts 6      fewer cuts of each kind

    cut ──► terms of the history that do not stay ──► typed by the agent behind the cut? ──► logistic regression

A term counts as needed where `plimsoll.quality` says so: the agent typed it from memory. Printed are, for each kind
of agent, the area under the curve (how often a needed term outranks another) with the weights in use, with weights
fitted on all agents, and with weights fitted on the other agents alone; then the same area without each weight.
"""

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from corpus import DATA, Cut, generic_terms
from hand_labels import DataMissing
from measures.far import FILES, agent_cuts
from measures.run import Run
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from plimsoll.context.ledger import read_facts
from plimsoll.context.ledger.choose import current_work, known_about
from plimsoll.context.ledger.weights import weights
from plimsoll.context.ledger.write import kept_terms
from plimsoll.quality import needed_facts

NAMES = (
    "typed", "spoken", "sources", "only_shown", "recent", "named", "parts", "request",
)  # fmt: skip
STAYS = 20  # messages
STEPS, RATE, DECAY = 400, 0.5, 1e-4
Matrix = NDArray[np.float64]


def observed(job: tuple[Cut, frozenset[str]]) -> tuple[Matrix, Matrix]:
    """The terms of one cut: what is known about each, and whether it was needed."""
    cut, generic = job
    needed = {fact.term for fact in needed_facts(cut.history, cut.continuation, generic) if fact.is_far}
    facts = read_facts(cut.history[:-STAYS])
    now = read_facts(cut.history[-STAYS:], known=facts, quotes=False)
    evidence = facts.evidence
    kept = kept_terms(cut.history[-STAYS:])
    request = now.newest_request
    work = current_work(kept, request.text if request else "", now.last_said)
    newest = max((use.last for use in evidence.uses.values()), default=0)
    rows, labels = [], []
    for term, use in evidence.uses.items():
        if term not in kept:
            known = known_about(term, use, newest - use.last, work)
            rows.append([1.0, *known])
            labels.append(float(term in needed))
    return np.array(rows), np.array(labels)


def fitted(parts: Sequence[tuple[Matrix, Matrix]]) -> Matrix:
    """Logistic regression by gradient descent; needed terms and others count alike."""
    rows, labels = np.vstack([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    balance = np.where(labels > 0, 0.5 / max(1.0, labels.sum()), 0.5 / max(1.0, (1 - labels).sum()))
    found = np.zeros(rows.shape[1])
    for _ in range(STEPS):
        off = 1 / (1 + np.exp(-rows @ found)) - labels
        found -= RATE * (rows.T @ (off * balance) + DECAY * found)
    return found


def area(parts: Sequence[tuple[Matrix, Matrix]], using: Matrix) -> float:
    """The mean over cuts of how often a needed term outranks one that was not needed."""
    found = []
    for rows, labels in parts:
        if 0 < labels.sum() < len(labels):
            ranks = np.argsort(np.argsort(rows @ using, kind="stable"), kind="stable") + 1
            needed, others = labels.sum(), len(labels) - labels.sum()
            found.append((ranks[labels > 0].sum() - needed * (needed + 1) / 2) / (needed * others))
    return float(np.mean(found)) if found else float("nan")


def main() -> int:
    """Gather, fit, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cuts", type=int, default=12, help="cuts of each kind of agent")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    console = Console(width=120)
    generic = generic_terms(DATA)
    parts: dict[str, list[tuple[Matrix, Matrix]]] = {}
    with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as pool:
        run = Run(pool)
        for agent, (file, _) in FILES.items():
            try:
                cuts = run.sample(agent_cuts(DATA / file, agent), given.cuts)
            except DataMissing as missing:
                console.print(str(missing))
                return 2
            parts[agent] = run.map(observed, [(cut, generic) for cut in cuts], agent)
    odds = weights().terms
    now = np.array([odds.base, *odds.factors])
    every = fitted([part for of_agent in parts.values() for part in of_agent])
    console.print(_areas(parts, now, every))
    console.print(_ablation(parts, now, every))
    return 0


def _areas(parts: dict[str, list[tuple[Matrix, Matrix]]], now: Matrix, every: Matrix) -> Table:
    table = Table(title="area under the curve", title_justify="left")
    for heading in ("agent", "cuts", "in use", "fitted on all", "fitted on the others"):
        table.add_column(heading, justify="left" if heading == "agent" else "right")
    for agent, own in parts.items():
        others = fitted([part for name, of_agent in parts.items() if name != agent for part in of_agent])
        areas = [area(own, using) for using in (now, every, others)]
        table.add_row(agent, str(len(own)), *(f"{value:.3f}" for value in areas))
    return table


def _ablation(parts: dict[str, list[tuple[Matrix, Matrix]]], now: Matrix, every: Matrix) -> Table:
    table = Table(title="weights, and the area without each", title_justify="left")
    for heading in ("weight", "in use", "fitted", *parts):
        table.add_column(heading, justify="left" if heading == "weight" else "right")
    table.add_row("all", "", "", *(f"{area(own, now):.3f}" for own in parts.values()))
    for place, name in enumerate(NAMES, start=1):
        without = now.copy()
        without[place] = 0.0
        changes = [area(own, without) - area(own, now) for own in parts.values()]
        table.add_row(
            name, f"{now[place]:.1f}", f"{every[place]:.2f}", *(f"{value:+.3f}" for value in changes)
        )
    return table


if __name__ == "__main__":
    raise SystemExit(main())
