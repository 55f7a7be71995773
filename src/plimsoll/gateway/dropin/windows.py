"""What is known about each model that clients ask for: its card, its window, how its requests are cached.

A window that an upstream stated when it refused a request holds from then on, for every conversation with
that model.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from plimsoll.agent.compaction import SOFT_LINE
from plimsoll.caching import CachingPolicy, caching_policy
from plimsoll.config import Settings
from plimsoll.models import ModelCard
from plimsoll.providers import Endpoint

MOST_MODELS = 256  # clients may send any name


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """One model at one upstream."""

    card: ModelCard
    policy: CachingPolicy
    threshold: float
    target: int | None = (
        None  # under `policy: cost`, tokens that a compaction leaves; None: the threshold decides
    )

    @property
    def window(self) -> int:
        """The most tokens that a prompt may have."""
        return self.card.prompt_limit

    @property
    def look_line(self) -> int:
        """Tokens from which a conversation is looked at: below, nothing about it can change."""
        soft = int(self.window * self.threshold * SOFT_LINE)
        return soft if self.target is None else min(soft, self.target)


class Windows:
    """The facts of every model that was asked for, and what was learned about it.

    `card_of` gives the card, `target_of` what a compaction leaves in a window of so many tokens.
    """

    def __init__(
        self, settings: Settings, card_of: Callable[[Endpoint], ModelCard], target_of: Callable[[int], int]
    ) -> None:
        self._settings, self._card_of, self._target_of = settings, card_of, target_of
        self._facts: OrderedDict[tuple[str, str], ModelFacts] = OrderedDict()
        self.ratios: dict[str, float] = {}  # tokens that a token of estimate is worth, by model

    def facts(self, endpoint: Endpoint, model: str) -> ModelFacts:
        """What holds for a model at an upstream."""
        key = (endpoint.base_url, model)
        found = self._facts.get(key)
        if found is None:
            found = self._facts[key] = self._made(replace(endpoint, model=model))
            while len(self._facts) > MOST_MODELS:
                self._facts.popitem(last=False)
        return found

    def learn(self, endpoint: Endpoint, model: str, limit: int | None) -> ModelFacts:
        """The upstream said that the window ends here."""
        facts = self.facts(endpoint, model)
        if limit and limit < facts.window:
            facts = replace(facts, card=replace(facts.card, window=limit, input_cap=None))
            self._facts[(endpoint.base_url, model)] = facts
        return facts

    def note_ratio(self, model: str, ratio: float) -> None:
        """New conversations with this model begin with what an earlier one learned."""
        if model in self.ratios or len(self.ratios) < MOST_MODELS:
            self.ratios[model] = ratio

    def _made(self, endpoint: Endpoint) -> ModelFacts:
        caching = self._settings.prompt_caching
        policy = caching_policy(
            endpoint.model,
            endpoint.provider,
            endpoint.base_url or None,
            cache_ttl=caching.cache_ttl,
            strategy=caching.strategy,
        )
        card, compression = self._card_of(endpoint), self._settings.compression
        target = self._target_of(card.prompt_limit) if compression.policy == "cost" else None
        return ModelFacts(card, policy, compression.threshold, target)
