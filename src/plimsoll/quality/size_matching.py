"""Finds the settings whose results have a given mean size.

    budget 11 000 ──► the target_tokens with the largest mean size up to it, with the smallest tail share

Independent of the engine: the caller measures the size for some settings, each at most once.
"""

from collections.abc import Callable
from dataclasses import dataclass

MIN_RATIO = 0.10
STEPS = 5  # compactions tried for one size
NEAR_ENOUGH = 0.015  # of the wanted size


@dataclass(frozen=True, slots=True)
class SizeSettings:
    """The settings that determine the size of a compacted conversation; the defaults are the engine's."""

    target_tokens: int | None = None
    target_ratio: float = 0.20
    protect_last_n: int = 20


def fit(
    size_of: Callable[[SizeSettings], float],
    budget: int,
    first: int | None = None,
    tolerance: float = NEAR_ENOUGH,
) -> SizeSettings:
    """The settings with the largest mean size within the budget; if none fits, the smallest target tried.

    `first` is the initial target, `tolerance` the share of the budget that may stay unused.
    """
    known: dict[int, float] = {}
    target = first or budget
    for _ in range(STEPS):
        known[target] = size_of(_settings_for(target))
        if budget * (1 - tolerance) <= known[target] <= budget:
            break
        # Sizes grow with the target, but characters are not tokens: correct by the error of the last guess.
        guess = max(1, round(target * budget * (1 - tolerance / 2) / known[target]))
        if guess in known:
            break
        target = guess
    below = [target for target, size in known.items() if size <= budget]
    return _settings_for(max(below) if below else min(known))


def _settings_for(target: int) -> SizeSettings:
    return SizeSettings(target, MIN_RATIO)
