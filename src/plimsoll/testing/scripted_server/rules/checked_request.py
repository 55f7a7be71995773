"""A request with everything that the rules check."""

from dataclasses import dataclass
from typing import Any

from plimsoll.dialects import ChatRequest
from plimsoll.models import ModelCard
from plimsoll.testing.scripted_server.rules.issued_thinking import IssuedThinking


@dataclass(frozen=True, slots=True)
class CheckedRequest:
    """A request and its context for the rules."""

    body: dict[str, Any]
    request: ChatRequest
    card: ModelCard
    memory: IssuedThinking
    prompt_tokens: int
    tools_tokens: int
    counts_only: bool = False  # count_tokens: nothing will be generated
