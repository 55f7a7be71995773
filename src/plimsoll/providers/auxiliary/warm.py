"""The conversation as it was last sent, and the request for a summary at its end.

    last request      [ tools ][ system ][ messages ]●            cached up to its last marker
    summary request   [ tools ][ system ][ messages ]●[ since ][ instruction ]

The last request is sent again unchanged, markers included, so the provider reads it from its cache. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from plimsoll.caching import BlockChain, breakpoints_in
from plimsoll.caching.breakpoints import LIFETIMES
from plimsoll.dialects import ChatRequest, Usage
from plimsoll.messages import Message
from plimsoll.models import ModelCard

_STEP = 128  # granularity of automatic caches, in tokens
_MARKED = "anthropic"


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request that the main model answered."""

    request: ChatRequest = field(repr=False)
    at: float
    cached: int  # tokens of it in the provider's cache
    lifetime: float  # seconds for which they stay there

    def tokens(self, view: Sequence[Message]) -> int | None:
        """Tokens of the conversation, tools included; None if it does not start with what was sent."""
        was = self.request.messages
        if not was or len(view) < len(was):
            return None
        before = BlockChain(self.request.tools).prompt(was)
        now = BlockChain(self.request.tools).prompt(view)
        same = now.upto(len(was))
        last = len(before) - 1
        # Compared as the cache does it: later images change how everything before is cached.
        return now.tokens if len(same) == len(before) and before.key(last) == now.key(last) else None

    def asking(self, view: Sequence[Message], instruction: str, max_tokens: int) -> ChatRequest:
        """The same request, followed by the messages since then and the instruction."""
        since = view[len(self.request.messages) :]
        question: Message = {"role": "user", "content": instruction}
        thinking = self.request.thinking
        room = max_tokens + ((thinking and thinking.budget_tokens) or 0)
        if thinking and thinking.mode != "disabled" and not thinking.budget_tokens:
            room = max(room, self.request.max_tokens or 0)  # leave its room for thinking unchanged
        return replace(self.request, messages=(*self.request.messages, *since, question), max_tokens=room)


def sent(
    request: ChatRequest, card: ModelCard, native: bool, at: float, usage: Usage | None = None
) -> SentRequest:
    """The record of an answered request; `usage` is what the provider reported."""
    prompt = BlockChain(request.tools).prompt(request.messages)
    tokens, lifetime = prompt.tokens, float(min(card.cache.lifetimes, default=0))
    if card.cache.style == _MARKED:
        marks = breakpoints_in(prompt, request.messages, native, request.tools)
        tokens = max((prompt[mark.block].tokens for mark in marks), default=0)
        lifetime = float(min((LIFETIMES[mark.ttl] for mark in marks), default=0))
    elif card.cache.style == "none":
        tokens = 0
    else:
        tokens -= tokens % _STEP
    if usage is not None and usage.cache_write_tokens is not None:
        # Trust the reported cache writes: some routes drop markers.
        tokens = min(tokens, (usage.cache_read_tokens or 0) + usage.cache_write_tokens)
    return SentRequest(request, at, tokens if tokens >= card.cache.minimum else 0, lifetime)
