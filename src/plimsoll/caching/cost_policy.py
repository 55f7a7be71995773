"""The cost policy: summarise now, clear old tool results, or wait, whichever is cheapest.

    prompt    [ ------------ target ------------ | ---- removable ---- ]   each request reads what is removable
    lighter   [ ------------ target ------------ ]                         once: written anew, its summary paid for

    what was paid for the removable part since the last compaction    >= the price of letting it go   ┐
    what as many requests as there were so far would pay for it       >= the price of letting it go   ┴► now

While a conversation grows evenly, the first line is crossed where the cost per request is least: what is carried
grows with the square of the requests, as stock does in the rule for lot sizes, so that growth needs no guess. That
part of the price which every removed token costs, sooner or later, is no reason to wait; the first line leaves it
out. Behind a pause in which the cache expired all is written anew anyhow, and a lighter prompt is cheaper at once.
Clearing old tool results removes less, and needs no summary; it is judged by the same two lines, and taken where it
spares more, or where a summary does not pay yet. Where a card has no prices, nothing pays. Pure: time is an argument.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from plimsoll.caching.breakpoints import LIFETIMES
from plimsoll.caching.policy import CachingPolicy
from plimsoll.caching.pricing import usd
from plimsoll.caching.replay import cold_summary_cost, warm_summary_cost
from plimsoll.models import ModelCard

LEAST_GAIN = 1.5  # prompts below this many times the target stay: a compaction costs detail too
LEAST_CLEARED = 1_000  # tokens for which results are cleared
MOST_REQUESTS = 200  # that are expected, however long the conversation has been
_ON_ITS_WAY = 5.0  # an entry this close to its end may be gone when the request arrives
_IDLE = 300.0
_STEP = 1_000  # tokens over which the price of one more removed token is taken


@dataclass(frozen=True, slots=True)
class Pricing:
    """What a conversation is billed by."""

    card: ModelCard
    lifetime: float | None = None  # seconds that a prompt stays cached; None: nothing is cached
    hour: bool = False  # whether the cache is written for an hour
    writer: ModelCard | None = None  # the model that writes summaries; None: they cost nothing


@dataclass(frozen=True, slots=True)
class Clearing:
    """What clearing old tool results would do to a prompt."""

    removed: int = 0  # tokens
    before: int = 0  # tokens in front of the first that goes; they stay as they are


@dataclass(frozen=True, slots=True)
class CostHistory:
    """How a conversation has gone so far, as far as money is concerned."""

    requests: int = 0  # since it began
    carried: int = 0  # removable tokens, added up over the requests since the last compaction
    tokens: int = 0  # of the newest prompt, as far as it can still be in the cache
    last: float | None = None  # when the newest request was sent
    settled: int = 0  # of what was carried, what came before the last time that results were cleared

    def asked(self, tokens: int, target: int, now: float) -> "CostHistory":
        """One request later."""
        carried = self.carried + max(0, tokens - target)
        return CostHistory(self.requests + 1, carried, tokens, now, self.settled)

    def compacted(self) -> "CostHistory":
        """The prompt was made lighter: nothing is carried, and nothing of it is cached yet."""
        return replace(self, carried=0, tokens=0, settled=0)

    def cleared(self, clearing: Clearing, target: int) -> "CostHistory":
        """Results were cleared: what was carried of them is settled, and what stands in front of them is cached."""
        left = max(0, self.tokens - target - clearing.removed) / max(1, self.tokens - target)
        carried = int(self.carried * left)
        return replace(self, tokens=clearing.before, carried=carried, settled=carried)

    def moved(self) -> "CostHistory":
        """Another model goes on, whose cache knows nothing of it."""
        return replace(self, carried=0, tokens=0, last=None, settled=0)


@dataclass(frozen=True, slots=True)
class CostDecision:
    """The money behind a lighter prompt, in USD, and whether it pays now."""

    price: float  # beyond what the next request costs either way; negative where it saves at once
    line: float  # that part of the price which waiting spares
    paid: float  # since the last compaction, for what could have gone
    ahead: float  # what the expected requests would pay for it

    def pays(self, share: float = 1.0) -> bool:
        """Whether to compact now; a `share` below 1 says so when it is near."""
        return self.line * share <= self.paid and self.price <= self.ahead

    @property
    def spared(self) -> float:
        """What is left of the expected savings."""
        return self.ahead - self.price


NEVER = CostDecision(price=1.0, line=1.0, paid=0.0, ahead=0.0)


def pricing_of(card: ModelCard, policy: CachingPolicy, writer: ModelCard | None = None) -> Pricing:
    """The pricing of a model under a caching policy, also where its provider caches by itself."""
    if policy.enabled:
        return Pricing(card, float(LIFETIMES[policy.ttl]), policy.ttl == "1h", writer)
    by_itself = card.cache.style not in ("none", "anthropic") and not policy.unwanted
    lifetime = float(card.cache.lifetimes[0]) if card.cache.lifetimes else _IDLE
    return Pricing(card, lifetime if by_itself else None, writer=writer)


def compaction_pays(
    pricing: Pricing,
    history: CostHistory,
    tokens: int,
    target: int,
    now: float,
    summary_tokens: Callable[[int], int] = lambda _removed: 0,
) -> CostDecision:
    """Whether to make a prompt of `tokens` lighter before it is sent.

    A compaction would leave `target` of them; `summary_tokens` says how long a model's summary is for so many
    removed tokens.
    """
    prices = pricing.card.prices_for(tokens)
    steady = prices.input if pricing.lifetime is None else prices.cache_read
    removed = tokens - target
    if removed <= 0 or tokens < target * LEAST_GAIN or steady <= 0.0:
        return NEVER

    def summary(weight: int) -> float:
        return summary_price(pricing, history, weight, summary_tokens(weight - target), now)

    step = min(_STEP, removed)
    written = _written(pricing, history, tokens, target, now)
    price = written + summary(tokens)
    each = (summary(tokens) - summary(tokens - step)) / step
    paid = usd(history.carried, steady)
    ahead = usd(removed * min(history.requests, MOST_REQUESTS), steady)
    return CostDecision(price, price - each * removed, paid, ahead)


def clearing_pays(
    pricing: Pricing, history: CostHistory, tokens: int, target: int, clearing: Clearing, now: float
) -> CostDecision:
    """Whether to clear old results in a prompt of `tokens`, of which a compaction would leave `target`."""
    prices = pricing.card.prices_for(tokens)
    steady = prices.input if pricing.lifetime is None else prices.cache_read
    removed = min(clearing.removed, tokens - target)
    if removed < LEAST_CLEARED or tokens < target * LEAST_GAIN or steady <= 0.0:
        return NEVER
    premium = _premium(pricing, tokens)
    if is_warm(pricing, history, now):
        price = usd(max(0, min(history.tokens, tokens) - clearing.before - removed), premium)
    else:
        price = -usd(removed, premium)
    paid = usd((history.carried - history.settled) * removed / (tokens - target), steady)
    ahead = usd(removed * min(history.requests, MOST_REQUESTS), steady)
    return CostDecision(price, price, paid, ahead)


def cheapest(summary: CostDecision, clearing: CostDecision) -> Literal["", "summary", "clearing"]:
    """What to do now; nothing where neither pays yet."""
    if clearing.pays() and not (summary.pays() and summary.spared >= clearing.spared):
        return "clearing"
    return "summary" if summary.pays() else ""


def summary_price(
    pricing: Pricing, history: CostHistory, tokens: int, summary_tokens: int, now: float
) -> float:
    """The cheaper way to a summary, in USD: its writer reads all of it, or the main model does from its cache."""
    if pricing.writer is None:
        return 0.0
    cold = cold_summary_cost(pricing.writer, tokens, summary_tokens).money
    if not is_warm(pricing, history, now):
        return cold
    return min(cold, warm_summary_cost(pricing.card, tokens, 0, summary_tokens).money)


def is_warm(pricing: Pricing, history: CostHistory, now: float) -> bool:
    """Whether the next request still finds what the newest one left in the cache."""
    if pricing.lifetime is None or history.last is None:
        return False
    return now - history.last + _ON_ITS_WAY < pricing.lifetime


def _written(pricing: Pricing, history: CostHistory, tokens: int, target: int, now: float) -> float:
    """What writing the lighter prompt costs beyond reading it, in USD, less what would be written anyhow."""
    premium = _premium(pricing, tokens)
    if not is_warm(pricing, history, now):
        return usd(target - tokens, premium)
    fresh = max(0, tokens - history.tokens)  # not in the cache yet, and among the newest, which stay
    return usd(max(0, target - fresh), premium)


def _premium(pricing: Pricing, tokens: int) -> float:
    """What writing a token to the cache costs beyond reading it from there, in USD for a million."""
    if pricing.lifetime is None:
        return 0.0
    prices = pricing.card.prices_for(tokens)
    return max(0.0, (prices.write_1h if pricing.hour else prices.write_5m) - prices.cache_read)
