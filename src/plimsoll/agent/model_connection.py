"""One request to the model, and recovery from the refusals that allow it.

    view ─► markers ─► stream ─► reply
      ▲                  │
      └── lighter ◄──────┤ the prompt is larger than the window      compact, whatever was tried before
          fewer images ◄─┤ too many bytes or images                  the oldest images and documents go
          shorter answer ◄ the answer may not be that long           max_tokens goes down

Everything else the provider says is raised as it is.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from plimsoll.agent.events import Event, Notice, ReasoningReceived, TextReceived
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
# Room in somebody's limits for one request: tokens of its prompt, and the most of its reply.
Reserve = Callable[[ModelCard, int, int], AbstractAsyncContextManager[None]]


@dataclass(slots=True)
class ReceivedText:
    """What has arrived of a reply."""

    has_begun: bool = False
    text: str = ""
    repeats_at: int | None = None  # from where on it only repeats itself


@dataclass(slots=True)
class ModelConnection:
    """The line to one model: what is sent along with every request, and what was learned from its replies."""

    client: Client
    card: ModelCard
    policy: CachingPolicy
    clock: Callable[[], float]
    tools: tuple[dict[str, Any], ...] = ()
    max_tokens: int | None = None
    extra: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    anchor: UsageAnchor = field(default_factory=UsageAnchor)
    # Told of every request that was answered, exactly as it was sent: what a warm summary builds on.
    on_reply: Callable[[ChatRequest, Usage | None], None] | None = None
    is_shared: bool = False  # by the lines of other conversations, so that none of them closes the client
    # What of the last reply has arrived, until it stands in the history: what a person saw is not lost.
    unfinished: Message | None = None
    reserve: Reserve | None = None  # where usage is limited
    stops_repetition: bool = False  # for a small model, which may never end by itself
    reads_handles: bool = True  # whether the model has a tool that reads back what a handle names
    # What a request has used whose reply broke off, or whose provider did not say: estimated.
    estimated: Usage | None = None
    # What attempts at the last request used that broke off before a word of them was shown.
    wasted: list[Usage] = field(default_factory=list)
    _chain: BlockChain | None = None
    _memory: CacheMemory | None = None

    def tokens(self, view: list[Message]) -> int:
        """Prompt tokens of a request with this view: the last reported count and an estimate of what came since."""
        return self.anchor.predict(self._estimate(view))

    def room(self, view: list[Message]) -> AbstractAsyncContextManager[None]:
        """Room for a request with this view, where usage is limited; it may have to wait."""
        if self.reserve is None:
            return nullcontext()
        return self.reserve(self.card, self.tokens(view), self.max_tokens or self.card.output_cap)

    def overhead(self) -> int:
        """Prompt tokens that are sent with every view and are not in its messages: tools, the provider's own part."""
        return self.anchor.predict(estimate_tools_tokens(self.tools))

    async def ask(self, view: list[Message], emit: Emit, deadline: float | None = None) -> Reply:
        """Send the view and give its reply; pieces are emitted as they arrive."""
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
            request, deadline=deadline, wasted=lambda usage: self.wasted.append(usage)
        )
        self.unfinished, self.estimated = None, None
        received = ReceivedText()
        try:
            async with stream:
                await self._receive(stream, received, emit)
        except BaseException as error:
            # A request that was refused costs nothing; one that nobody waits for any more does.
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
        """What attempts at the last request used that no reply reports; once."""
        lost = [*self.wasted, *([self.estimated] if self.estimated else [])]
        self.wasted, self.estimated = [], None
        return lost

    async def aclose(self) -> None:
        """Close the client, unless others use it."""
        if not self.is_shared:
            await self.client.aclose()

    def facts(self, context_length: int) -> dict[str, Any]:
        """What an engine is told about the model. The key is in it: only engines may see this."""
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
        """A text without the key of this line."""
        return masked(text, [self.client.endpoint.key or ""])

    async def _receive(self, stream: ReplyStream, received: "ReceivedText", emit: Emit) -> None:
        """Emit the pieces of a reply, to its end or to where it only repeats itself."""
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
        """The reply as it is kept; the user is told why it ended early."""
        if received.repeats_at is not None:
            emit(Notice(REPEATED))
            # The rest would lead the model to go on in the same way.
            kept = received.text[: received.repeats_at].rstrip()
            return replace(reply, message={**reply.message, "content": kept})
        if reply.finish_reason == "length":
            most = self.max_tokens or self.card.output_cap
            limit = f"{most:,} tokens (model.max_output_tokens)"
            emit(Notice(f"The reply was cut at the limit of {limit}; ask the model to continue."))
        return reply

    def _so_far(self, stream: ReplyStream, view: list[Message]) -> Usage:
        """What a reply has used as far as it came: what was reported, and the rest estimated."""
        return used_so_far(stream.reply, self.tokens(view))

    def _estimate(self, view: list[Message]) -> int:
        return estimate_messages_tokens_rough(view) + estimate_tools_tokens(self.tools)


def _without_handles(message: Message) -> Message:
    """A message for a model that cannot read handles back."""
    return without_media_handles(without_handle(message, is_own=isinstance(message, OwnSummary)))
