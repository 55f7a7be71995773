"""One summary model, and what was learned from its replies.

    prompt ─► request with this model's options ─► client ─► text, or a failure with its reason

A tool call, a refusal, a truncated or empty answer is a failure. A window that turns out smaller than stated stays
smaller for an hour.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from plimsoll.dialects import (
    ChatRequest,
    Delta,
    ReasoningDelta,
    Reply,
    TextDelta,
    Thinking,
    ToolCallDelta,
    Usage,
)
from plimsoll.errors import BadRequest, ContextOverflow, SummaryFailed
from plimsoll.messages import text_of, tool_calls
from plimsoll.models import ModelCard, estimate_tokens
from plimsoll.providers.auxiliary.grammar import summary_grammar
from plimsoll.providers.auxiliary.model_facts import thinks
from plimsoll.providers.auxiliary.resolve import Candidate
from plimsoll.providers.client import Client
from plimsoll.providers.connect import connect
from plimsoll.providers.spending import estimated_prompt, used_so_far
from plimsoll.providers.stated_limits import LEARNED_SECONDS, is_plausible, states_number

Arrived: TypeAlias = Callable[[int], None]
Record: TypeAlias = Callable[[ModelCard, Usage], None]  # called with the usage of each request, and its model
TEMPERATURE = 0.2  # of summaries
_BYTES_PER_TOKEN = 8  # at most, of ordinary text in JSON: English has 4 to 5, Chinese 3, with escapes
_SPECIAL = ("temperature", "reasoning_effort", "reasoning effort", "grammar")


class SummaryModel:
    """Sends requests to one candidate. Its coroutines run on one loop."""

    def __init__(self, candidate: Candidate, home: Path, clock: Callable[[], float], **options: Any) -> None:
        """`options` are those of `Client`."""
        self.candidate = candidate
        self._learned, self._learned_until = candidate.window, float("-inf")
        self.paused_until = float("-inf")
        self._home, self._clock, self._options = home, clock, options
        self._client: Client | None = None
        self._opening = asyncio.Lock()
        self._plain = False  # it rejected the extra parameters

    @property
    def title(self) -> str:
        """The model and its provider."""
        return self.candidate.title

    def fits(self, prompt: str, max_tokens: int) -> bool:
        """Whether a prompt and its answer fit, by our estimate."""
        return estimate_tokens(prompt) + max_tokens <= self.window

    @property
    def window(self) -> int:
        """The known maximum tokens of one request; its provider may also limit the bytes."""
        known = self._learned if self._clock() < self._learned_until else self.candidate.window
        max_bytes = self.candidate.card.media.request_bytes
        return known if max_bytes is None else min(known, max_bytes // _BYTES_PER_TOKEN)

    def shrink(self, prompt_tokens: int) -> None:
        """Halve the window for a while: a request of this many tokens, by our estimate, had too many bytes."""
        self._learned = min(self.window, prompt_tokens) // 2
        self._learned_until = self._clock() + LEARNED_SECONDS

    def learn(self, error: ContextOverflow, prompt_tokens: int, prompt: str) -> None:
        """Learn the window from an overflow: a request of this many tokens, by our estimate, was too large.

        The model serves every conversation, and an error may quote the prompt. A number that the prompt contains, or
        that is far above its size, is not accepted as the window.
        """
        stated = error.limit
        if stated and (states_number(prompt, stated) or not is_plausible(stated, prompt_tokens)):
            stated = self.window * 3 // 4
            if not is_plausible(stated, prompt_tokens):
                return  # so small a request cannot fill a window
        limit = stated or self.window // 2
        counted = (error.requested or 0) - (error.output or 0)
        # The provider's tokens may be smaller than ours; the window is stored in ours.
        share = min(1.0, prompt_tokens / counted) if counted > 0 else 1.0
        learned = int(limit * share)
        self._learned = learned if learned < self.window else self.window * 3 // 4
        self._learned_until = self._clock() + LEARNED_SECONDS

    async def write(
        self, prompt: str, max_tokens: int, seconds: float, record: Record, arrived: Arrived
    ) -> str:
        """The answer to a prompt, within `seconds`."""
        try:
            return await self.ask(self._request(prompt, max_tokens), seconds, record, arrived)
        except BadRequest as error:
            if self._plain or not any(word in str(error).lower() for word in _SPECIAL):
                raise
        self._plain = True
        return await self.ask(self._request(prompt, max_tokens), seconds, record, arrived)

    async def ask(self, request: ChatRequest, seconds: float, record: Record, arrived: Arrived) -> str:
        """The text of the answer to a request; `arrived` is called with the characters of each new token.

        `record` gets the usage of every attempt, even if its answer is unusable, interrupted or late.
        """
        ends = self._clock() + seconds
        try:
            async with asyncio.timeout(seconds):
                client = await self._connected()
        except TimeoutError:
            raise SummaryFailed(f"{self.title} did not start within {seconds:.0f} s") from None

        def on_delta(delta: Delta) -> None:
            if isinstance(delta, TextDelta | ReasoningDelta | ToolCallDelta):
                arrived(len(delta.text) if isinstance(delta, TextDelta) else 0)

        used = partial(record, self.candidate.card)
        left = max(0.0, ends - self._clock())
        reply = await client.complete(request, deadline=left, on_delta=on_delta, wasted=used)
        used(reply.usage or used_so_far(reply, estimated_prompt(request)))
        return self._text(reply)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    async def _connected(self) -> Client:
        async with self._opening:
            if self._client is None:
                self._client = await connect(
                    self.candidate.endpoint,
                    home=self._home,
                    context_length=self.candidate.window,
                    **self._options,
                )
            return self._client

    def _request(self, prompt: str, max_tokens: int) -> ChatRequest:
        endpoint = self.candidate.endpoint
        thinking = thinks(endpoint.model) if endpoint.wire.takes_effort else None
        with_grammar = endpoint.provider == "local" and not self._plain
        return ChatRequest(
            model=endpoint.model,
            messages=({"role": "user", "content": prompt},),
            max_tokens=max_tokens + (thinking.room if thinking else 0),
            temperature=None if thinking or self._plain else TEMPERATURE,
            thinking=Thinking(effort=thinking.effort) if thinking and not self._plain else None,
            extra={endpoint.dialect: {"grammar": summary_grammar(max_tokens)}} if with_grammar else {},
        )

    def _text(self, reply: Reply) -> str:
        text = text_of(reply.message).strip()
        if tool_calls(reply.message):
            raise SummaryFailed(f"{self.title} called a tool instead of writing the summary")
        if reply.finish_reason == "content_filter" or reply.message.get("refusal"):
            raise SummaryFailed(f"{self.title} refused to write the summary")
        if reply.finish_reason == "length":
            raise SummaryFailed(f"{self.title} was cut off before the end of the summary")
        if not text:
            raise SummaryFailed(f"{self.title} wrote nothing")
        return text
