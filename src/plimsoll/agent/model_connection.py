"""One request to the model, and recovery from the refusals that allow it.

    view ─► markers ─► stream ─► reply
      ▲                  │
      └── compacted ◄────┤ the prompt is larger than the window      compact, whatever was tried before
          fewer images ◄─┤ too many bytes or images                  the oldest images and documents go
          shorter answer ◄ the answer may not be that long           max_tokens goes down

All other errors of the provider are raised unchanged.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from plimsoll.agent.events import Event, Notice, ReasoningReceived, RetryWaiting, TextReceived
from plimsoll.agent.repetition import repetition_start
from plimsoll.caching import BlockChain, CacheMemory, CachingPolicy, mark
from plimsoll.context.markers import OwnSummary
from plimsoll.context.media_budget import without_media_handles
from plimsoll.dialects import ChatRequest, ReasoningDelta, Reply, TextDelta, Usage
from plimsoll.messages import Message, without_handle
from plimsoll.models import (
    ModelCard,
    UsageAnchor,
    estimate_messages_tokens_rough,
    estimate_tools_tokens,
)
from plimsoll.providers import Client, ReplyStream
from plimsoll.providers.spending import used_so_far
from plimsoll.secrets import masked

REPEATED = "The reply began to repeat itself and was stopped."
Emit = Callable[[Event], None]
# Reserves one request in a caller's limits: tokens of its prompt, and the maximum of its reply.
Reserve = Callable[[ModelCard, int, int], AbstractAsyncContextManager[None]]


@dataclass(slots=True)
class ReceivedText:
    """The part of a reply that has arrived."""

    has_begun: bool = False
    text: str = ""
    repeats_at: int | None = None  # where it starts to repeat itself


@dataclass(slots=True)
class ModelConnection:
    """The connection to one model: what is sent with every request, and what was learned from its replies."""

    client: Client
    card: ModelCard
    policy: CachingPolicy
    clock: Callable[[], float]
    tools: tuple[dict[str, Any], ...] = ()
    max_tokens: int | None = None
    extra: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    anchor: UsageAnchor = field(default_factory=UsageAnchor)
    # Called with every answered request exactly as it was sent, which a warm summary builds on.
    on_reply: Callable[[ChatRequest, Usage | None], None] | None = None
    is_shared: bool = False  # by other conversations' connections, so none of them closes the client
    # The part of the last reply that has arrived, until it is in the history: text that a user saw is not lost.
    unfinished: Message | None = None
    reserve: Reserve | None = None  # if usage is limited
    stops_repetition: bool = False  # for a small model, which may never end by itself
    reads_handles: bool = True  # whether the model has a tool that reads back what a handle names
    # Estimated usage of a request whose reply was interrupted or whose provider reported none.
    estimated: Usage | None = None
    # Usage of attempts at the last request that were interrupted before any text was shown.
    wasted: list[Usage] = field(default_factory=list)
    _chain: BlockChain | None = None
    _memory: CacheMemory | None = None

    def tokens(self, view: list[Message]) -> int:
        """Prompt tokens of a request with this view: the last reported count plus an estimate of what was added."""
        return self.anchor.predict(self._estimate(view))

    def room(self, view: list[Message]) -> AbstractAsyncContextManager[None]:
        """Reserve a request with this view, if usage is limited; may wait."""
        if self.reserve is None:
            return nullcontext()
        return self.reserve(self.card, self.tokens(view), self.max_tokens or self.card.output_cap)

    def overhead(self) -> int:
        """Prompt tokens of every request that are not in its messages: tools, and the provider's own part."""
        return self.anchor.predict(estimate_tools_tokens(self.tools))

    async def ask(self, view: list[Message], emit: Emit, deadline: float | None = None) -> Reply:
        """Send the view and return the reply; pieces are emitted as they arrive."""
        self._chain = self._chain or BlockChain(self.tools)
        shown = view if self.reads_handles else [_without_handles(message) for message in view]
        marked = mark(
            shown, self.policy, self._chain, self._memory, now=self.clock(), minimum=self.card.cache.minimum
        )
        request = ChatRequest(
            model=self.client.endpoint.model or self.card.name,  # as the provider spells it
            messages=tuple(marked.messages),
            tools=self.tools,
            max_tokens=self.max_tokens,
            stream=True,
            extra=self.extra,
        )
        stream = self.client.stream(
            request,
            deadline=deadline,
            wasted=lambda usage: self.wasted.append(usage),
            on_retry=lambda error, wait: emit(RetryWaiting(error.status, wait)),
        )
        self.unfinished, self.estimated = None, None
        received = ReceivedText()
        try:
            async with stream:
                await self._receive(stream, received, emit)
        except BaseException as error:
            # A refused request costs nothing; an abandoned one does.
            if received.has_begun or isinstance(error, asyncio.CancelledError):
                self.estimated = self._so_far(stream, view)
            raise
        finally:
            self.unfinished = stream.reply.message
        self._memory = marked.memory
        reply = self._ended(stream.reply, received, emit)
        if reply.usage is None:
            self.estimated = self._so_far(stream, view)
        if self.on_reply:
            self.on_reply(request, reply.usage)
        if reply.usage and reply.usage.prompt_tokens:
            self.anchor = self.anchor.observe(reply.usage.prompt_tokens, self._estimate(view))
        return reply

    def take_lost(self) -> list[Usage]:
        """Return the usage of attempts at the last request that no reply reports, once."""
        lost = [*self.wasted, *([self.estimated] if self.estimated else [])]
        self.wasted, self.estimated = [], None
        return lost

    async def aclose(self) -> None:
        """Close the client, unless others use it."""
        if not self.is_shared:
            await self.client.aclose()

    def facts(self, context_length: int) -> dict[str, Any]:
        """The model facts for an engine. They include the key: only engines may see them."""
        endpoint = self.client.endpoint
        return {
            "model": self.card.name,
            "context_length": context_length,
            "base_url": endpoint.base_url,
            "api_key": endpoint.key or "",
            "provider": endpoint.provider,
            "api_mode": endpoint.wire.api_mode,
        }

    def hide(self, text: str) -> str:
        """A text without this connection's key."""
        return masked(text, [self.client.endpoint.key or ""])

    async def _receive(self, stream: ReplyStream, received: "ReceivedText", emit: Emit) -> None:
        """Emit the pieces of a reply until it ends or starts to repeat itself."""
        async for delta in stream:
            received.has_begun = True
            if isinstance(delta, TextDelta):
                emit(TextReceived(delta.text))
                received.text += delta.text
                received.repeats_at = repetition_start(received.text) if self.stops_repetition else None
                if received.repeats_at is not None:
                    return
            elif isinstance(delta, ReasoningDelta):
                emit(ReasoningReceived(delta.text))

    def _ended(self, reply: Reply, received: "ReceivedText", emit: Emit) -> Reply:
        """The reply to store. Emits a notice if it ended early."""
        if received.repeats_at is not None:
            emit(Notice(REPEATED))
            # Keeping the rest would make the model continue in the same way.
            kept = received.text[: received.repeats_at].rstrip()
            return replace(reply, message={**reply.message, "content": kept})
        if reply.finish_reason == "length":
            max_tokens = self.max_tokens or self.card.output_cap
            limit = f"{max_tokens:,} tokens (model.max_output_tokens)"
            emit(Notice(f"The reply was cut at the limit of {limit}; ask the model to continue."))
        return reply

    def _so_far(self, stream: ReplyStream, view: list[Message]) -> Usage:
        """The usage of a reply so far: reported numbers, and the rest estimated."""
        return used_so_far(stream.reply, self.tokens(view))

    def _estimate(self, view: list[Message]) -> int:
        return estimate_messages_tokens_rough(view) + estimate_tools_tokens(self.tools)


def _without_handles(message: Message) -> Message:
    """A message for a model that cannot read handles back."""
    return without_media_handles(without_handle(message, is_own=isinstance(message, OwnSummary)))
