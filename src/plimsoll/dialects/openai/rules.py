"""What a model accepts in OpenAI's wire format.

`EXACT` allows everything in the format; `rules_for(model)` and `rules_of(card)` return what that model accepts.
"""

import re
from dataclasses import dataclass

from plimsoll.models import ModelCard, card_for

# OpenAI's reasoning models, listed or not: they reject `max_tokens`, the only limit of compatible servers.
REASONING = re.compile(r"(?:^|/)(?:o\d|gpt-(?:[5-9]|\d\d))")
_USUAL_EFFORTS = ("low", "medium", "high")


@dataclass(frozen=True, slots=True)
class OpenAiRules:
    """Differences between models with this wire format."""

    efforts: tuple[str, ...] | None = None  # values of `reasoning_effort`; None: any
    sampling: bool = True  # temperature, top_p and stop are accepted


EXACT = OpenAiRules()


def rules_for(model: str) -> OpenAiRules:
    """The rules of a model by name."""
    return rules_of(card_for(model))


def rules_of(card: ModelCard) -> OpenAiRules:
    """The rules of a model by card; an unknown model gets no effort unless its name shows that it reasons."""
    if not card.known and not card.efforts and REASONING.search(card.name.lower()):
        return OpenAiRules(_USUAL_EFFORTS, sampling=False)
    return OpenAiRules(card.efforts, card.sampling)
