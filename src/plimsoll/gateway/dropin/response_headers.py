"""Response headers that tell the client what the gateway did with its request.

    x-plimsoll-tokens-before   the whole history, as the client sent it
    x-plimsoll-tokens-after    what was sent upstream
    x-plimsoll-view            log: as the client sent it · compacted
    x-plimsoll-session         the session of the archive, once it is stored
    x-plimsoll-dropped         fields of the request that the upstream or its model does not accept
    x-plimsoll-cache-read, x-plimsoll-cache-write, x-plimsoll-saved-usd

The last three are known at the end of the reply: a stream has them in a comment after its last event.
"""

import json

from plimsoll.caching.pricing import bill_of, input_money, usd
from plimsoll.dialects import Usage
from plimsoll.gateway.asgi import Header
from plimsoll.gateway.dropin.upstream_request import UpstreamRequest

_MAX_NAMED = 60  # dropped fields, of at most 100 characters each: clients accept headers of 8,000 bytes


def opening_headers(out: UpstreamRequest) -> list[Header]:
    """The headers that are known when a reply begins."""
    headers = [
        (b"x-plimsoll-tokens-before", b"%d" % out.tokens_before),
        (b"x-plimsoll-tokens-after", b"%d" % out.tokens_after),
        (b"x-plimsoll-view", b"compacted" if out.compacted_view is not None else b"log"),
    ]
    if out.conversation is not None and out.conversation.stored_name:
        headers.append((b"x-plimsoll-session", out.conversation.stored_name.encode()))
    if out.dropped:
        headers.append((b"x-plimsoll-dropped", ", ".join(out.dropped[:_MAX_NAMED]).encode()))
    return headers


def closing_numbers(out: UpstreamRequest, usage: Usage | None) -> dict[str, float]:
    """The numbers that are known when it has ended."""
    if usage is None:
        return {}
    numbers: dict[str, float] = {
        "cache-read": usage.cache_read_tokens or 0,
        "cache-write": usage.cache_write_tokens or 0,
    }
    money = saved(out, usage)
    return numbers if money is None else {**numbers, "saved-usd": round(money, 6)}


def whole_headers(out: UpstreamRequest, usage: Usage | None) -> list[Header]:
    """All headers of a reply that is not streamed."""
    if usage is not None:
        removed = out.tokens_before - out.tokens_after
        out.tokens_after = usage.prompt_tokens
        out.tokens_before = usage.prompt_tokens + removed
    headers = opening_headers(out)
    for name, value in closing_numbers(out, usage).items():
        headers.append((b"x-plimsoll-%b" % name.encode(), b"%.10g" % value))
    return headers


def closing_comment(out: UpstreamRequest, usage: Usage | None) -> bytes:
    """The same numbers for a stream, as a comment that clients skip."""
    if not out.client_request.dialect.takes_comments:
        return b""
    numbers = closing_numbers(out, usage)
    if usage is not None:
        numbers = {"tokens": usage.prompt_tokens, **numbers}
    return f": plimsoll {json.dumps(numbers, separators=(',', ':'))}\n\n".encode() if numbers else b""


def saved(out: UpstreamRequest, usage: Usage) -> float | None:
    """USD saved on input compared with sending the whole history uncached; None if prices are unknown."""
    card = out.facts.card
    prices = card.prices_for(out.tokens_before)
    if not card.known or not prices.input:
        return None
    removed = max(0, out.tokens_before - out.tokens_after)
    return usd(usage.prompt_tokens + removed, prices.input) - input_money(bill_of(usage), prices)
