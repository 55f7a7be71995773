"""The cost policy: summarise now, clear old tool results, or wait, whichever is cheapest.

    prompt    [ ------------ target ------------ | ---- removable ---- ]   each request reads the removable part
    compact   [ ------------ target ------------ ]                         once: written again, its summary paid for

    paid for the removable part since the last compaction          >= the price of removing it   ┐
    expected cost of carrying it for as many requests as so far    >= the price of removing it   ┴► now

While a conversation grows evenly, the first condition becomes true where the cost per request is lowest: the carried
tokens grow with the square of the requests, like stock in the formula for economic order quantities, so growth need
not be estimated. The part of the price that every removed token costs sooner or later is no reason to wait, so the
first condition leaves it out. After a pause in which the cache expired, everything is written again anyway, and a
smaller prompt is cheaper at once. Clearing old tool results removes less but needs no summary; it is judged by the
same two conditions, and used if it saves more or if a summary does not pay off yet. Without prices in the card,
nothing pays off. Pure: time is an argument.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from plimsoll.caching.breakpoints import LIFETIMES
from plimsoll.caching.policy import CachingPolicy
from plimsoll.caching.pricing import usd
from plimsoll.caching.replay import cold_summary_cost, warm_summary_cost
from plimsoll.models import ModelCard

MIN_GAIN = 1.5  # prompts below this multiple of the target stay: a compaction also costs detail
MIN_CLEARED = 1_000  # minimum tokens for clearing results
MAX_REQUESTS = 200  # maximum expected requests, however long the conversation has been
_ON_ITS_WAY = 5.0  # seconds before expiry at which an entry may be gone when the request arrives
_IDLE = 300.0  # seconds, if the card states no lifetime
_STEP = 1_000  # tokens over which the price of one more removed token is measured


@dataclass(frozen=True, slots=True)
class Pricing:
    """The prices of a conversation."""

    card: ModelCard
    lifetime: float | None = None  # seconds that a prompt stays cached; None: nothing is cached
    hour: bool = False  # the cache is written for an hour
    writer: ModelCard | None = None  # the summary model; None: summaries cost nothing


@dataclass(frozen=True, slots=True)
class Clearing:
    """The effect of clearing old tool results on a prompt."""

    removed: int = 0  # tokens
    before: int = 0  # tokens before the first removed one, which do not change


@dataclass(frozen=True, slots=True)
class CostHistory:
    """The history of a conversation, as far as its cost is concerned."""

    requests: int = 0  # since the start
    carried: int = 0  # removable tokens, summed over the requests since the last compaction
    tokens: int = 0  # of the newest prompt, as far as it can still be in the cache
    last: float | None = None  # when the newest request was sent
    settled: int = 0  # the part of `carried` from before results were last cleared

    def with_request(self, tokens: int, target: int, now: float) -> "CostHistory":
        """The history after one more request."""
        carried = self.carried + max(0, tokens - target)
        return CostHistory(self.requests + 1, carried, tokens, now, self.settled)

    def compacted(self) -> "CostHistory":
        """The history after a compaction: nothing is carried, and nothing is cached yet."""
        return replace(self, carried=0, tokens=0, settled=0)

    def cleared(self, clearing: Clearing, target: int) -> "CostHistory":
        """The history after clearing results: their share is settled, and what precedes them is cached."""
        left = max(0, self.tokens - target - clearing.removed) / max(1, self.tokens - target)
        carried = int(self.carried * left)
        return replace(self, tokens=clearing.before, carried=carried, settled=carried)

    def moved(self) -> "CostHistory":
        """The history for another model, whose cache is empty."""
        return replace(self, carried=0, tokens=0, last=None, settled=0)


@dataclass(frozen=True, slots=True)
class CostDecision:
    """The costs and savings of a compaction in USD, and whether it pays off now."""

    price: float  # beyond what the next request costs anyway; negative if it saves at once
    line: float  # the part of the price that waiting saves
    paid: float  # since the last compaction, for what could have been removed
    ahead: float  # what the expected requests would pay for it

    def pays(self, share: float = 1.0) -> bool:
        """Whether to compact now; with a `share` below 1, whether it is close."""
        return self.line * share <= self.paid and self.price <= self.ahead

    @property
    def net_savings(self) -> float:
        """The expected net savings."""
        return self.ahead - self.price


NEVER_PAYS = CostDecision(price=1.0, line=1.0, paid=0.0, ahead=0.0)


def pricing_of(card: ModelCard, policy: CachingPolicy, writer: ModelCard | None = None) -> Pricing:
    """The pricing of a model under a caching policy, including providers that cache automatically."""
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
    """Whether to compact a prompt of `tokens` before it is sent.

    A compaction would leave `target` of them; `summary_tokens` returns the length of a summary for a number of
    removed tokens.
    """
    prices = pricing.card.prices_for(tokens)
    steady = prices.input if pricing.lifetime is None else prices.cache_read
    removed = tokens - target
    if removed <= 0 or tokens < target * MIN_GAIN or steady <= 0.0:
        return NEVER_PAYS

    def summary(weight: int) -> float:
        return summary_price(pricing, history, weight, summary_tokens(weight - target), now)

    step = min(_STEP, removed)
    written = _written(pricing, history, tokens, target, now)
    price = written + summary(tokens)
    each = (summary(tokens) - summary(tokens - step)) / step
    paid = usd(history.carried, steady)
    ahead = usd(removed * min(history.requests, MAX_REQUESTS), steady)
    return CostDecision(price, price - each * removed, paid, ahead)


def clearing_pays(
    pricing: Pricing, history: CostHistory, tokens: int, target: int, clearing: Clearing, now: float
) -> CostDecision:
    """Whether to clear old results in a prompt of `tokens`, of which a compaction would leave `target`."""
    prices = pricing.card.prices_for(tokens)
    steady = prices.input if pricing.lifetime is None else prices.cache_read
    removed = min(clearing.removed, tokens - target)
    if removed < MIN_CLEARED or tokens < target * MIN_GAIN or steady <= 0.0:
        return NEVER_PAYS
    premium = _premium(pricing, tokens)
    if is_warm(pricing, history, now):
        price = usd(max(0, min(history.tokens, tokens) - clearing.before - removed), premium)
    else:
        price = -usd(removed, premium)
    paid = usd((history.carried - history.settled) * removed / (tokens - target), steady)
    ahead = usd(removed * min(history.requests, MAX_REQUESTS), steady)
    return CostDecision(price, price, paid, ahead)


def cheapest(summary: CostDecision, clearing: CostDecision) -> Literal["", "summary", "clearing"]:
    """What to do now; nothing if neither pays off yet."""
    if clearing.pays() and not (summary.pays() and summary.net_savings >= clearing.net_savings):
        return "clearing"
    return "summary" if summary.pays() else ""


def summary_price(
    pricing: Pricing, history: CostHistory, tokens: int, summary_tokens: int, now: float
) -> float:
    """The cheaper summary in USD: its writer reads everything, or the main model reads from its cache."""
    if pricing.writer is None:
        return 0.0
    cold = cold_summary_cost(pricing.writer, tokens, summary_tokens).money
    if not is_warm(pricing, history, now):
        return cold
    return min(cold, warm_summary_cost(pricing.card, tokens, 0, summary_tokens).money)


def is_warm(pricing: Pricing, history: CostHistory, now: float) -> bool:
    """Whether the next request still finds the newest one's prompt in the cache."""
    if pricing.lifetime is None or history.last is None:
        return False
    return now - history.last + _ON_ITS_WAY < pricing.lifetime


def _written(pricing: Pricing, history: CostHistory, tokens: int, target: int, now: float) -> float:
    """The extra USD for writing the compacted prompt instead of reading it, minus what would be written anyway."""
    premium = _premium(pricing, tokens)
    if not is_warm(pricing, history, now):
        return usd(target - tokens, premium)
    fresh = max(0, tokens - history.tokens)  # not in the cache yet, and among the newest messages, which stay
    return usd(max(0, target - fresh), premium)


def _premium(pricing: Pricing, tokens: int) -> float:
    """The extra USD per million tokens for writing to the cache instead of reading from it."""
    if pricing.lifetime is None:
        return 0.0
    prices = pricing.card.prices_for(tokens)
    return max(0.0, (prices.write_1h if pricing.hour else prices.write_5m) - prices.cache_read)
