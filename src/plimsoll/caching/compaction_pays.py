"""Whether a compaction pays now, or waiting is cheaper.

    prompt    [ ------------ target ------------ | ---- removable ---- ]   each request reads what is removable
    lighter   [ ------------ target ------------ ]                         once: written anew, its summary paid for

    what was paid for the removable part since the last compaction    >= the price of letting it go   ┐
    what as many requests as there were so far would pay for it       >= the price of letting it go   ┴► now

While a conversation grows evenly, the first line is crossed where the cost per request is least: what is carried
grows with the square of the requests, as stock does in the rule for lot sizes, so that growth needs no guess. That
part of the price which every removed token costs, sooner or later, is no reason to wait; the first line leaves it
out. Behind a pause in which the cache expired all is written anew anyhow, and a lighter prompt is cheaper at once.
Where a card has no prices, nothing pays. Pure: time is an argument.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from plimsoll.caching.breakpoints import LIFETIMES
from plimsoll.caching.policy import CachingPolicy
from plimsoll.caching.replay import cold_summary_cost, warm_summary_cost
from plimsoll.models import ModelCard

LEAST_GAIN = 1.5  # prompts below this many times the target stay: a compaction costs detail too
MOST_REQUESTS = 200  # that are expected, however long the conversation has been
_ON_ITS_WAY = 5.0  # an entry this close to its end may be gone when the request arrives
_IDLE = 300.0
_STEP = 1_000  # tokens over which the price of one more removed token is taken
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
    carried: int = 0  # removable tokens, added up over the requests since the last compaction
    tokens: int = 0  # of the newest prompt, as far as it can still be in the cache
    last: float | None = None  # when the newest request was sent

    def asked(self, tokens: int, target: int, now: float) -> "Course":
        """One request later."""
        return Course(self.requests + 1, self.carried + max(0, tokens - target), tokens, now)

    def compacted(self) -> "Course":
        """The prompt was made lighter: nothing is carried, and nothing of it is cached yet."""
        return replace(self, carried=0, tokens=0)

    def moved(self) -> "Course":
        """Another model goes on, whose cache knows nothing of it."""
        return replace(self, carried=0, tokens=0, last=None)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The money behind a compaction, in USD, and whether it pays now."""

    price: float  # beyond what the next request costs either way; negative where it saves at once
    line: float  # that part of the price which waiting spares
    paid: float  # since the last compaction, for what could have gone
    ahead: float  # what the expected requests would pay for it

    def pays(self, share: float = 1.0) -> bool:
        """Whether to compact now; a `share` below 1 says so when it is near."""
        return self.line * share <= self.paid and self.price <= self.ahead


NEVER = Verdict(price=1.0, line=1.0, paid=0.0, ahead=0.0)


def terms_of(card: ModelCard, policy: CachingPolicy, writer: ModelCard | None = None) -> Terms:
    """The terms of a model under a caching policy, also where its provider caches by itself."""
    if policy.enabled:
        return Terms(card, float(LIFETIMES[policy.ttl]), policy.ttl == "1h", writer)
    by_itself = card.cache.style not in ("none", "anthropic") and not policy.unwanted
    lifetime = float(card.cache.lifetimes[0]) if card.cache.lifetimes else _IDLE
    return Terms(card, lifetime if by_itself else None, writer=writer)


def compaction_pays(
    terms: Terms,
    course: Course,
    tokens: int,
    target: int,
    now: float,
    summary_tokens: Callable[[int], int] = lambda _removed: 0,
) -> Verdict:
    """Whether to make a prompt of `tokens` lighter before it is sent.

    A compaction would leave `target` of them; `summary_tokens` says how long a model's summary is for so many
    removed tokens.
    """
    prices = terms.card.prices_for(tokens)
    steady = prices.input if terms.lifetime is None else prices.cache_read
    removed = tokens - target
    if removed <= 0 or tokens < target * LEAST_GAIN or steady <= 0.0:
        return NEVER

    def summary(weight: int) -> float:
        return summary_price(terms, course, weight, summary_tokens(weight - target), now)

    step = min(_STEP, removed)
    written = _written(terms, course, tokens, target, now)
    price = written + summary(tokens)
    each = (summary(tokens) - summary(tokens - step)) / step
    paid = steady * course.carried / _MILLION
    ahead = steady * removed * min(course.requests, MOST_REQUESTS) / _MILLION
    return Verdict(price, price - each * removed, paid, ahead)


def summary_price(terms: Terms, course: Course, tokens: int, summary_tokens: int, now: float) -> float:
    """The cheaper way to a summary, in USD: its writer reads all of it, or the main model does from its cache."""
    if terms.writer is None:
        return 0.0
    cold = cold_summary_cost(terms.writer, tokens, summary_tokens).money
    if not is_warm(terms, course, now):
        return cold
    return min(cold, warm_summary_cost(terms.card, tokens, 0, summary_tokens).money)


def is_warm(terms: Terms, course: Course, now: float) -> bool:
    """Whether the next request still finds what the newest one left in the cache."""
    if terms.lifetime is None or course.last is None:
        return False
    return now - course.last + _ON_ITS_WAY < terms.lifetime


def _written(terms: Terms, course: Course, tokens: int, target: int, now: float) -> float:
    """What writing the lighter prompt costs beyond reading it, in USD, less what would be written anyhow."""
    if terms.lifetime is None:
        return 0.0
    prices = terms.card.prices_for(tokens)
    write = prices.write_1h if terms.hour else prices.write_5m
    premium = max(0.0, write - prices.cache_read)
    if not is_warm(terms, course, now):
        return premium * (target - tokens) / _MILLION
    fresh = max(0, tokens - course.tokens)  # not in the cache yet, and among the newest, which stay
    return premium * max(0, target - fresh) / _MILLION
