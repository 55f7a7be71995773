"""What is sent upstream for a client's request.

    light          cannot reach the line where anything would change: the bytes as they came, or with markers
    recognised     its view where it has one, and what is new; made lighter first where that is due
    switched off   the bytes as they came

Where the upstream speaks the other dialect, the request is translated; everything else holds the same way.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from plimsoll.caching import BlockChain, CacheMemory, mark
from plimsoll.context.compressor.assemble import with_note
from plimsoll.dialects import ChatRequest
from plimsoll.dialects.answer_limits import whole_number
from plimsoll.dialects.cache_markers import MARKER, unmarked
from plimsoll.dialects.interfaces import CacheMarking, Rendered
from plimsoll.errors import InvalidConversation, PlimsollError
from plimsoll.gateway.dropin.analysis import frame_key, frame_of
from plimsoll.gateway.dropin.chain import chain_of, root_for
from plimsoll.gateway.dropin.inquiry import Frame, Inquiry
from plimsoll.gateway.dropin.keeping import Keeper
from plimsoll.gateway.dropin.lightening import Lightener, log
from plimsoll.gateway.dropin.output_limits import (
    ANCHORED_MARGIN,
    ROUGH_MARGIN,
    PromptSize,
    estimated_prompt,
    request_with_fitting_limits,
    with_fitting_limits,
)
from plimsoll.gateway.dropin.rendering import beginning_of, rendered_whole
from plimsoll.gateway.dropin.sight import Sight
from plimsoll.gateway.dropin.thread import Thread
from plimsoll.gateway.dropin.threads import Threads
from plimsoll.gateway.dropin.translating import read_foreign, write_foreign
from plimsoll.gateway.dropin.windows import ModelFacts, Windows
from plimsoll.gateway.edge import jsontext
from plimsoll.gateway.edge.body import LARGE_BYTES
from plimsoll.gateway.upstream.target import Target
from plimsoll.gateway.watch.facts import current_key
from plimsoll.messages import Message
from plimsoll.models import UsageAnchor
from plimsoll.providers import Endpoint
from plimsoll.providers.stated_limits import is_plausible, states_number

_ROUGH = 4  # bytes of a request for a token, where nothing better is known
_SMALLEST, _LESS = 1_024, 0.8  # the window that is assumed after an overflow without a number
_FRAMES = 512  # system prompts with their tools whose weight is remembered


@dataclass(slots=True)
class Outgoing:
    """A request ready to be sent, and what is known about it."""

    inquiry: Inquiry
    target: Target
    model: str
    facts: ModelFacts
    body: bytes = b""
    request: ChatRequest | None = None  # where it is translated: what the client asked for
    thread: Thread | None = None
    sight: Sight | None = None  # what the model sees of it, where that is not what the client sent
    frame: int = 0  # estimated tokens of system prompt and tools
    frame_key: bytes = b""  # what tells them apart
    estimated: int = 0  # of all that is sent
    tokens_before: int = 0  # of the whole history, as the client sent it
    tokens_after: int = 0  # of what is sent
    memory: CacheMemory | None = None
    written: float = 0.0  # when
    asks_for_usage: bool = False  # where the client did not: it does not see what the upstream says of it
    untranslatable: tuple[str, ...] = ()  # fields that the other dialect does not have
    dropped: tuple[str, ...] = ()  # those, and fields that the model does not take
    answer_limit: int = 0  # tokens of the answer, as sent; 0 where the request names none
    counted: int = 0  # tokens of the prompt, where the upstream counted them in a refusal
    is_relieved: bool = False  # compacted because of an overflow, which happens once

    @property
    def is_translated(self) -> bool:
        return self.inquiry.dialect is not self.target.dialect

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint, with the betas that the client asks for."""
        return self.target.endpoint_for(self.inquiry.dialect, self.inquiry.betas)


class Planner:
    """Decides what is sent. `clock` is the time of day in seconds."""

    def __init__(
        self,
        threads: Threads,
        keeper: Keeper,
        lightener: Lightener,
        windows: Windows,
        clock: Callable[[], float],
    ) -> None:
        self._threads, self._keeper, self._lightener = threads, keeper, lightener
        self._windows, self._clock = windows, clock
        self._frames: dict[bytes, Frame] = {}
        self._without_usage: set[str] = set()  # upstreams that do not know `stream_options`

    async def plan(self, inquiry: Inquiry, target: Target) -> Outgoing:
        """What to send for a request."""
        model = inquiry.model or target.endpoint.model
        endpoint = target.endpoint_for(inquiry.dialect, inquiry.betas)
        facts = self._windows.facts(endpoint, model)
        out = Outgoing(inquiry, target, model, facts)
        if not inquiry.is_switched_off and len(inquiry.raw) >= facts.look_line:
            await self._plan_view(out)
        await self._write_aside(out)
        return out

    async def relieve(self, out: Outgoing, limit: int | None) -> bool:
        """After an overflow: make the conversation lighter and write the request anew; whether that was possible."""
        if out.is_relieved or not self._lightener.is_enabled:
            return False
        async with self._recognised(out) as thread:
            if thread is None:
                return False
            await self._recall(thread, out.model)
            estimated = self._tokens(out, thread)
            if limit and not is_plausible(limit, estimated + out.answer_limit):
                return False  # the refusal speaks of something else, or quotes the request
            credible = limit is not None and not states_number(out.inquiry.text, limit)
            out.facts = self._windows.learn(out.endpoint, out.model, limit, credible)
            tokens = max(estimated, limit or 0)
            # Where the upstream gives no number, all that is known is that this was too much.
            least = replace(out.facts.card, window=max(_SMALLEST, int(tokens * _LESS)), input_cap=None)
            facts = out.facts if limit or tokens >= out.facts.window else replace(out.facts, card=least)
            if not await self._lightener.lighten(thread, tokens, facts, "overflow", out.model):
                return False
            self._weigh(out, thread)
        out.is_relieved, out.counted = True, 0
        await self._write_aside(out)
        return True

    def count(self, out: Outgoing) -> None:
        """What would be sent for a request that is only counted: its view, where it is known."""
        inquiry, chain = out.inquiry, _chain(out.inquiry)
        found = self._threads.find(chain)
        thread = found[0].fork(found[1]) if found else Thread(inquiry.dialect, inquiry.lead, inquiry.owner)
        thread.extend(inquiry.said, chain, inquiry.analysis)
        out.thread = thread
        self._frame(out)
        self._weigh(out, thread)
        if not out.is_translated:
            self.write(out)

    async def _plan_view(self, out: Outgoing) -> None:
        """Find the view of the conversation, and make it lighter where that is due."""
        async with self._recognised(out) as thread:
            if thread is None:
                return
            if thread.is_stored or not thread.looked_up or self._tokens(out, thread) >= out.facts.look_line:
                await self._recall(thread, out.model)
            tokens = self._tokens(out, thread)
            if not out.inquiry.edits_itself:
                reason = self._lightener.reason(thread, tokens, out.facts, out.frame)
                if reason:
                    await self._lightener.lighten(thread, tokens, out.facts, reason, out.model)
            self._weigh(out, thread)

    @asynccontextmanager
    async def _recognised(self, out: Outgoing) -> AsyncIterator[Thread | None]:
        """The conversation of a request, with exactly its messages, while no other request changes it.

        None where the messages are not a conversation: the upstream refuses them in its own words.
        """
        inquiry = out.inquiry
        try:
            chain, said = _chain(inquiry), inquiry.said
        except InvalidConversation:
            yield None
            return
        while True:
            found = self._threads.find(chain)
            if found is None:
                ratio = self._windows.ratio(inquiry.owner, out.endpoint, out.model)
                thread = Thread(inquiry.dialect, inquiry.lead, inquiry.owner, anchor=UsageAnchor(ratio=ratio))
            else:
                known, place = found
                thread = known if place == len(known.chain) else known.fork(place)
            length = len(thread.chain)
            async with thread.lock:
                if len(thread.chain) != length:
                    continue  # another request went on with it meanwhile
                try:
                    thread.extend(said, chain, inquiry.analysis)
                except InvalidConversation:
                    yield None
                    return
                self._threads.keep(thread, len(inquiry.raw))
                out.thread = thread
                self._frame(out)
                yield thread
                return

    async def _recall(self, thread: Thread, model: str) -> None:
        try:
            await self._keeper.recall(thread, model)
        except PlimsollError as error:
            log.warning("a conversation was not looked up: %s", error)

    def _tokens(self, out: Outgoing, thread: Thread) -> int:
        return thread.anchor.predict(out.frame + thread.view_tokens())

    def _weigh(self, out: Outgoing, thread: Thread) -> None:
        out.sight = thread.sight
        out.estimated = out.frame + thread.view_tokens()
        out.tokens_after = self._tokens(out, thread)
        saved = sum(thread.tokens) - thread.view_tokens()
        out.tokens_before = out.tokens_after + max(0, round(thread.anchor.ratio * saved))

    def _frame(self, out: Outgoing) -> None:
        """The weight of system prompt and tools, which stay the same from request to request."""
        inquiry = out.inquiry
        frame = inquiry.analysis.frame if inquiry.analysis else None
        if frame is None:
            key = frame_key(inquiry.lead, inquiry.tools)
            frame = self._frames.get(key) or frame_of(inquiry.dialect, inquiry.lead, inquiry.tools)
        if frame.key not in self._frames:
            while len(self._frames) >= _FRAMES:
                del self._frames[next(iter(self._frames))]
            self._frames[frame.key] = frame
        out.frame, out.frame_key = frame.tokens, frame.key
        if out.thread is not None:
            out.thread.tools = frame.tools

    async def _write_aside(self, out: Outgoing) -> None:
        """The bytes to send; of a large request in a thread.

        To translate 1 MB takes 11 ms for OpenAI's dialect and 58 ms for Anthropic's, with cache breakpoints; to place
        those in a conversation that is not known yet takes 35 ms.
        """
        if len(out.inquiry.raw) < LARGE_BYTES:
            self.write(out)
        else:
            await asyncio.to_thread(self.write, out)

    def write(self, out: Outgoing) -> None:
        """The bytes to send. It reads the view once, because another request may change it meanwhile."""
        inquiry, out.written = out.inquiry, self._clock()
        if out.thread is None:
            out.tokens_before = out.tokens_after = len(inquiry.raw) // _ROUGH
        if out.is_translated:
            self._translate(out, out.sight)
            return
        body, sight, dialect = inquiry.body, out.sight, inquiry.dialect
        if not inquiry.is_switched_off:
            body = with_fitting_limits(dialect, body, out.facts, self._prompt_size(out))
        out.answer_limit = min(dialect.limits(body).values(), default=0)
        if sight is not None:
            messages = sight.messages_for(inquiry.said, dialect)
            body = dialect.with_messages(body, messages, has_note=sight.has_note)
            if inquiry.edits_itself:
                body = dialect.without_history_edits(body)
            if inquiry.has_markers:
                body = dialect.keep_rolling(body, out.facts.policy.ttl)
        if not inquiry.model and out.model:
            body = dialect.with_model(body, out.model)
        if dialect.takes_markers and self._places_markers(out):
            body = self._marked(out, body, sight)
        out.asks_for_usage = current_key() is not None and self._can_ask_for_usage(out)
        if out.asks_for_usage:
            body = dialect.with_usage_asked(body)
        out.body = inquiry.raw if body is inquiry.body else jsontext.write(body)

    def prompt_tokens(self, out: Outgoing) -> int:
        """The tokens of the prompt that is sent, about."""
        if out.thread is not None:
            return out.tokens_after
        ratio = self._windows.ratio(out.inquiry.owner, out.endpoint, out.model)
        return round(estimated_prompt(out.inquiry) * ratio)

    def _prompt_size(self, out: Outgoing) -> PromptSize | None:
        """The size of the prompt; None where it is not needed, as a token has at least one byte."""
        if out.counted:
            return PromptSize(out.counted, 0.0)
        if out.thread is None:
            fits = len(out.inquiry.raw) + out.inquiry.answer_tokens <= out.facts.card.window
            return None if fits else PromptSize(self.prompt_tokens(out))
        is_anchored = out.thread.anchor.reported is not None
        return PromptSize(out.tokens_after, ANCHORED_MARGIN if is_anchored else ROUGH_MARGIN)

    def stop_asking_for_usage(self, out: Outgoing, refusal: bytes) -> bool:
        """Write a request anew that was refused because it asks for usage; whether that was why."""
        if not out.asks_for_usage or not out.inquiry.dialect.refuses_usage(refusal):
            return False
        self._without_usage.add(out.target.url)
        self.write(out)
        return True

    def _can_ask_for_usage(self, out: Outgoing) -> bool:
        """Whether a stream reports its usage only when asked; the limits of keys need it."""
        inquiry = out.inquiry
        return (
            inquiry.is_stream
            and out.target.url not in self._without_usage
            and inquiry.dialect.can_ask_for_usage(inquiry.body)
        )

    def _places_markers(self, out: Outgoing) -> bool:
        """Whether the gateway places cache markers; a client's own stay as they are."""
        inquiry = out.inquiry
        return out.facts.policy.enabled and not inquiry.has_markers and not inquiry.is_switched_off

    def _marked(self, out: Outgoing, body: dict[str, Any], sight: Sight | None) -> dict[str, Any]:
        memory = out.thread.memory if out.thread else None
        marking = CacheMarking(out.facts.policy, out.facts.card.cache.minimum, memory, out.written)
        try:
            marked = out.inquiry.dialect.mark(body, lambda: self._rendered(out, body, sight), marking)
        except (InvalidConversation, AttributeError, KeyError, TypeError):
            return body  # not a conversation; the upstream says so in its own words
        out.memory = marked.memory
        return marked.body

    def _rendered(self, out: Outgoing, body: dict[str, Any], sight: Sight | None) -> Rendered:
        """The request as the provider's cache sees it; of a known conversation only what is new is looked at."""
        inquiry, thread = out.inquiry, out.thread
        lead = list(inquiry.lead)
        if sight is not None and sight.has_note and lead:
            lead[-1] = with_note(lead[-1])
        if thread is None:
            return rendered_whole(inquiry.dialect, body, lead)
        with thread.rendering:
            known = thread.beginning
            if known is None or known.key != out.frame_key or known.sight is not sight:
                known = thread.beginning = beginning_of(inquiry.dialect, body, lead, out.frame_key, sight)
            return known.rendered(thread.log, thread.ends, len(inquiry.said))

    def _translate(self, out: Outgoing, sight: Sight | None) -> None:
        """The request on the other wire."""
        inquiry = out.inquiry
        if out.request is None:
            out.request, out.untranslatable = read_foreign(inquiry, out.target.dialect)
        request = out.request
        messages = list(request.messages)
        if out.thread is not None and sight is not None:
            messages = _view(inquiry, out.thread, sight)
        policy, has_own = out.facts.policy, inquiry.has_markers and MARKER not in inquiry.body
        if has_own and sight is not None:
            # The client's markers stand on messages that a view does not have.
            policy = replace(policy, enabled=True, strategy="planned")
            request = replace(request, tools=tuple(map(unmarked, request.tools)))
        if policy.enabled and (sight is not None or not has_own) and not inquiry.is_switched_off:
            memory = out.thread.memory if out.thread else None
            chain, minimum = BlockChain(request.tools), out.facts.card.cache.minimum
            marked = mark(messages, policy, chain, memory, now=out.written, minimum=minimum)
            messages, out.memory = marked.messages, marked.memory
        limit = request.max_tokens
        if limit is None and out.target.dialect.needs_limit:
            # This wire wants a number where the client gave none: as long as the model writes, within its window.
            limit = min(out.facts.output_cap or out.facts.card.output_cap, out.facts.window // 4)
        sent = replace(
            request, model=out.model, messages=tuple(messages), max_tokens=limit, include_usage=True
        )
        sent = request_with_fitting_limits(sent, out.facts, self._prompt_size(out))
        out.answer_limit = whole_number(sent.max_tokens)
        body, unaccepted = write_foreign(sent, inquiry.dialect, out.target.dialect, out.facts.card)
        out.dropped = tuple(dict.fromkeys((*out.untranslatable, *unaccepted)))
        out.body = jsontext.write(body)


def _chain(inquiry: Inquiry) -> list[bytes]:
    """By what its conversation is known; raises where it is none."""
    if inquiry.analysis is None:
        return chain_of(root_for(inquiry.named, inquiry.dialect), map(inquiry.dialect.unmarked, inquiry.said))
    if inquiry.analysis.fault:
        raise InvalidConversation(inquiry.analysis.fault)
    return inquiry.analysis.chain


def _view(inquiry: Inquiry, thread: Thread, sight: Sight) -> list[Message]:
    """What the model sees, in canonical form, under the system prompt that the client sends now."""
    lead = list(inquiry.lead)
    if lead and sight.has_note:
        lead[0] = with_note(lead[0])
    end = thread.ends[len(inquiry.said) - 1]
    return [*lead, *sight.sent, *thread.log[sight.through : end]]
