"""Handles one request from its arrival to its last byte.

read ─► which upstream ─► room in the limits ─► what to send ─► ask ─┬─► reply ─► client ─► what was used
                                                     ▲               └─► refused ─► client, in its dialect
                                                     └── lighter, or a shorter answer ◄── overflow
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any
from urllib.parse import quote

from plimsoll.archive import UsageRecord
from plimsoll.archive.keys import KeyUsage
from plimsoll.dialects import Usage
from plimsoll.errors import (
    Conflict,
    ContextOverflow,
    PlimsollError,
    ProviderError,
    ProviderTimeout,
    UsageLimitReached,
    UserError,
)
from plimsoll.gateway.access.usage import told_as
from plimsoll.gateway.dropin.inquiry import Inquiry
from plimsoll.gateway.dropin.keeping import Keeper
from plimsoll.gateway.dropin.lightening import Lightener, log
from plimsoll.gateway.dropin.metering import Meter, need_of
from plimsoll.gateway.dropin.planning import Outgoing, Planner
from plimsoll.gateway.dropin.recovery import Recovery
from plimsoll.gateway.dropin.relay import relay
from plimsoll.gateway.dropin.reply_store import ReplyStore
from plimsoll.gateway.dropin.savings import opening_headers
from plimsoll.gateway.dropin.windows import Windows
from plimsoll.gateway.edge import jsontext
from plimsoll.gateway.edge.answers import send_error, send_whole
from plimsoll.gateway.edge.body import Send
from plimsoll.gateway.edge.masking import masking
from plimsoll.gateway.settings import GatewaySettings
from plimsoll.gateway.upstream.headers import client_key, returned_headers, sent_headers
from plimsoll.gateway.upstream.pool import Answer, Call, Pool
from plimsoll.gateway.upstream.target import Target, Targets
from plimsoll.gateway.watch.facts import current_key, note_refusal, note_upstream, note_usage
from plimsoll.providers import classify
from plimsoll.secrets import masked

_QUERY = "!$%&'()*+,-./:;=?@_~"  # what a query may have as it is (RFC 3986)
_ERROR_BYTES = 1_000_000
_MOST_ATTEMPTS = 4  # a shorter answer, a compaction and usage that is not asked for may each take one
Reserve = Callable[[str | None, KeyUsage], AbstractAsyncContextManager[None]]
_OVERFLOWS = frozenset({400, 413, 422})  # statuses under which an upstream may say that a prompt is too long


class Desk:
    """Everything that requests share."""

    def __init__(
        self,
        settings: GatewaySettings,
        targets: Targets,
        pool: Pool,
        planner: Planner,
        keeper: Keeper,
        lightener: Lightener,
        windows: Windows,
        reserve: Reserve,
    ) -> None:
        self.settings, self.targets, self.pool = settings, targets, pool
        self.planner, self.windows = planner, windows
        self._keeper, self._lightener, self._reserve = keeper, lightener, reserve
        self._recovery = Recovery(planner, windows)
        self.replies = ReplyStore(settings.limits.conversation_bytes)
        self._beside: set[asyncio.Task[None]] = set()

    async def serve(self, inquiry: Inquiry, send: Send) -> None:
        """Answer one request for an answer."""
        try:
            inquiry = self.replies.expanded(inquiry)
            target = await self.target(inquiry)
            send = masking(send, target.secrets)
            async with self._room(inquiry, target):
                await self._serve(inquiry, target, send)
        except ProviderError as error:
            await send_error(send, inquiry.dialect, error.status or status_of(error), str(error))
        except UsageLimitReached as error:
            note_refusal(error.limit)
            code, headers = told_as(error)
            await send_error(send, inquiry.dialect, 429, str(error), code=code, headers=headers)
        except UserError as error:
            await send_error(send, inquiry.dialect, 503, str(error))

    async def target(self, inquiry: Inquiry) -> Target:
        """The upstream of a client."""
        return await self.targets.for_client(inquiry.dialect, bool(client_key(inquiry.named)))

    def call(self, inquiry: Inquiry, target: Target, url: str, body: bytes, method: str = "POST") -> Call:
        """A request to an upstream, with the client's headers and whichever key holds."""
        same = inquiry.dialect is target.dialect
        query = f"?{quote(inquiry.query, safe=_QUERY)}" if inquiry.query and same and "?" not in url else ""
        return Call(
            method=method,
            url=url + query,
            headers=sent_headers(target.endpoint, inquiry.headers, same),
            body=body,
            provider=target.endpoint.provider,
            model=inquiry.model,
            secrets=target.secrets,
        )

    async def close(self) -> None:
        """Finish what runs beside the requests."""
        await asyncio.gather(*self._beside, return_exceptions=True)

    @asynccontextmanager
    async def _room(self, inquiry: Inquiry, target: Target) -> AsyncIterator[None]:
        """Room for the request in the limits of whoever asks."""
        owner = current_key()
        if owner is None:
            yield
            return
        model = inquiry.model or target.endpoint.model
        endpoint = target.endpoint_for(inquiry.dialect, inquiry.betas)
        facts, ratio = self.windows.facts(endpoint, model), self.windows.ratio(inquiry.owner, endpoint, model)
        async with self._reserve(owner, need_of(inquiry, facts, ratio, self._lightener.has_writer)):
            yield

    async def _serve(self, inquiry: Inquiry, target: Target, send: Send) -> None:
        out = await self.planner.plan(inquiry, target)
        meter = Meter(out, current_key() is not None)
        try:
            answer, refused = await self._asked(out, meter)
            try:
                if refused is not None:
                    await self._refuse(send, out, answer, refused)
                    return
                keep = partial(self.replies.keep, inquiry) if inquiry.dialect.keeps_replies else None
                await relay(send, out, answer, self.settings.limits.reply_bytes, meter, keep)
            finally:
                answer.close()
        except asyncio.CancelledError:
            meter.abandoned()
            raise
        finally:
            used = meter.record()
            if used is not None:
                note_usage(used)
        self._after(out, meter.reported, used)

    async def _asked(self, out: Outgoing, meter: Meter) -> tuple[Answer, bytes | None]:
        """The answer, and its body where it is a refusal; one that can be cured is cured."""
        for attempt in range(1, _MOST_ATTEMPTS + 1):
            url = out.target.url_for(out.model, out.inquiry.is_stream)
            call = self.call(out.inquiry, out.target, url, out.body)
            first_byte = None if out.inquiry.is_stream else self.settings.timeouts.whole_reply
            note_upstream(
                time.perf_counter(), call.provider, out.model, call.place.host, out.target.dialect.name
            )
            meter.sent()
            try:
                answer = await self.pool.ask(call, first_byte)
            except ProviderTimeout:
                meter.abandoned()
                raise
            except ProviderError:
                meter.refused()
                raise
            if answer.status < 300:
                return answer, None
            meter.refused()
            body = await answer.whole(_ERROR_BYTES)
            if attempt == _MOST_ATTEMPTS or answer.status not in _OVERFLOWS:
                break
            if self.planner.stop_asking_for_usage(out, body):
                continue
            if not await self._recovery.cure(out, self._classified(out, answer, body)):
                break
        return answer, body

    async def _refuse(self, send: Send, out: Outgoing, answer: Answer, body: bytes) -> None:
        """An upstream's refusal: its own words in its own dialect, the same said in the other."""
        dialect, headers = out.inquiry.dialect, returned_headers(answer.headers)
        if out.is_translated:
            error = self._classified(out, answer, body)
            keep = [(name, value) for name, value in headers if name in (b"retry-after", b"request-id")]
            code = "context_length_exceeded" if isinstance(error, ContextOverflow) else None
            body = jsontext.write(dialect.error_body(answer.status, _said(error), code=code))
            headers = [*keep, (b"content-type", b"application/json")]
        else:
            body = without_keys(body, out.target.secrets)
        await send_whole(send, answer.status, [*headers, *opening_headers(out)], body)

    def _classified(self, out: Outgoing, answer: Answer, body: bytes) -> ProviderError:
        return classify(
            answer.status,
            body,
            {name.decode("latin-1"): value.decode("latin-1") for name, value in answer.headers},
            out.target.endpoint.provider,
            model=out.model,
            secrets=out.target.secrets,
            now=time.time(),
            dialect=out.target.dialect,
        )

    def _after(self, out: Outgoing, usage: Usage | None, used: UsageRecord | None) -> None:
        """Learn from a reply, beside whatever comes next."""
        thread = out.thread
        if thread is None:
            return
        if out.memory is not None:
            thread.memory = out.memory
        if usage is not None and usage.prompt_tokens:
            thread.anchor = thread.anchor.observe(usage.prompt_tokens, out.estimated)
            self.windows.note_ratio(out.inquiry.owner, out.endpoint, out.model, thread.anchor.ratio)
        if not out.inquiry.edits_itself and self._lightener.is_enabled:
            tokens = thread.anchor.predict(out.estimated)
            sent = thread.sequence_at(len(out.inquiry.said)) - len(thread.lead)
            self._lightener.asked(thread, tokens, out.facts, sent, out.written)
            self._lightener.prepare(thread, tokens, out.facts)
        if usage is not None and used is not None and thread.journal is not None:
            self._run_beside(self._note(out, used))

    async def _note(self, out: Outgoing, record: UsageRecord) -> None:
        assert out.thread is not None
        async with out.thread.lock:
            try:
                await self._keeper.used(out.thread, record)
            except Conflict as error:
                # Another process has the next request already; what is missing is stored with it.
                log.debug("a request was noted by another process: %s", error)
            except PlimsollError as error:
                log.warning("a request was not noted in the archive: %s", error)

    def _run_beside(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._beside.add(task)
        done: Callable[[asyncio.Task[None]], None] = self._beside.discard
        task.add_done_callback(done)


def without_keys(body: bytes, secrets: tuple[str, ...]) -> bytes:
    """A refusal without the gateway's key: providers quote keys, whole or in part."""
    if not secrets:
        return body  # the key was the client's own
    return masked(body.decode("utf-8", "replace"), secrets).encode()


def _said(error: ProviderError) -> str:
    """A failure in the words that clients look for."""
    if isinstance(error, ContextOverflow) and error.limit:
        return f"prompt is too long: {error.requested or error.limit + 1} tokens > {error.limit} maximum"
    return str(error)


def status_of(error: ProviderError) -> int:
    """The status of a failure that has none: the upstream was late, or could not be reached."""
    return 504 if isinstance(error, ProviderTimeout) else 502
