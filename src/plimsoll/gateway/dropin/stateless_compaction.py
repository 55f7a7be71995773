"""POST /v1/compact: compacts one request in any dialect and stores nothing.

    {"dialect": "anthropic", "request": {"model": …, "system": …, "messages": […], "tools": […]}}
    {"request": {…, "messages": [compacted]}, "report": {"outcome": "compacted", …}}

For programs in languages without a Plimsoll library. They send the compacted request to their provider themselves
and continue from its messages.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from plimsoll.agent import CompactionRules, Compactor, SummaryAccount, Workers, on_this_loop
from plimsoll.archive import Owner, UsageRecord
from plimsoll.assembly import build_compressor
from plimsoll.config import Settings
from plimsoll.context import CompactionReport
from plimsoll.context.ledger import as_json
from plimsoll.dialects import dialect_of, dialects
from plimsoll.errors import UserError
from plimsoll.gateway.asgi import Receive, Scope, Send, caller_in
from plimsoll.gateway.dropin.failures import failures_sent
from plimsoll.gateway.dropin.metering import max_spending
from plimsoll.gateway.dropin.request_handler import Reserve
from plimsoll.gateway.dropin.summary_models import SummaryModels
from plimsoll.gateway.http import jsontext
from plimsoll.gateway.http.body import bad_request, parse_body, read_body, require_model_name
from plimsoll.gateway.http.responses import JSON, send_whole
from plimsoll.gateway.telemetry.request_facts import current_key, note_compaction
from plimsoll.models import card_for
from plimsoll.request_compaction import WireRequest, unchanged, wire_dialect

COMPACT_PATH = "/v1/compact"
_MAX_TOKENS = (
    1_000_000_000  # tokens or messages; a number that no float holds cannot be compared with a share of it
)


class CompactionOptions(BaseModel):
    """The body of a request; missing fields come from the gateway's settings."""

    model_config = ConfigDict(extra="forbid", strict=True)

    request: dict[str, Any]
    dialect: str = "openai"
    window: int | None = Field(default=None, ge=1, le=_MAX_TOKENS)
    current_tokens: int | None = Field(default=None, ge=1, le=_MAX_TOKENS)
    target_tokens: int | None = Field(default=None, ge=1, le=_MAX_TOKENS)
    protect_last_n: int | None = Field(default=None, ge=1, le=_MAX_TOKENS)
    focus: str | None = None
    only_if_due: bool = False


@dataclass(frozen=True, slots=True)
class StatelessCompactor:
    """Compacts requests and charges their summaries to the caller."""

    settings: Settings
    summaries: SummaryModels
    workers: Workers | None
    clock: Callable[[], float]
    reserve: Reserve
    charge: Callable[[Owner, UsageRecord], None]

    async def compact(self, options: CompactionOptions, owner: Owner) -> dict[str, Any]:
        """The response to a request."""
        # Reading and writing a long conversation would block other requests.
        try:
            request = await asyncio.to_thread(WireRequest, wire_dialect(options.dialect), options.request)
            compactor = self._compactor(options, request, owner)
        except UserError as error:
            raise bad_request(error.public) from None
        estimated = await asyncio.to_thread(lambda: request.tokens)
        tokens = options.current_tokens or estimated
        engine = compactor.engine
        if options.only_if_due and not engine.should_compress(tokens):
            reason = f"{tokens:,} tokens are below the threshold of {engine.threshold_tokens:,}"
            return _answer(options.request, unchanged(request, tokens, reason))
        compactor.trigger.measure_fixed_part(request.messages, request.tools_tokens)
        writer = card_for(compactor.model)
        # What a caller says about its request must not decide how much of its limit is reserved.
        prompt_tokens = min(max(tokens, estimated), writer.window) if compactor.model else 0
        need = max_spending(writer, prompt_tokens, 0)
        async with self.reserve(current_key(), need):
            attempt = await compactor.compact(request.messages, tokens, "manual", options.focus)
        note_compaction(attempt.event, attempt.spent)
        report: CompactionReport | None = getattr(compactor.engine, "last_report", None)
        if attempt.messages is None or report is None:
            return _answer(options.request, unchanged(request, tokens, attempt.event.reason))
        return _answer(await asyncio.to_thread(request.with_messages, attempt.messages), report)

    def _compactor(self, options: CompactionOptions, request: WireRequest, owner: Owner) -> Compactor:
        account = SummaryAccount(on_this_loop(partial(self.charge, owner)))
        model = request.model or self.settings.model.name or ""
        overrides = {"target_tokens": options.target_tokens, "protect_last_n": options.protect_last_n}
        compression = self.settings.compression.model_copy(
            update={name: value for name, value in overrides.items() if value is not None}
        )
        settings = self.settings.model_copy(update={"compression": compression})
        writer = self.summaries.writer_for(model, account.add)
        compactor = Compactor(
            build_compressor(settings, writer, window=options.window, model=model),
            CompactionRules(background=False),
            self.clock,
            self.summaries.name_for(model),
            account=account,
        )
        compactor.host.workers = self.workers
        return compactor


class CompactEndpoint:
    """The path as an ASGI application."""

    def __init__(self, compactor: Callable[[], StatelessCompactor], settings: Settings) -> None:
        self._compactor, self._limits = compactor, settings.gateway

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = tuple(scope["headers"])
        dialect = dialect_of(scope["path"], headers)
        async with failures_sent(send, dialect):
            raw = await read_body(receive, headers, self._limits)
            body = await asyncio.to_thread(parse_body, raw, self._limits)
            # A caller that names a dialect reads errors in it.
            named = next((item for item in dialects() if item.name == body.get("dialect")), dialect)
            async with failures_sent(send, named):
                options = await asyncio.to_thread(_options, body)
                answer = await self._compactor().compact(options, caller_in(scope).archive_owner)
                await send_whole(send, 200, [JSON], await asyncio.to_thread(jsontext.write, answer))


def _options(body: dict[str, Any]) -> CompactionOptions:
    try:
        options = CompactionOptions.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the body"
        detail = f"{where}: {first['msg']}. See docs/gateway.md for the fields of {COMPACT_PATH}."
        raise bad_request(detail) from None
    require_model_name(options.request.get("model"))
    return options


def _answer(request: dict[str, Any], report: CompactionReport) -> dict[str, Any]:
    return {
        "request": request,
        "report": {
            "outcome": report.outcome,
            "reason": report.reason,
            "messages_before": report.messages_before,
            "messages_after": report.messages_after,
            "tokens_before": report.tokens_before,
            "tokens_after": report.tokens_after,
            "summary_source": report.summary_source,
            "summary": report.whole_summary,
            "sources": as_json(report.lines),
            "steps": list(report.steps),
            "model_failures": list(report.model_failures),
        },
    }
