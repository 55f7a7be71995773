"""The settings whose results have a wanted mean size.

    budget 11 000 ──► the largest protect_last_n that can go so low ──► search target_ratio ──► mean size ≤ 11 000

Knows no engine: how large results are with some settings is asked of the caller, never twice the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

PROTECTED = (20, 8, 3, 1)
LEAST_RATIO, MOST_RATIO = 0.10, 0.80
STEPS = 4
NEAR_ENOUGH = 0.015


@dataclass(frozen=True, slots=True)
class Knobs:
    """The two settings that decide how much of the newest messages stays."""

    target_ratio: float = 0.20
    protect_last_n: int = 20


def fit(size_of: Callable[[Knobs], float], budget: int, protected: Sequence[int] = PROTECTED) -> Knobs:
    """The settings whose mean comes nearest to the budget from below; the smallest there are where none does."""
    known: dict[Knobs, float] = {}

    def size(ratio: float, count: int) -> float:
        knobs = Knobs(ratio, count)
        if knobs not in known:
            known[knobs] = size_of(knobs)
        return known[knobs]

    count = next((count for count in protected if size(LEAST_RATIO, count) <= budget), protected[-1])
    low, high = LEAST_RATIO, MOST_RATIO
    if size(high, count) <= budget:
        return Knobs(high, count)
    for _ in range(STEPS):
        if size(low, count) >= budget * (1 - NEAR_ENOUGH):
            break
        # Sizes grow almost evenly with the ratio, so the straight line between two known ones is a good guess.
        part = (budget - size(low, count)) / (size(high, count) - size(low, count))
        guess = round(low + (high - low) * min(0.9, max(0.1, part)), 4)
        if size(guess, count) <= budget:
            low = guess
        else:
            high = guess
    return Knobs(low, count)
