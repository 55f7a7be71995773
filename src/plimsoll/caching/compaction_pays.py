"""Whether a compaction pays now, or waiting is cheaper.

    prompt  ┌────────────── tokens ─────────────┐      each request reads `tokens - target` that need not be there
    lighter ├─ target ─┐                               once: the lighter prompt is written, its summary is paid for

    since the last compaction, this much was paid for carrying what could go    >= the price of letting it go  ┐
    as many requests as there were so far would pay at least as much again      >= the price of letting it go  ┴► now

While a conversation grows evenly, the first line is crossed exactly where the cost per request is least: what is
carried grows with the square of the requests, as in the rule for lot sizes. No guess about growth is needed. Behind
a pause in which the cache expired the whole prompt is written anew anyhow; a lighter one is then cheaper at once.
Where a card has no prices, nothing pays. Pure: time is an argument.
"""

from dataclasses import dataclass, replace

from plimsoll.caching.breakpoints import LIFETIMES
from plimsoll.caching.policy import CachingPolicy
from plimsoll.caching.replay import cold_summary_cost, warm_summary_cost
from plimsoll.models import ModelCard

LEAST_GAIN = 1.5  # prompts below this many times the target stay: a compaction costs detail too
MOST_REQUESTS = 200  # that are expected, however long the conversation has been
_ON_ITS_WAY = 5.0  # an entry this close to its end may be gone when the request arrives
_IDLE = 300.0
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Terms:
    """What a conversation is billed by."""

    card: ModelCard
    lifetime: float | None = None  # seconds that a prompt stays cached; None: nothing is cached
    hour: bool = False  # whether the cache is written for an hour
    writer: ModelCard | None = None  # the model that writes summaries; None: they cost nothing


@dataclass(frozen=True, slots=True)
class Course:
    """How a conversation has gone so far, as far as money is concerned."""

    requests: int = 0  # since it began
    carried: int = 0  # tokens above the target, added up over the requests since the last compaction
    last: float | None = None  # when the newest request was sent

    def asked(self, tokens: int, target: int, now: float) -> "Course":
        """One request later."""
        carried = self.carried + max(0, tokens - target)
        return Course(self.requests + 1, carried, now)

    def compacted(self) -> "Course":
        """The prompt was made lighter: nothing is carried yet."""
        return replace(self, carried=0)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether to compact now, and the money behind it in USD."""

    pays: bool
    price: float = (
        0.0  # of compacting now, beyond what the next request costs either way; negative: it saves at once
    )
    paid: float = 0.0  # since the last compaction, for what could have gone
    ahead: float = 0.0  # what the expected requests would pay for it


def terms_of(card: ModelCard, policy: CachingPolicy, writer: ModelCard | None = None) -> Terms:
    """The terms of a model under a caching policy, also where its provider caches by itself."""
    if policy.enabled:
        return Terms(card, float(LIFETIMES[policy.ttl]), policy.ttl == "1h", writer)
    by_itself = card.cache.style not in ("none", "anthropic") and not policy.unwanted
    lifetime = float(card.cache.lifetimes[0]) if card.cache.lifetimes else _IDLE
    return Terms(card, lifetime if by_itself else None, writer=writer)


def compaction_pays(
    terms: Terms, course: Course, tokens: int, target: int, now: float, summary_tokens: int = 0
) -> Verdict:
    """Whether to make a prompt of `tokens` lighter before it is sent.

    A compaction would leave `target` of them; a model's summary has `summary_tokens`.
    """
    if tokens < target * LEAST_GAIN or tokens <= target:
        return Verdict(False)
    prices = terms.card.prices_for(tokens)
    write = prices.write_1h if terms.hour else prices.write_5m
    steady = prices.input if terms.lifetime is None else prices.cache_read
    if steady <= 0.0:
        return Verdict(False)
    premium = 0.0 if terms.lifetime is None else max(0.0, write - steady)
    warm = is_warm(terms, course, now)
    written = premium * target - (0.0 if warm else premium * tokens)
    price = written / _MILLION + summary_price(terms, course, tokens, summary_tokens, now)
    paid = steady * course.carried / _MILLION
    ahead = steady * (tokens - target) * min(course.requests, MOST_REQUESTS) / _MILLION
    return Verdict(price <= min(paid, ahead), price, paid, ahead)


def is_warm(terms: Terms, course: Course, now: float) -> bool:
    """Whether the next request still finds what the newest one left in the cache."""
    if terms.lifetime is None or course.last is None:
        return False
    return now - course.last + _ON_ITS_WAY < terms.lifetime


def summary_price(terms: Terms, course: Course, tokens: int, summary_tokens: int, now: float) -> float:
    """The cheaper way to a summary, in USD: its writer reads all of it, or the main model does from its cache."""
    if terms.writer is None:
        return 0.0
    cold = cold_summary_cost(terms.writer, tokens, summary_tokens).money
    if not is_warm(terms, course, now):
        return cold
    return min(cold, warm_summary_cost(terms.card, tokens, 0, summary_tokens).money)
