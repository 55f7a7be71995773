"""A request with everything that is known of it when it is judged."""

from dataclasses import dataclass
from typing import Any

from plimsoll.dialects import ChatRequest
from plimsoll.models import ModelCard
from plimsoll.testing.scripted_server.rules.memory import Memory


@dataclass(frozen=True, slots=True)
class Inquiry:
    """What the rules look at."""

    body: dict[str, Any]
    request: ChatRequest
    card: ModelCard
    memory: Memory
    prompt_tokens: int
    tools_tokens: int
    counts_only: bool = False  # count_tokens: nothing will be generated
