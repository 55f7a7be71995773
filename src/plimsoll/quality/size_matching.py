"""The settings whose results have a wanted mean size.

    budget 11 000 ──► target_tokens that comes nearest from below, the newest messages at their least share

Knows no engine: how large results are with some settings is asked of the caller, never twice the same.
"""

from collections.abc import Callable
from dataclasses import dataclass

LEAST_RATIO = 0.10
STEPS = 5
NEAR_ENOUGH = 0.015


@dataclass(frozen=True, slots=True)
class SizeSettings:
    """The settings that decide how large a compacted conversation becomes; the defaults are the engine's own."""

    target_tokens: int | None = None
    target_ratio: float = 0.20
    protect_last_n: int = 20


def fit(
    size_of: Callable[[SizeSettings], float], budget: int, first: int | None = None, near: float = NEAR_ENOUGH
) -> SizeSettings:
    """The settings whose mean comes nearest to the budget from below; where none does, the smallest tried.

    `first` is the target to begin with, `near` the share of the budget that may be missing.
    """
    known: dict[int, float] = {}
    target = first or budget
    for _ in range(STEPS):
        known[target] = size_of(_knobs(target))
        if budget * (1 - near) <= known[target] <= budget:
            break
        # Sizes grow with the target, but characters are not tokens: correct by what the last guess was off.
        guess = max(1, round(target * budget * (1 - near / 2) / known[target]))
        if guess in known:
            break
        target = guess
    below = [target for target, size in known.items() if size <= budget]
    return _knobs(max(below) if below else min(known))


def _knobs(target: int) -> SizeSettings:
    return SizeSettings(target, LEAST_RATIO)
