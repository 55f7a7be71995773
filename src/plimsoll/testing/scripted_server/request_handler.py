"""Handles one request from its arrival to its last byte.

parse ─► key ─► shape ─► decode ─► rules ─┬─► refused (takes nothing from the script)
                                          └─► next item of the script ─► bill ─► answer or fault
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from plimsoll.dialects import ChatRequest
from plimsoll.errors import InvalidConversation
from plimsoll.messages import IMAGE_TYPES, media_of
from plimsoll.models import estimate_tools_tokens
from plimsoll.testing.scripted_server.answers import AnswerPart, ScriptedAnswer, call, say
from plimsoll.testing.scripted_server.billing import BillingSimulator, Cards, prompt_of
from plimsoll.testing.scripted_server.captured import CapturedRequest
from plimsoll.testing.scripted_server.clock import Clock
from plimsoll.testing.scripted_server.connection import HttpConnection, HttpRequest
from plimsoll.testing.scripted_server.delivery import deliver, refuse
from plimsoll.testing.scripted_server.faults import STATUS_OF, Fault
from plimsoll.testing.scripted_server.provider import ScriptedProvider
from plimsoll.testing.scripted_server.replies import ReplyWriter
from plimsoll.testing.scripted_server.rules.checked_request import CheckedRequest
from plimsoll.testing.scripted_server.rules.issued_thinking import IssuedThinking
from plimsoll.testing.scripted_server.rules.refusal import Refusal, bad
from plimsoll.testing.scripted_server.script import Computed, Item, Script, ScriptExhausted

_FILLER_TEXT = "This answer is long enough to be broken in the middle, wherever the middle happens to be."
_FILLER = "All work and no play makes a long answer. "


@dataclass(frozen=True, slots=True)
class ScriptedExchange:
    """A received request, and the provider that answers it."""

    captured: CapturedRequest
    provider: ScriptedProvider
    connection: HttpConnection
    request_id: str

    @property
    def key(self) -> str:
        return self.provider.key_of(self.captured.headers)

    async def refuse(self, refusal: Refusal) -> None:
        """Send an error."""
        self.captured.refusal, self.captured.status = refusal, refusal.status
        await refuse(self.connection, self.provider, refusal, self.request_id)

    async def send_json(self, body: dict[str, Any]) -> None:
        """Send this body."""
        self.captured.status = 200
        await self.connection.send_json(200, self.provider.headers(self.request_id), body)


@dataclass(slots=True)
class ScriptedRequestHandler:
    """Handles requests with shared state. Used only from the server's thread."""

    script: Script
    cards: Cards
    clock: Clock
    models: Sequence[str]
    api_key: str | None
    strict_models: bool
    max_bytes: int
    max_images: int | None
    in_thread: Callable[[Computed, ChatRequest], Awaitable[Item]]
    till: BillingSimulator = field(default_factory=BillingSimulator)
    memory: IssuedThinking = field(default_factory=IssuedThinking)
    writer: ReplyWriter = field(default_factory=ReplyWriter)

    def exchange(
        self, captured: CapturedRequest, provider: ScriptedProvider, connection: HttpConnection
    ) -> ScriptedExchange:
        """An exchange for a request, with the id of its response."""
        return ScriptedExchange(captured, provider, connection, self.writer.next_id(provider.request_prefix))

    async def serve(self, http: HttpRequest, exchange: ScriptedExchange) -> None:
        """Answer one request for a reply or a token count."""
        judged = self._judge(http, exchange)
        if isinstance(judged, Refusal):
            await exchange.refuse(judged)
        elif judged.counts_only:
            await exchange.send_json(exchange.provider.dialect.counted(judged.prompt_tokens))
        else:
            await self._answer(exchange, judged)

    async def list_models(self, http: HttpRequest, exchange: ScriptedExchange) -> None:
        """Send the list of models, or one model."""
        provider = exchange.provider
        name = http.path
        for root in provider.dialect.models_paths:
            name = name.removeprefix(root)
        name = name.strip("/")
        refusal = self._key_refusal(exchange)
        if refusal is None and name and name not in self.models:
            refusal = provider.unknown_model(name)
        if refusal is not None:
            await exchange.refuse(refusal)
            return
        await exchange.send_json(provider.model_body(name) if name else provider.models_body(self.models))

    def _judge(self, http: HttpRequest, exchange: ScriptedExchange) -> CheckedRequest | Refusal:
        provider, counts_only = exchange.provider, exchange.provider.dialect.is_count_path(http.path)
        refusal = self._key_refusal(exchange)
        if refusal is not None:
            return refusal
        if http.is_too_large:
            return provider.too_large(int(http.headers.get("content-length") or 0), self.max_bytes)
        try:
            body = json.loads(http.body)
        except (ValueError, RecursionError) as error:
            return bad(provider.not_json(error))
        if not isinstance(body, dict):
            return bad("Input should be an object")
        exchange.captured.body = body
        refusal = next(provider.shape_refusals(body, counts_only), None)
        if refusal is not None:
            return refusal
        model = provider.dialect.model_of(body, http.path)
        if self.strict_models and model not in self.models:
            return provider.unknown_model(model)
        return self._checked_request(exchange, body, counts_only)

    def _checked_request(
        self, exchange: ScriptedExchange, body: dict[str, Any], counts_only: bool
    ) -> CheckedRequest | Refusal:
        captured, dialect = exchange.captured, exchange.provider.dialect
        try:
            request = captured.request = dialect.decode_request(body, captured.path)
        except InvalidConversation as error:
            return bad(str(error))
        checked = CheckedRequest(
            body,
            request,
            self.cards[request.model],
            self.memory,
            prompt_of(request, dialect).tokens,
            estimate_tools_tokens(list(request.tools)),
            counts_only,
        )
        media = (part for message in request.messages for part in media_of(message))
        images = sum(part["type"] in IMAGE_TYPES for part in media)
        if self.max_images is not None and images > self.max_images:
            return exchange.provider.too_many_images(images, self.max_images)
        return next(exchange.provider.refusals(checked), None) or checked

    async def _answer(self, exchange: ScriptedExchange, checked: CheckedRequest) -> None:
        captured, connection = exchange.captured, exchange.connection
        try:
            item = self.script.next()
        except ScriptExhausted as error:
            await exchange.refuse(bad(str(error)))
            return
        if callable(item):
            item = await self.in_thread(item, checked.request)
        broken = captured.fault = item if isinstance(item, Fault) else None
        if isinstance(item, Fault):
            if item.kind == "hang":
                await connection.gone()
                captured.is_abandoned = True
                return
            if item.kind == "reset":
                connection.reset()
                return
            if item.kind in STATUS_OF or item.kind == "status":
                await exchange.refuse(exchange.provider.refusal_of(item))
                return
            item = _unwanted(item, checked.request)
        self._bill(exchange, checked, item)
        captured.status = (broken.status or 502) if broken and broken.kind == "html" else 200
        assert captured.reply is not None
        await deliver(
            connection, exchange.provider, checked.request, captured.reply, exchange.request_id, broken
        )

    def _bill(self, exchange: ScriptedExchange, checked: CheckedRequest, item: Item) -> None:
        assert not isinstance(item, Fault)
        captured, provider, request, card = (
            exchange.captured,
            exchange.provider,
            checked.request,
            checked.card,
        )
        reply = self.writer.reply(
            item, request, card, reply_prefix=provider.reply_prefix, call_prefix=provider.call_prefix
        )
        # A reply with usage keeps it: a test may need numbers that the simulator would not produce.
        captured.bill, usage = self.till.bill(
            request, provider.dialect, card, reply, captured.time, self.clock.now(), exchange.key
        )
        captured.usage = reply.usage or usage
        captured.reply = replace(reply, usage=captured.usage)
        self.memory.remember(request, captured.reply)

    def _key_refusal(self, exchange: ScriptedExchange) -> Refusal | None:
        refusal = exchange.provider.header_refusal(exchange.captured.headers)
        if refusal is not None or self.api_key is None or exchange.key == self.api_key:
            return refusal
        return exchange.provider.key_refusal(exchange.key)


def _unwanted(fault: Fault, request: ChatRequest) -> ScriptedAnswer:
    """The answer for a fault."""
    if fault.kind == "empty":
        return ScriptedAnswer()
    if fault.kind == "long":
        text = _FILLER * (fault.length // len(_FILLER) + 1)
        return ScriptedAnswer((AnswerPart("text", text[: fault.length]),))
    if fault.kind == "tool_call":
        names = [tool.get("function", tool).get("name") for tool in request.tools]
        return fault.then or call(str(names[0]) if names else "terminal", command="ls")
    return fault.then or say(_FILLER_TEXT)
