"""One request from its arrival to its last byte.

parse ─► key ─► shape ─► decode ─► rules ─┬─► refused (takes nothing from the script)
                                          └─► next item of the script ─► bill ─► answer or fault
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from plimsoll.dialects import ChatRequest
from plimsoll.errors import InvalidConversation
from plimsoll.models import estimate_tools_tokens
from plimsoll.testing.scripted_server import sides
from plimsoll.testing.scripted_server.answers import Answer, Piece, call, say
from plimsoll.testing.scripted_server.billing import Cards, Till, prompt_of
from plimsoll.testing.scripted_server.captured import Captured
from plimsoll.testing.scripted_server.clock import Clock
from plimsoll.testing.scripted_server.connection import Connection, HttpRequest
from plimsoll.testing.scripted_server.delivery import deliver, refuse
from plimsoll.testing.scripted_server.faults import STATUS_OF, Fault
from plimsoll.testing.scripted_server.replies import Writer
from plimsoll.testing.scripted_server.rules import anthropic, openai
from plimsoll.testing.scripted_server.rules.inquiry import Inquiry
from plimsoll.testing.scripted_server.rules.memory import Memory
from plimsoll.testing.scripted_server.rules.refusal import Dialect, Refusal, bad
from plimsoll.testing.scripted_server.rules.statuses import refusal_of, said_with
from plimsoll.testing.scripted_server.script import Computed, Item, Script, ScriptUsedUp

_ANYTHING = "This answer is long enough to be broken in the middle, wherever the middle happens to be."
_FILLER = "All work and no play makes a long answer. "


@dataclass(slots=True)
class Desk:
    """Everything that requests share. Used from the server's own thread alone."""

    script: Script
    cards: Cards
    clock: Clock
    models: Sequence[str]
    api_key: str | None
    strict_models: bool
    max_bytes: int
    in_thread: Callable[[Computed, ChatRequest], Awaitable[Item]]
    till: Till = field(default_factory=Till)
    memory: Memory = field(default_factory=Memory)
    writer: Writer = field(default_factory=Writer)

    async def serve(self, http: HttpRequest, captured: Captured, connection: Connection) -> None:
        """Answer one request for an answer or for a count of tokens."""
        dialect = captured.dialect
        request_id = self.writer.request_id(dialect)
        judged = self._judge(http, captured)
        if isinstance(judged, Refusal):
            await self._refuse(connection, captured, judged, request_id)
        elif judged.counts_only:
            captured.status = 200
            headers = sides.headers(dialect, request_id)
            await connection.send_json(200, headers, {"input_tokens": judged.prompt_tokens})
        else:
            await self._answer(captured, judged, connection, request_id)

    async def list_models(self, http: HttpRequest, captured: Captured, connection: Connection) -> None:
        """All models, or one of them."""
        request_id = self.writer.request_id(captured.dialect)
        name = http.path.removeprefix("/v1/models").strip("/")
        refusal = self._key_refusal(captured)
        if refusal is None and name and name not in self.models:
            refusal = _unknown_model(captured.dialect, name)
        if refusal is not None:
            await self._refuse(connection, captured, refusal, request_id)
            return
        one = sides.model_body(captured.dialect, name) if name else None
        captured.status = 200
        body = one or sides.models_body(captured.dialect, self.models)
        await connection.send_json(200, sides.headers(captured.dialect, request_id), body)

    def _judge(self, http: HttpRequest, captured: Captured) -> Inquiry | Refusal:
        dialect, counts_only = captured.dialect, http.path.endswith("/count_tokens")
        refusal = self._key_refusal(captured)
        if refusal is not None:
            return refusal
        if http.is_too_large:
            return _too_large(dialect, int(http.headers.get("content-length") or 0), self.max_bytes)
        body = sides.parsed(dialect, http.body)
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
        return self._inquiry(captured, body, counts_only)

    def _inquiry(self, captured: Captured, body: dict[str, Any], counts_only: bool) -> Inquiry | Refusal:
        dialect = captured.dialect
        try:
            request = captured.request = sides.decode(dialect, body)
        except InvalidConversation as error:
            return bad(str(error))
        inquiry = Inquiry(
            body,
            request,
            self.cards[request.model],
            self.memory,
            prompt_of(request, dialect).tokens,
            estimate_tools_tokens(list(request.tools)),
            counts_only,
        )
        rules = anthropic if dialect == "anthropic" else openai
        return next(rules.refusals(inquiry), None) or inquiry

    async def _answer(
        self, captured: Captured, inquiry: Inquiry, connection: Connection, request_id: str
    ) -> None:
        try:
            item = self.script.next()
        except ScriptUsedUp as error:
            await self._refuse(connection, captured, bad(str(error)), request_id)
            return
        if callable(item):
            item = await self.in_thread(item, inquiry.request)
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
            item = _unwanted(item, inquiry.request)
        self._bill(captured, inquiry, item)
        captured.status = (broken.status or 502) if broken and broken.kind == "html" else 200
        assert captured.reply is not None
        await deliver(connection, captured.dialect, inquiry.request, captured.reply, request_id, broken)

    def _bill(self, captured: Captured, inquiry: Inquiry, item: Item) -> None:
        assert not isinstance(item, Fault)
        dialect, card = captured.dialect, inquiry.card
        reply = self.writer.reply(item, inquiry.request, dialect, card)
        # A reply with a usage of its own keeps it: a test may want numbers that no rule gives.
        captured.bill, usage = self.till.bill(
            inquiry.request, dialect, card, reply, captured.time, self.clock.now(), _key_of(captured)
        )
        captured.usage = reply.usage or usage
        captured.reply = replace(reply, usage=captured.usage)
        self.memory.remember(inquiry.request, captured.reply)

    async def _refuse(
        self, connection: Connection, captured: Captured, refusal: Refusal, request_id: str
    ) -> None:
        captured.refusal, captured.status = refusal, refusal.status
        await refuse(connection, captured.dialect, refusal, request_id)

    def _key_refusal(self, captured: Captured) -> Refusal | None:
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


def _key_of(captured: Captured) -> str:
    """The key, which is also the workspace that a cache belongs to."""
    bearer = captured.headers.get("authorization", "").removeprefix("Bearer ").strip()
    return captured.headers.get("x-api-key") or bearer


def _unwanted(fault: Fault, request: ChatRequest) -> Answer:
    """The answer that goes with a fault."""
    if fault.kind == "empty":
        return Answer()
    if fault.kind == "long":
        text = _FILLER * (fault.length // len(_FILLER) + 1)
        return Answer((Piece("text", text[: fault.length]),))
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
