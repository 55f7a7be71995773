"""How much a model thinks: a word on OpenAI's wire, a word or a budget of tokens on Anthropic's.

    none      no thinking              thinking disabled
    minimal   1,024 tokens             the least that Anthropic takes
    low       2,048
    medium    8,192                    medium and high are the budgets that Google's OpenAI endpoint gives to these
    high      24,576                   words (ai.google.dev, "OpenAI compatibility")
    xhigh     32,768                   beyond that, Anthropic advises against waiting for a reply in one piece
    max       65,536

A budget becomes the largest effort that it pays for, so that a word comes back as itself.
"""

from collections.abc import Sequence

from plimsoll.dialects.request import Thinking

LEAST_BUDGET = 1_024  # Anthropic refuses less
BUDGETS = {
    "minimal": LEAST_BUDGET,
    "low": 2_048,
    "medium": 8_192,
    "high": 24_576,
    "xhigh": 32_768,
    "max": 65_536,
}
_ORDER = ("none", *BUDGETS)


def effort_of(thinking: Thinking | None) -> str | None:
    """The word for an amount of thinking; None where it is left to the model."""
    if thinking is None:
        return None
    if thinking.mode == "disabled":
        return "none"
    if thinking.effort is not None or thinking.budget_tokens is None:
        return thinking.effort
    paid = [effort for effort, budget in BUDGETS.items() if budget <= thinking.budget_tokens]
    return paid[-1] if paid else "minimal"


def nearest_effort(effort: str, accepted: Sequence[str]) -> str | None:
    """The accepted word that is nearest, the lower of two; None where the model takes none."""
    if effort in accepted:
        return effort
    known = [word for word in accepted if word in _ORDER]
    if effort not in _ORDER or not known:
        return None
    place = _ORDER.index(effort)
    return min(known, key=lambda word: (abs(_ORDER.index(word) - place), _ORDER.index(word)))
