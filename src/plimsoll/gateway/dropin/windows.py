"""What is known about each model that clients use: its card, its window, how its requests are cached.

A window or output cap that an upstream states in a refusal applies to every conversation with that model at that
upstream for an hour. An upstream may quote the request in its refusal, so a stated window is believed only if the
request is large enough to have exceeded it and its number does not occur in what the client sent.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from plimsoll.agent.trigger import SOFT_SHARE
from plimsoll.archive import Owner
from plimsoll.caching import CachingPolicy, caching_policy
from plimsoll.config import Settings
from plimsoll.context import Budget
from plimsoll.models import ModelCard, limiting_betas
from plimsoll.providers import Endpoint
from plimsoll.providers.stated_limits import LEARNED_SECONDS

Key = tuple[str, str, tuple[str, ...]]  # address, model, betas
MAX_MODELS = 256  # clients may send any name
MAX_RATIOS = 4_096  # in memory: one per model and caller


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """One model at one upstream."""

    name: str  # as clients write it, which the patterns of `models` match; the card's may be another
    card: ModelCard
    policy: CachingPolicy
    budget: Budget  # of its compactions
    output_cap: int | None = None  # maximum tokens of an answer; None if unknown
    rejects_media: bool = False  # the upstream has recently rejected images or bytes

    @property
    def window(self) -> int:
        """The maximum tokens of a prompt."""
        return self.card.prompt_limit

    @property
    def threshold(self) -> float:
        """The share of the window at which a compaction is due."""
        return self.budget.threshold

    @property
    def tracking_threshold(self) -> int:
        """Tokens from which a conversation is examined; below, no decision about it can change."""
        soft = int(self.window * self.threshold * SOFT_SHARE)
        # Under `policy: cost`, prices decide before the threshold does.
        return min(soft, self.budget.sizes().target_tokens) if self.budget.lean else soft


class Windows:
    """The facts of every model in use, and what was learned about it.

    `card_of` returns the card, `budget_of` the compaction budget of a model in a window of this size.
    """

    def __init__(
        self,
        settings: Settings,
        card_of: Callable[[Endpoint], ModelCard],
        budget_of: Callable[[int, str], Budget],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings, self._card_of, self._budget_of = settings, card_of, budget_of
        self._monotonic = monotonic
        self._facts: OrderedDict[Key, ModelFacts] = OrderedDict()
        self._expires: dict[Key, float] = {}  # expiry of windows and caps that an upstream stated
        # Reported tokens per estimated token. Also by owner, because it depends on the content.
        self._ratios: OrderedDict[tuple[Owner, str, str], float] = OrderedDict()

    def facts(self, endpoint: Endpoint, model: str) -> ModelFacts:
        """The facts of a model at an upstream, with the betas that the endpoint's headers request."""
        key = _key(endpoint, model)
        if key in self._expires and self._monotonic() >= self._expires[key]:
            del self._expires[key]
            self._facts.pop(key, None)
        found = self._facts.get(key)
        if found is None:
            found = self._facts[key] = self._made(replace(endpoint, model=model))
            while len(self._facts) > MAX_MODELS:
                forgotten, _ = self._facts.popitem(last=False)
                self._expires.pop(forgotten, None)
        return found

    def learn(self, endpoint: Endpoint, model: str, limit: int | None, is_credible: bool) -> ModelFacts:
        """The facts with the window that an upstream stated; stored for all conversations if credible."""
        facts = self.facts(endpoint, model)
        if limit and limit < facts.window:
            card = replace(facts.card, window=limit, input_cap=None)
            facts = replace(facts, card=card, budget=replace(facts.budget, window=card.prompt_limit))
            if is_credible:
                self._keep(endpoint, model, facts)
        return facts

    def learn_output_cap(self, endpoint: Endpoint, model: str, cap: int, is_credible: bool) -> ModelFacts:
        """The same for the maximum tokens of an answer."""
        facts = self.facts(endpoint, model)
        if facts.output_cap is None or cap < facts.output_cap:
            facts = replace(facts, output_cap=cap)
            if is_credible:
                self._keep(endpoint, model, facts)
        return facts

    def learn_media(self, endpoint: Endpoint, model: str) -> None:
        """Record that the upstream rejected images or bytes, so that short requests with images are examined too."""
        self._keep(endpoint, model, replace(self.facts(endpoint, model), rejects_media=True))

    def ratio(self, owner: Owner, endpoint: Endpoint, model: str) -> float:
        """Tokens that the provider counts per estimated token, from the owner's last reply of this model."""
        return self._ratios.get((owner, endpoint.base_url, model), 1.0)

    def note_ratio(self, owner: Owner, endpoint: Endpoint, model: str, ratio: float) -> None:
        """Start the owner's new conversations with this model from this ratio."""
        key = owner, endpoint.base_url, model
        self._ratios[key] = ratio
        self._ratios.move_to_end(key)
        if len(self._ratios) > MAX_RATIOS:
            self._ratios.popitem(last=False)

    def _keep(self, endpoint: Endpoint, model: str, facts: ModelFacts) -> None:
        key = _key(endpoint, model)
        self._facts[key] = facts
        self._expires[key] = self._monotonic() + LEARNED_SECONDS

    def _made(self, endpoint: Endpoint) -> ModelFacts:
        caching = self._settings.prompt_caching
        policy = caching_policy(
            endpoint.model,
            endpoint.provider,
            endpoint.base_url or None,
            cache_ttl=caching.cache_ttl,
            strategy=caching.strategy,
        )
        card = self._card_of(endpoint)
        budget = self._budget_of(card.prompt_limit, endpoint.model)
        caps = [cap for cap in (card.known_output_cap, self._settings.model.max_output_tokens) if cap]
        return ModelFacts(endpoint.model, card, policy, budget, min(caps, default=None))


def _key(endpoint: Endpoint, model: str) -> Key:
    return endpoint.base_url, model, limiting_betas(endpoint.header(endpoint.wire.beta_header))
