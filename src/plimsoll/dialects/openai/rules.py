"""What the receiver of a request on OpenAI's wire accepts beyond the common ground.

`EXACT` says everything that the wire can say; `rules_for(model)` and `rules_of(card)` say what that model takes.
"""

import re
from dataclasses import dataclass

from plimsoll.models import ModelCard, card_for

# OpenAI's reasoning models, known or not: they refuse `max_tokens`, which compatible servers know alone.
REASONING = re.compile(r"(?:^|/)(?:o\d|gpt-(?:[5-9]|\d\d))")
_USUAL_EFFORTS = ("low", "medium", "high")


@dataclass(frozen=True, slots=True)
class OpenAiRules:
    """Differences between the models that speak this wire."""

    efforts: tuple[str, ...] | None = None  # values of `reasoning_effort`; None: any
    sampling: bool = True  # temperature, top_p and stop are accepted


EXACT = OpenAiRules()


def rules_for(model: str) -> OpenAiRules:
    """The rules of a model by its name."""
    return rules_of(card_for(model))


def rules_of(card: ModelCard) -> OpenAiRules:
    """The rules of a model by its card; an unknown model gets no effort unless its name shows that it thinks."""
    if not card.known and not card.efforts and REASONING.search(card.name.lower()):
        return OpenAiRules(_USUAL_EFFORTS, sampling=False)
    return OpenAiRules(card.efforts, card.sampling)
