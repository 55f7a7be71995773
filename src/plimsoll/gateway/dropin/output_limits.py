"""Limits an answer to what the client asks for, the model's cap and the room left in the window.

    asked 32,000   cap 16,384   window 128,000   prompt 120,000   ->   about 4,000 to 8,000
    asked 32,000   cap 16,384   window 128,000   prompt 12        ->   16,384

The prompt is an estimate until the upstream has counted it, so part of the remaining room stays free. A thinking
budget is part of the answer and shrinks with it. A limit that fits stays as the client sent it.
"""

from dataclasses import dataclass, replace
from typing import Any

from plimsoll.dialects import ChatRequest, Dialect, Thinking
from plimsoll.dialects.answer_limits import fitted_budget, whole_number
from plimsoll.gateway.dropin.client_request import ClientRequest
from plimsoll.gateway.dropin.windows import ModelFacts
from plimsoll.models import estimate_messages_tokens_rough, estimate_tools_tokens

SMALL_BYTES = 65_536  # a body of this size is estimated in less than a millisecond
ROUGH_BYTES_PER_TOKEN = 4
# Margin added to a prompt. Uncalibrated estimates are 6.5 % off on average (models/counting.py), those anchored to a
# reported count 3 % at the 95th percentile (bench/counting.py).
ROUGH_MARGIN, ANCHORED_MARGIN = 0.10, 0.03
UNCOUNTED_MARGIN = 0.50  # after a refusal without numbers: the estimate was too low by an unknown amount


@dataclass(frozen=True, slots=True)
class PromptSize:
    """Tokens of a prompt, and the relative error of the estimate; 0 if the upstream counted them."""

    tokens: int
    margin: float = ROUGH_MARGIN

    def left_in(self, window: int) -> int:
        """Tokens that a window leaves for the answer; at least half of what the estimate leaves."""
        left = window - self.tokens
        return max(left - round(self.tokens * self.margin), left // 2 if self.margin else left)


def answer_limit(requested: int, facts: ModelFacts, prompt: PromptSize | None) -> int:
    """The tokens that the answer may have. Without a prompt size, only the cap applies.

    If the prompt alone fills the window, lowering the limit would not help.
    """
    limit = requested if facts.output_cap is None else min(requested, facts.output_cap)
    left = prompt.left_in(facts.card.window) if prompt else limit
    return min(limit, left) if left > 0 else limit


def with_fitting_limits(
    dialect: Dialect, body: dict[str, Any], facts: ModelFacts, prompt: PromptSize | None
) -> dict[str, Any]:
    """The body with limits that the model accepts; the same object if they fit."""
    requested = dialect.limits(body)
    limits = {name: answer_limit(count, facts, prompt) for name, count in requested.items()}
    return body if limits == requested else dialect.with_limits(body, limits)


def request_with_fitting_limits(
    request: ChatRequest, facts: ModelFacts, prompt: PromptSize | None
) -> ChatRequest:
    """The same for a translated request."""
    requested = whole_number(request.max_tokens)
    limit = answer_limit(requested, facts, prompt) if requested else 0
    if limit == requested:
        return request
    thinking = request.thinking
    if thinking and thinking.budget_tokens:
        less = fitted_budget(thinking.budget_tokens, requested, limit)
        thinking = replace(thinking, budget_tokens=less) if less else Thinking(mode="disabled")
    return replace(request, max_tokens=limit, thinking=thinking)


def estimated_prompt(request: ClientRequest) -> int:
    """Approximate tokens of a request as the client sent it."""
    if len(request.raw) > SMALL_BYTES:
        return len(request.raw) // ROUGH_BYTES_PER_TOKEN
    dialect = request.dialect
    messages = dialect.rough_messages(request.body)
    return estimate_messages_tokens_rough(messages) + estimate_tools_tokens(request.tools)
