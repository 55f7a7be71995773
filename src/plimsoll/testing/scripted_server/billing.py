"""Bills requests: estimated tokens, cached by the simulator's rules.

    arrives ───────────── response begins
       │ reads cache entries    │ its own entries become readable

Tokens are `plimsoll.models` estimates, not a tokenizer's. Markers are those
in the wire request: on content parts, tool results, tool calls and tools.
"""

import json
from dataclasses import replace
from typing import Any

from plimsoll.caching import (
    Bill,
    BlockChain,
    CacheSimulator,
    Prompt,
    RequestOptions,
    breakpoints_in,
    marker_ttl,
)
from plimsoll.dialects import ChatRequest, Dialect, Reply, Usage
from plimsoll.dialects.blocks.assistant import thinking_of
from plimsoll.models import ModelCard, card_for, estimate_message_tokens, estimate_tokens

MARKER = "cache_control"


class Cards:
    """The card of each requested model; an unknown name gets the card of the server's model."""

    def __init__(self, model: str, window: int | None, output_cap: int | None) -> None:
        self._model, self._window, self._output_cap = model, window, output_cap

    def __getitem__(self, name: str) -> ModelCard:
        card = card_for(name)
        if not card.known:
            card = card_for(self._model)
        if self._window is not None:
            card = replace(card, window=self._window, input_cap=None)
        return card if self._output_cap is None else replace(card, output_cap=self._output_cap)


def prompt_of(request: ChatRequest, dialect: Dialect) -> Prompt:
    """The request as the cache sees it."""
    return BlockChain(request.tools).prompt(request.messages, _options(request, dialect))


class BillingSimulator:
    """Bills requests one by one and keeps the caches of all models."""

    def __init__(self) -> None:
        self._simulator = CacheSimulator()

    def bill(
        self,
        request: ChatRequest,
        dialect: Dialect,
        card: ModelCard,
        reply: Reply,
        arrived: float,
        began: float,
        workspace: str,
    ) -> tuple[Bill, Usage]:
        """The bill, and the usage that the provider would report."""
        prompt = prompt_of(request, dialect)
        whole = request.extra_for(dialect.name).get(MARKER) if dialect.native_markers else None
        output = max(1, estimate_message_tokens(reply.message))
        bill = self._simulator.request(
            arrived,
            prompt,
            card,
            breakpoints_in(prompt, request.messages, dialect.native_markers, request.tools),
            output_tokens=output,
            workspace=workspace,
            first_token=began - arrived,
            automatic=None if whole is None else marker_ttl(whole),
        )
        return bill, _usage(bill, card, reply)


def _usage(bill: Bill, card: ModelCard, reply: Reply) -> Usage:
    thought = sum(estimate_tokens(str(block.get("thinking") or "")) for block in thinking_of(reply.message))
    # Only providers that charge for cache writes report them.
    reports_writes = card.cache.style in ("anthropic", "openai_breakpoints")
    return Usage(
        prompt_tokens=bill.prompt_tokens,
        completion_tokens=bill.output,
        total_tokens=bill.prompt_tokens + bill.output,
        input_tokens=bill.plain,
        output_tokens=bill.output,
        cache_read_tokens=bill.read,
        cache_write_tokens=bill.written if reports_writes else None,
        reasoning_tokens=thought or None,
        cache_write_1h_tokens=bill.write_1h,
    )


def _options(request: ChatRequest, dialect: Dialect) -> RequestOptions:
    extra = request.extra_for(dialect.name)
    return RequestOptions(
        web_search=any(str(tool.get("type")).startswith("web_search") for tool in request.tools),
        speed=str(extra.get("speed") or ""),
        tool_choice=_spelt(request.tool_choice),
        thinking=repr(request.thinking) if request.thinking else "",
        response_format=_spelt(extra.get("response_format")),
    )


def _spelt(value: Any) -> str:
    return "" if value is None else json.dumps(value, sort_keys=True)
