"""Simulates what a provider charges: requests in, bills out, with the cache's state in between.

    (style, model, workspace) ─► cache          request(t, prompt, card, breakpoints) ─► Bill

Every rule set is replayed from the card's `cache` rules and prices, and time is
an argument, so the same requests always yield the same bills. A rejected request costs and
changes nothing; the bill states why.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from plimsoll.caching.anthropic_rules import FIRST_TOKEN, AnthropicCache
from plimsoll.caching.automatic_rules import AutomaticCache, BreakpointCache, SlotCache
from plimsoll.caching.blocks import Prompt
from plimsoll.caching.breakpoints import Breakpoint
from plimsoll.caching.pricing import Bill, priced
from plimsoll.models import ModelCard

_OPENAI_LIFETIME = 1800  # seconds, if the card states none
_IDLE = 300  # seconds, if the card states none


class _Cache(Protocol):
    def request(
        self, now: float, prompt: Prompt, breakpoints: Sequence[Breakpoint], first_token: float
    ) -> Bill: ...


class _NoCache:
    def request(
        self, now: float, prompt: Prompt, breakpoints: Sequence[Breakpoint], first_token: float
    ) -> Bill:
        del now, breakpoints, first_token
        return Bill(plain=prompt.tokens)


class CacheSimulator:
    """The caches of every model and workspace that requests were sent to."""

    def __init__(self) -> None:
        self._caches: dict[tuple[str, str, str], _Cache] = {}

    def request(
        self,
        t: float,
        prompt: Prompt,
        card: ModelCard,
        breakpoints: Sequence[Breakpoint] = (),
        *,
        output_tokens: int = 0,
        workspace: str = "default",
        first_token: float = FIRST_TOKEN,
        automatic: str | None = None,
    ) -> Bill:
        """Send one request at time `t`; `automatic` is the lifetime of Anthropic's top-level marker."""
        place = (card.cache.style, card.name, workspace)
        cache = self._caches.setdefault(place, _cache_for(card))
        if isinstance(cache, AnthropicCache):
            bill = cache.request(t, prompt, breakpoints, first_token, automatic)
        else:
            bill = cache.request(t, prompt, breakpoints, first_token)
        if bill.refusals:
            return bill
        return priced(replace(bill, output=output_tokens), card, card.cache.style != "gemini_implicit")


def uncached(prompt_tokens: int, card: ModelCard, output_tokens: int = 0) -> Bill:
    """The cost of a request without a cache."""
    return priced(Bill(plain=prompt_tokens, output=output_tokens), card)


def _cache_for(card: ModelCard) -> _Cache:
    rules = card.cache
    if rules.style == "anthropic":
        return AnthropicCache(rules.minimum)
    if rules.style == "openai_breakpoints":
        return BreakpointCache(rules.minimum, rules.lifetimes[0] if rules.lifetimes else _OPENAI_LIFETIME)
    # If a provider states a range of idle time, use the shorter end.
    idle = rules.lifetimes[0] if rules.lifetimes else _IDLE
    if rules.style == "openai_automatic":
        return AutomaticCache(rules.minimum, idle)
    if rules.style == "gemini_implicit":
        return AutomaticCache(rules.minimum, idle, rounded_to=1)
    return SlotCache() if rules.style == "prefix" else _NoCache()
