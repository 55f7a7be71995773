"""Limits on the length of an answer, as requests state them."""

from typing import Any

from plimsoll.dialects.efforts import MIN_BUDGET


def whole_number(value: Any) -> int:
    """A positive number of tokens; 0 for anything else."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return max(0, value) if is_number else 0


def fitted_budget(budget: int, requested: int, limit: int) -> int | None:
    """The thinking budget as the same share of a lower limit; None if it would be too small."""
    if limit >= requested:
        return budget
    share = budget * limit // requested
    return share if share >= MIN_BUDGET else None
