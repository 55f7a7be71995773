"""Reasoning effort: a word on OpenAI's wire, a word or a token budget on Anthropic's.

    none      no thinking              thinking disabled
    minimal   1,024 tokens             the minimum that Anthropic accepts
    low       2,048
    medium    8,192                    medium and high are the budgets of Google's OpenAI endpoint for these
    high      24,576                   words (ai.google.dev, "OpenAI compatibility")
    xhigh     32,768                   above this, Anthropic recommends streaming
    max       65,536

A budget becomes the largest effort that fits it, so that a word survives a round trip.
"""

from collections.abc import Sequence
from typing import Any

from plimsoll.dialects.request import Thinking

MIN_BUDGET = 1_024  # Anthropic's minimum
BUDGETS = {
    "minimal": MIN_BUDGET,
    "low": 2_048,
    "medium": 8_192,
    "high": 24_576,
    "xhigh": 32_768,
    "max": 65_536,
}
_ORDER = ("none", *BUDGETS)


def effort_of(thinking: Thinking | None) -> str | None:
    """The effort for a thinking setting; None if the model decides."""
    if thinking is None:
        return None
    if thinking.mode == "disabled":
        return "none"
    if thinking.effort is not None or thinking.budget_tokens is None:
        return thinking.effort
    paid = [effort for effort, budget in BUDGETS.items() if budget <= thinking.budget_tokens]
    return paid[-1] if paid else "minimal"


def thinking_of(effort: Any) -> Thinking | None:
    """The thinking that a request asks for with an effort; None leaves it to the model."""
    if not isinstance(effort, str):
        return None
    return Thinking(mode="disabled") if effort == "none" else Thinking(effort=effort)


def nearest_effort(effort: str, accepted: Sequence[str]) -> str | None:
    """The nearest accepted effort, the lower of two; None if the model accepts none."""
    if effort in accepted:
        return effort
    known = [word for word in accepted if word in _ORDER]
    if effort not in _ORDER or not known:
        return None
    place = _ORDER.index(effort)
    return min(known, key=lambda word: (abs(_ORDER.index(word) - place), _ORDER.index(word)))
