"""Chooses the cheaper way to a summary: the main model on its warm cache, or a cheap model on excerpts.

    warm   [ conversation, read from the cache ][ instruction ]   on the conversation's own model
    cold   [ instruction ][ excerpts of the middle ]              on any model, at full price

Only prices decide. Without prices, a cached conversation is read from the cache.
"""

from dataclasses import dataclass
from typing import Literal

from plimsoll.caching.replay import cold_summary_cost, warm_summary_cost
from plimsoll.models import ModelCard

# An entry this close to expiry may be gone when the request arrives.
_ON_ITS_WAY = 5.0


@dataclass(frozen=True, slots=True)
class SummaryChoice:
    """The chosen way, the cost of each, and the reason."""

    way: Literal["warm", "cold"]
    warm: float  # USD
    cold: float
    sentence: str


def choose_summary(
    main: ModelCard,
    auxiliary: ModelCard,
    *,
    cached_tokens: int,
    fresh_tokens: int,
    cold_tokens: int,
    output_tokens: int,
    age: float,
    lifetime: float,
) -> SummaryChoice:
    """Choose the cheaper way.

    `cached_tokens` were written to the main model's cache `age` seconds ago and live for `lifetime`; a warm request
    adds `fresh_tokens`. A cold one sends `cold_tokens` to the auxiliary model.
    """
    alive = cached_tokens > 0 and age + _ON_ITS_WAY < lifetime
    cached = cached_tokens if alive else 0
    warm = warm_summary_cost(main, cached, fresh_tokens + cached_tokens - cached, output_tokens).money
    cold = cold_summary_cost(auxiliary, cold_tokens, output_tokens).money
    if not alive:
        reason = (
            "nothing of the conversation is cached" if not cached_tokens else f"its cache is {age:,.0f} s old"
        )
        return SummaryChoice("cold", warm, cold, f"{auxiliary.name} reads excerpts, because {reason}.")
    unpriced = not (main.prices.input and auxiliary.prices.input)
    if warm < cold or (unpriced and main.name == auxiliary.name):
        return SummaryChoice(
            "warm", warm, cold, f"{main.name} reads {cached:,} tokens from its cache: {_money(warm, cold)}."
        )
    return SummaryChoice("cold", warm, cold, f"{auxiliary.name} reads excerpts: {_money(cold, warm)}.")


def _money(chosen: float, other: float) -> str:
    return f"${chosen:.4f} against ${other:.4f}"
