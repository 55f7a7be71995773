"""Writes the bytes that go to the upstream.

unchanged           the bytes as received
compacted           the view and the new messages
not marked yet      with cache markers, if the model's provider accepts them
translated          in the upstream's dialect
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from plimsoll.caching import BlockChain, mark
from plimsoll.context.compressor.assemble import with_note
from plimsoll.dialects.answer_limits import whole_number
from plimsoll.dialects.cache_markers import MARKER, unmarked
from plimsoll.dialects.interfaces import CacheMarking, Rendered
from plimsoll.errors import InvalidConversation
from plimsoll.gateway.dropin.client_conversation import ClientConversation
from plimsoll.gateway.dropin.client_request import ClientRequest
from plimsoll.gateway.dropin.compacted_view import CompactedView
from plimsoll.gateway.dropin.output_limits import (
    ANCHORED_MARGIN,
    ROUGH_MARGIN,
    PromptSize,
    estimated_prompt,
    request_with_fitting_limits,
    with_fitting_limits,
)
from plimsoll.gateway.dropin.rendering import rendered_whole
from plimsoll.gateway.dropin.translation import read_foreign, write_foreign
from plimsoll.gateway.dropin.upstream_request import UpstreamRequest
from plimsoll.gateway.dropin.windows import Windows
from plimsoll.gateway.http import jsontext
from plimsoll.gateway.http.body import LARGE_BYTES
from plimsoll.gateway.telemetry.request_facts import current_key
from plimsoll.messages import Message

_ROUGH_BYTES_PER_TOKEN = 4  # bytes per token, if nothing better is known


class RequestWriter:
    """Writes requests. `clock` is the time of day in seconds."""

    def __init__(self, windows: Windows, clock: Callable[[], float]) -> None:
        self._windows, self._clock = windows, clock
        self._without_usage: set[str] = set()  # upstreams that reject the request for usage

    async def write(self, out: UpstreamRequest) -> None:
        """Write the bytes to send; a large request in a thread.

        Translating 1 MB takes 11 ms for OpenAI's dialect and 58 ms for Anthropic's with cache breakpoints; placing
        those in an unknown conversation takes 35 ms.
        """
        if len(out.client_request.raw) < LARGE_BYTES:
            self.write_now(out)
        else:
            await asyncio.to_thread(self.write_now, out)

    def write_now(self, out: UpstreamRequest) -> None:
        """Like `write`, on this thread. Reads the view once, because another request may change it meanwhile."""
        request, out.written = out.client_request, self._clock()
        if out.conversation is None:
            out.tokens_before = out.tokens_after = len(request.raw) // _ROUGH_BYTES_PER_TOKEN
        if out.is_translated:
            self._translate(out, out.compacted_view)
            return
        body, view, dialect = request.body, out.compacted_view, request.dialect
        if not request.is_switched_off:
            body = with_fitting_limits(dialect, body, out.facts, self._prompt_size(out))
        out.answer_limit = min(dialect.limits(body).values(), default=0)
        if view is not None:
            body = dialect.with_messages(
                body, view.messages_for(request.messages, dialect), has_note=view.has_note
            )
            if request.edits_itself:
                body = dialect.without_history_edits(body)
            if request.has_markers:
                body = dialect.keep_rolling(body, out.facts.policy.ttl)
        if not request.model and out.model:
            body = dialect.with_model(body, out.model)
        body = dialect.outgoing(body)
        if dialect.takes_markers and _places_markers(out):
            body = _marked(out, body, view)
        out.asks_for_usage = current_key() is not None and self._can_ask_for_usage(out)
        if out.asks_for_usage:
            body = dialect.with_usage_asked(body)
        out.body = request.raw if body is request.body else jsontext.write(body)

    def prompt_tokens(self, out: UpstreamRequest) -> int:
        """Approximate tokens of the prompt that is sent."""
        if out.conversation is not None:
            return out.tokens_after
        ratio = self._windows.ratio(out.client_request.owner, out.endpoint, out.model)
        return round(estimated_prompt(out.client_request) * ratio)

    def stop_asking_for_usage(self, out: UpstreamRequest, refusal: bytes) -> bool:
        """Rewrite a request that was refused because it asks for usage. Returns whether that was the reason."""
        if not out.asks_for_usage or not out.client_request.dialect.refuses_usage(refusal):
            return False
        self._without_usage.add(out.target.url)
        self.write_now(out)
        return True

    def _prompt_size(self, out: UpstreamRequest) -> PromptSize | None:
        """The size of the prompt; None if it is not needed, because a token has at least one byte."""
        if out.counted:
            return PromptSize(out.counted, 0.0)
        request = out.client_request
        if out.conversation is None:
            fits = len(request.raw) + request.answer_tokens <= out.facts.card.window
            return None if fits else PromptSize(self.prompt_tokens(out))
        is_anchored = out.conversation.anchor.reported is not None
        return PromptSize(out.tokens_after, ANCHORED_MARGIN if is_anchored else ROUGH_MARGIN)

    def _can_ask_for_usage(self, out: UpstreamRequest) -> bool:
        """Whether a stream reports its usage only on request; key limits need it."""
        request = out.client_request
        return (
            request.is_stream
            and out.target.url not in self._without_usage
            and request.dialect.can_ask_for_usage(request.body)
        )

    def _translate(self, out: UpstreamRequest, view: CompactedView | None) -> None:
        """Write the request in the upstream's dialect."""
        client_request, dialect = out.client_request, out.target.dialect
        if out.canonical is None:
            out.canonical, out.untranslatable = read_foreign(client_request, dialect)
        request = out.canonical
        messages = list(request.messages)
        if out.conversation is not None and view is not None:
            messages = _view(client_request, out.conversation, view)
        policy, has_own = out.facts.policy, client_request.has_markers and MARKER not in client_request.body
        if has_own and view is not None:
            # The client's markers are on messages that the view does not contain.
            policy = replace(policy, enabled=True, strategy="planned")
            request = replace(request, tools=tuple(map(unmarked, request.tools)))
        if policy.enabled and (view is not None or not has_own) and not client_request.is_switched_off:
            memory = out.conversation.memory if out.conversation else None
            chain, minimum = BlockChain(request.tools), out.facts.card.cache.minimum
            marked = mark(messages, policy, chain, memory, now=out.written, minimum=minimum)
            messages, out.memory = marked.messages, marked.memory
        limit = request.max_tokens
        if limit is None and dialect.needs_limit:
            # This dialect requires a number and the client gave none: use the model's cap, within its window.
            limit = min(out.facts.output_cap or out.facts.card.output_cap, out.facts.window // 4)
        sent = replace(
            request, model=out.model, messages=tuple(messages), max_tokens=limit, include_usage=True
        )
        sent = request_with_fitting_limits(sent, out.facts, self._prompt_size(out))
        out.answer_limit = whole_number(sent.max_tokens)
        body, unaccepted = write_foreign(sent, client_request.dialect, dialect, out.facts.card)
        out.dropped = tuple(dict.fromkeys((*out.untranslatable, *unaccepted)))
        out.body = jsontext.write(body)


def _places_markers(out: UpstreamRequest) -> bool:
    """Whether the gateway places cache markers. A client's own markers stay."""
    request = out.client_request
    return out.facts.policy.enabled and not request.has_markers and not request.is_switched_off


def _marked(out: UpstreamRequest, body: dict[str, Any], view: CompactedView | None) -> dict[str, Any]:
    memory = out.conversation.memory if out.conversation else None
    marking = CacheMarking(out.facts.policy, out.facts.card.cache.minimum, memory, out.written)
    try:
        marked = out.client_request.dialect.mark(body, lambda: _rendered(out, body, view), marking)
    except (InvalidConversation, AttributeError, KeyError, TypeError):
        return body  # not a conversation; the upstream rejects it with its own error
    out.memory = marked.memory
    return marked.body


def _rendered(out: UpstreamRequest, body: dict[str, Any], view: CompactedView | None) -> Rendered:
    """The request as the provider's cache sees it. For a known conversation, only new messages are rendered."""
    request = out.client_request
    lead = list(request.lead)
    if view is not None and view.has_note and lead:
        lead[-1] = with_note(lead[-1])
    if out.conversation is None:
        return rendered_whole(request.dialect, body, lead)
    return out.conversation.rendered(body, lead, out.frame.key, view, len(request.messages))


def _view(request: ClientRequest, conversation: ClientConversation, view: CompactedView) -> list[Message]:
    """What the model sees, in canonical form, with the system prompt that the client sends now."""
    lead = list(request.lead)
    if lead and view.has_note:
        lead[0] = with_note(lead[0])
    end = conversation.ends[len(request.messages) - 1]
    return [*lead, *view.sent, *conversation.log[view.through : end]]
