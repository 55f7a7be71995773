"""Handles one request from its arrival to its last byte.

parse ─► key ─► shape ─► decode ─► rules ─┬─► refused (takes nothing from the script)
                                          └─► next item of the script ─► bill ─► answer or fault
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from plimsoll.dialects import ChatRequest
from plimsoll.errors import InvalidConversation
from plimsoll.models import estimate_tools_tokens
from plimsoll.testing.scripted_server import wire_formats
from plimsoll.testing.scripted_server.answers import AnswerPart, ScriptedAnswer, call, say
from plimsoll.testing.scripted_server.billing import BillingSimulator, Cards, prompt_of
from plimsoll.testing.scripted_server.captured import CapturedRequest
from plimsoll.testing.scripted_server.clock import Clock
from plimsoll.testing.scripted_server.connection import HttpConnection, HttpRequest
from plimsoll.testing.scripted_server.delivery import deliver, refuse
from plimsoll.testing.scripted_server.faults import STATUS_OF, Fault
from plimsoll.testing.scripted_server.replies import ReplyWriter
from plimsoll.testing.scripted_server.rules import anthropic, openai
from plimsoll.testing.scripted_server.rules.checked_request import CheckedRequest
from plimsoll.testing.scripted_server.rules.issued_thinking import IssuedThinking
from plimsoll.testing.scripted_server.rules.refusal import Dialect, Refusal, bad
from plimsoll.testing.scripted_server.rules.statuses import refusal_of, said_with
from plimsoll.testing.scripted_server.script import Computed, Item, Script, ScriptExhausted

_ANYTHING = "This answer is long enough to be broken in the middle, wherever the middle happens to be."
_FILLER = "All work and no play makes a long answer. "


@dataclass(slots=True)
class ScriptedRequestHandler:
    """Everything that requests share. Used from the server's own thread alone."""

    script: Script
    cards: Cards
    clock: Clock
    models: Sequence[str]
    api_key: str | None
    strict_models: bool
    max_bytes: int
    in_thread: Callable[[Computed, ChatRequest], Awaitable[Item]]
    till: BillingSimulator = field(default_factory=BillingSimulator)
    memory: IssuedThinking = field(default_factory=IssuedThinking)
    writer: ReplyWriter = field(default_factory=ReplyWriter)

    async def serve(self, http: HttpRequest, captured: CapturedRequest, connection: HttpConnection) -> None:
        """Answer one request for an answer or for a count of tokens."""
        dialect = captured.dialect
        request_id = self.writer.request_id(dialect)
        judged = self._judge(http, captured)
        if isinstance(judged, Refusal):
            await self._refuse(connection, captured, judged, request_id)
        elif judged.counts_only:
            captured.status = 200
            headers = wire_formats.headers(dialect, request_id)
            await connection.send_json(200, headers, {"input_tokens": judged.prompt_tokens})
        else:
            await self._answer(captured, judged, connection, request_id)

    async def list_models(
        self, http: HttpRequest, captured: CapturedRequest, connection: HttpConnection
    ) -> None:
        """All models, or one of them."""
        request_id = self.writer.request_id(captured.dialect)
        name = http.path.removeprefix("/v1/models").strip("/")
        refusal = self._key_refusal(captured)
        if refusal is None and name and name not in self.models:
            refusal = _unknown_model(captured.dialect, name)
        if refusal is not None:
            await self._refuse(connection, captured, refusal, request_id)
            return
        one = wire_formats.model_body(captured.dialect, name) if name else None
        captured.status = 200
        body = one or wire_formats.models_body(captured.dialect, self.models)
        await connection.send_json(200, wire_formats.headers(captured.dialect, request_id), body)

    def _judge(self, http: HttpRequest, captured: CapturedRequest) -> CheckedRequest | Refusal:
        dialect, counts_only = captured.dialect, http.path.endswith("/count_tokens")
        refusal = self._key_refusal(captured)
        if refusal is not None:
            return refusal
        if http.is_too_large:
            return _too_large(dialect, int(http.headers.get("content-length") or 0), self.max_bytes)
        body = wire_formats.parsed(dialect, http.body)
        if isinstance(body, str):
            return bad(body)
        captured.body = body
        if dialect == "anthropic":
            shape = anthropic.shape_refusals(body, counts_only)
        else:
            shape = openai.shape_refusals(body)
        refusal = next(shape, None)
        if refusal is not None:
            return refusal
        if self.strict_models and body["model"] not in self.models:
            return _unknown_model(dialect, body["model"])
        return self._checked_request(captured, body, counts_only)

    def _checked_request(
        self, captured: CapturedRequest, body: dict[str, Any], counts_only: bool
    ) -> CheckedRequest | Refusal:
        dialect = captured.dialect
        try:
            request = captured.request = wire_formats.decode(dialect, body)
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
        rules = anthropic if dialect == "anthropic" else openai
        return next(rules.refusals(checked), None) or checked

    async def _answer(
        self, captured: CapturedRequest, checked: CheckedRequest, connection: HttpConnection, request_id: str
    ) -> None:
        try:
            item = self.script.next()
        except ScriptExhausted as error:
            await self._refuse(connection, captured, bad(str(error)), request_id)
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
                await self._refuse(connection, captured, refusal_of(captured.dialect, item), request_id)
                return
            item = _unwanted(item, checked.request)
        self._bill(captured, checked, item)
        captured.status = (broken.status or 502) if broken and broken.kind == "html" else 200
        assert captured.reply is not None
        await deliver(connection, captured.dialect, checked.request, captured.reply, request_id, broken)

    def _bill(self, captured: CapturedRequest, checked: CheckedRequest, item: Item) -> None:
        assert not isinstance(item, Fault)
        dialect, card = captured.dialect, checked.card
        reply = self.writer.reply(item, checked.request, dialect, card)
        # A reply with a usage of its own keeps it: a test may want numbers that no rule gives.
        captured.bill, usage = self.till.bill(
            checked.request, dialect, card, reply, captured.time, self.clock.now(), _key_of(captured)
        )
        captured.usage = reply.usage or usage
        captured.reply = replace(reply, usage=captured.usage)
        self.memory.remember(checked.request, captured.reply)

    async def _refuse(
        self, connection: HttpConnection, captured: CapturedRequest, refusal: Refusal, request_id: str
    ) -> None:
        captured.refusal, captured.status = refusal, refusal.status
        await refuse(connection, captured.dialect, refusal, request_id)

    def _key_refusal(self, captured: CapturedRequest) -> Refusal | None:
        key, dialect = _key_of(captured), captured.dialect
        if dialect == "anthropic" and "anthropic-version" not in captured.headers:
            return bad("anthropic-version: header is required")
        if self.api_key is None or key == self.api_key:
            return None
        if dialect == "anthropic":
            told = "invalid x-api-key" if key else "x-api-key header is required"
            return Refusal(401, "authentication_error", told)
        if not key:
            return Refusal(
                401,
                "invalid_request_error",
                "You didn't provide an API key. You need to provide your API key in an Authorization header using "
                "Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
            )
        shown = f"{key[:3]}{'*' * 8}{key[-2:]}"
        return Refusal(
            401,
            "invalid_request_error",
            f"Incorrect API key provided: {shown}. You can find your API key at "
            f"https://platform.openai.com/account/api-keys.",
            code="invalid_api_key",
        )


def _key_of(captured: CapturedRequest) -> str:
    """The key, which is also the workspace that a cache belongs to."""
    bearer = captured.headers.get("authorization", "").removeprefix("Bearer ").strip()
    return captured.headers.get("x-api-key") or bearer


def _unwanted(fault: Fault, request: ChatRequest) -> ScriptedAnswer:
    """The answer that goes with a fault."""
    if fault.kind == "empty":
        return ScriptedAnswer()
    if fault.kind == "long":
        text = _FILLER * (fault.length // len(_FILLER) + 1)
        return ScriptedAnswer((AnswerPart("text", text[: fault.length]),))
    if fault.kind == "tool_call":
        names = [tool.get("function", tool).get("name") for tool in request.tools]
        return fault.then or call(str(names[0]) if names else "terminal", command="ls")
    return fault.then or say(_ANYTHING)


def _unknown_model(dialect: Dialect, name: str) -> Refusal:
    if dialect == "anthropic":
        return Refusal(404, "not_found_error", f"model: {name}")
    told = f"The model `{name}` does not exist or you do not have access to it."
    return Refusal(404, "invalid_request_error", told, code="model_not_found")


def _too_large(dialect: Dialect, size: int, limit: int) -> Refusal:
    usual = said_with(dialect, 413)
    if dialect == "anthropic":
        return usual
    told = f"Maximum content size limit ({limit}) exceeded ({size} bytes read)"
    return Refusal(413, usual.kind, told)
