"""Twenty compactions in a row while the conversation grows: what is left of what was said before.

history ─ compact ─► view + new messages ─ compact ─► view + new messages ─ … ─ 20 times
                                                          compared with one compaction of the whole history
"""

from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from corpus import conversations, generic_terms
from ours import SizeSettings, engine
from rows import rounded

from plimsoll.messages import safe_cuts
from plimsoll.quality import CONTINUATION, Measurement, figures, measure, prepare, tokens

ROUNDS = 20
SHOWN = (1, 5, 10, 15, 20)
FIRST_TOKENS = 30_000
KEPT = (
    "tokens",
    "far_facts",
    "far_present",
    "far_grounded",
    "stated",
    "thirds_stated",
    "valid",
    "fabrications",
)
Stage = Callable[[str, int], Callable[[], None]]
Message = dict[str, Any]


def run(data: Path, most: int, pool: Executor, stage: Stage) -> dict[str, Any]:
    """By round, the figures of the growing view and of a single compaction at the same place."""
    longest = sorted(conversations(data, "code"), key=lambda told: -len(told["messages"]))[:most]
    generic = generic_terms(data)
    tick = stage("20 compactions in a row", len(longest))
    again: dict[int, list[Measurement]] = defaultdict(list)
    once: dict[int, list[Measurement]] = defaultdict(list)
    for part in pool.map(_followed, [(told["messages"], generic) for told in longest]):
        for number, (after_many, after_one) in part.items():
            again[number].append(after_many)
            once[number].append(after_one)
        tick()
    return {
        str(number): {"in a row": _figures(again[number]), "at once": _figures(once[number])}
        for number in sorted(again)
    }


def _figures(measured: list[Measurement]) -> dict[str, Any]:
    every = asdict(figures(measured))
    return rounded(
        {key: every[key] for key in KEPT} | {"valid": every["valid"], "fabrications": every["fabrications"]}
    )


def _followed(job: tuple[list[Message], frozenset[str]]) -> dict[int, tuple[Measurement, Measurement]]:
    """One conversation through all rounds."""
    messages, generic = job
    compressor = engine()
    found: dict[int, tuple[Measurement, Measurement]] = {}
    view: list[Message] = []
    done = 0
    for number, place in enumerate(_places(messages), start=1):
        view = compressor.compress([*view, *messages[done:place]])
        done = place
        if number in SHOWN:
            history = messages[:place]
            facts = prepare(history, messages[place : place + CONTINUATION], generic)
            single = engine(SizeSettings()).compress(history)
            found[number] = measure(facts, history, view), measure(facts, history, single)
    return found


def _places(messages: list[Message]) -> list[int]:
    """Twenty places, evenly from the first that is heavy enough, none between a call and its result."""
    legal = [cut for cut in safe_cuts(messages) if cut <= len(messages) - CONTINUATION // 2]
    heavy = [cut for cut in legal if tokens(messages[:cut]) >= FIRST_TOKENS]
    if len(heavy) < ROUNDS:
        return heavy
    return [heavy[number * (len(heavy) - 1) // (ROUNDS - 1)] for number in range(ROUNDS)]
