"""Handles one generation request, from its arrival to its last byte.

recognise ─► compact ─► write ─► send ─┬─► relay ─► client
                          ▲            └─► refused ─► client, in its dialect
                          └── compacted, or a shorter answer ◄── overflow

recognise   recognition.py       which conversation it belongs to
compact     compaction.py        the view that the model sees, if a compaction is due
write       request_writer.py    the bytes to send
send        this file            one request upstream, rewritten if the upstream refuses its size (recovery.py)
relay       relay.py             the reply to the client; with the recall tool: recall_relay.py
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from math import ceil
from typing import Any

from plimsoll.archive import UsageRecord
from plimsoll.archive.keys import KeyUsage
from plimsoll.dialects import Usage
from plimsoll.errors import (
    AuthenticationFailed,
    Conflict,
    ContextOverflow,
    PlimsollError,
    ProviderError,
    ProviderTimeout,
    UserError,
)
from plimsoll.gateway.asgi import Send
from plimsoll.gateway.dropin.client_compaction import ClientCompaction
from plimsoll.gateway.dropin.client_request import ClientRequest
from plimsoll.gateway.dropin.compaction import ConversationCompactor
from plimsoll.gateway.dropin.conversation_store import ConversationStore
from plimsoll.gateway.dropin.early_failure import overflow_in
from plimsoll.gateway.dropin.failures import failures_sent
from plimsoll.gateway.dropin.media import MediaRemover, may_exceed_limits
from plimsoll.gateway.dropin.metering import Meter, max_usage
from plimsoll.gateway.dropin.recall_relay import RecallParts, RecallRelay
from plimsoll.gateway.dropin.recognition import Recognizer
from plimsoll.gateway.dropin.recovery import Recovery
from plimsoll.gateway.dropin.relay import Keep, relay
from plimsoll.gateway.dropin.reply_store import ReplyStore
from plimsoll.gateway.dropin.request_writer import RequestWriter
from plimsoll.gateway.dropin.response_headers import opening_headers
from plimsoll.gateway.dropin.shared_account import refuse_account_fields
from plimsoll.gateway.dropin.upstream_request import UpstreamRequest
from plimsoll.gateway.dropin.windows import Windows
from plimsoll.gateway.http import jsontext
from plimsoll.gateway.http.masking import masking
from plimsoll.gateway.http.responses import EVENTS, send_whole
from plimsoll.gateway.runtime_options import RuntimeOptions
from plimsoll.gateway.telemetry.request_facts import current_key, note_upstream, note_usage
from plimsoll.gateway.upstream.headers import client_key, returned_headers, sent_headers, sent_query
from plimsoll.gateway.upstream.pool import Pool, UpstreamCall, UpstreamResponse
from plimsoll.gateway.upstream.target import Target, Targets
from plimsoll.providers import classify
from plimsoll.secrets import masked

log = logging.getLogger(__name__)
_ERROR_BYTES = 1_000_000
_MAX_ATTEMPTS = 5  # one each for a shorter answer, a compaction, fewer images, and not asking for usage
Reserve = Callable[[str | None, KeyUsage], AbstractAsyncContextManager[None]]
_OVERFLOWS = frozenset({400, 413, 422})  # statuses of an upstream's "prompt is too long"


class RequestHandler:
    """Handles the requests to the drop-in endpoints."""

    def __init__(
        self,
        options: RuntimeOptions,
        targets: Targets,
        pool: Pool,
        recognizer: Recognizer,
        compactor: ConversationCompactor,
        writer: RequestWriter,
        store: ConversationStore,
        windows: Windows,
        reserve: Reserve,
        replies: ReplyStore,
        recall: RecallParts,
    ) -> None:
        self._options, self.targets, self.pool = options, targets, pool
        self.recognizer, self.writer, self.windows = recognizer, writer, windows
        self._compactor, self._store, self._reserve = compactor, store, reserve
        self._media = MediaRemover(compactor)
        self._recovery = Recovery(recognizer, compactor, writer, windows, self._media)
        self._client_compaction = ClientCompaction(recognizer, compactor, time.time)
        self.replies, self.recall = replies, recall
        self._background: set[asyncio.Task[None]] = set()

    async def serve(self, request: ClientRequest, send: Send) -> None:
        """Answer one generation request."""
        request = await self.recall.store.prepared(await self.replies.expanded(request))
        target = await self.target(request)
        send = masking(send, target.secrets)
        async with failures_sent(send, request.dialect):
            refuse_account_fields(request, target)
            compaction_reply = request.dialect.compaction_reply(request.body, request.path)
            if compaction_reply is None:
                await self._serve(request, target, send)
                return
            async with self._room(request, target):
                await self._client_compaction.answer(self.outgoing(request, target), compaction_reply, send)

    def outgoing(self, request: ClientRequest, target: Target) -> UpstreamRequest:
        """An upstream request whose conversation is not known yet."""
        model = request.model or target.endpoint.model
        endpoint = target.endpoint_for(request.dialect, request.betas)
        return UpstreamRequest(request, target, model, self.windows.facts(endpoint, model))

    async def target(self, request: ClientRequest) -> Target:
        """The upstream for a client's request."""
        return await self.targets.for_client(request.dialect, bool(client_key(request.named)))

    @property
    def whole_reply_seconds(self) -> float:
        """The timeout for the start of a reply that is not streamed."""
        return self._options.timeouts.whole_reply

    def call(
        self,
        request: ClientRequest,
        target: Target,
        url: str,
        body: bytes,
        method: str = "POST",
        content_type: bytes | None = b"application/json",
        *,
        same: bool | None = None,
    ) -> UpstreamCall:
        """A request to an upstream, with the client's headers and the key that applies.

        `same`: the upstream accepts the client's headers; by default if both speak the same dialect.
        """
        same = request.dialect is target.dialect if same is None else same
        query = sent_query(target.endpoint, request.query) if same and "?" not in url else ""
        return UpstreamCall(
            method=method,
            url=url + query,
            headers=sent_headers(target.endpoint, request.headers, same, content_type),
            body=body,
            provider=target.endpoint.provider,
            model=request.model,
            secrets=target.secrets,
        )

    async def close(self) -> None:
        """Finish background work of requests."""
        await asyncio.gather(*self._background, return_exceptions=True)

    def _room(self, request: ClientRequest, target: Target) -> AbstractAsyncContextManager[None]:
        """Reserve the request in the caller's limits."""
        owner = current_key()
        if owner is None:
            return nullcontext()
        model = request.model or target.endpoint.model
        endpoint = target.endpoint_for(request.dialect, request.betas)
        facts = self.windows.facts(endpoint, model)
        ratio = self.windows.ratio(request.owner, endpoint, model)
        return self._reserve(owner, max_usage(request, facts, ratio, self._compactor.has_writer(model)))

    async def _serve(self, request: ClientRequest, target: Target, send: Send) -> None:
        """Answer a request, in several rounds if its model calls the recall tool."""
        rounds = None
        if request.recalls:
            rounds = RecallRelay(request, send, self.recall, self._keep(request), self._options.reply_bytes)
        following: ClientRequest | None = request
        while following is not None:
            try:
                async with self._room(following, target):
                    following = await self._serve_round(following, target, send, rounds)
            except (ProviderError, UserError) as error:
                if rounds is None or not rounds.has_begun:
                    raise
                await rounds.fail(error)
                return

    def _keep(self, request: ClientRequest) -> Keep | None:
        """Stores the reply, if the caller may continue it by its id."""
        original = request.original or request
        is_kept = original.dialect.keeps_replies and original.dialect.is_stored(original.body)
        return partial(self.replies.keep, original) if is_kept else None

    async def _serve_round(
        self, request: ClientRequest, target: Target, send: Send, rounds: RecallRelay | None
    ) -> ClientRequest | None:
        """Send a request upstream and relay the reply. Returns the request of the next round, if any."""
        out, following = self.outgoing(request, target), None
        await self._recognise_and_compact(out)
        await self.writer.write(out)
        meter = Meter(out, current_key() is not None)
        try:
            answer, refused = await self._send(out, meter)
            try:
                if refused is not None:
                    if rounds is not None and rounds.has_begun:
                        raise self._classified(out, answer, refused)
                    await self._refuse(send, out, answer, refused)
                    return None
                if rounds is not None:
                    following = await rounds.relay(out, answer, meter)
                else:
                    await relay(send, out, answer, self._options.reply_bytes, meter, self._keep(request))
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
        return following

    async def _recognise_and_compact(self, out: UpstreamRequest) -> None:
        """Find the conversation of a request, and compact it if due.

        A token has at least one byte: a request too short to reach any threshold is skipped, unless it has many bytes
        or images for its upstream, or all conversations are stored.
        """
        request = out.client_request
        is_short = len(request.raw) < out.facts.tracking_threshold and not self._store.stores_all
        if request.is_switched_off or (is_short and not may_exceed_limits(request.raw, out.facts)):
            return
        async with self.recognizer.recognised(out) as conversation:
            if conversation is None:
                return
            is_large = out.prompt_tokens(conversation) >= out.facts.tracking_threshold
            if conversation.is_stored or not conversation.is_searched or is_large:
                await self.recognizer.update_from_archive(conversation, out.model)
            if not request.edits_itself:
                tokens = out.prompt_tokens(conversation)
                await self._compactor.compact_if_due(
                    conversation, tokens, out.facts, out.frame.tokens, out.model
                )
                await self._media.fit(out, conversation)
            out.set_view(conversation)

    async def _send(self, out: UpstreamRequest, meter: Meter) -> tuple[UpstreamResponse, bytes | None]:
        """The upstream's answer, and its body if it is a refusal. Refusals that a rewrite avoids are retried."""
        for attempt in range(1, _MAX_ATTEMPTS + 1):
            url = out.target.url_for(out.model, out.client_request.is_stream)
            call = self.call(out.client_request, out.target, url, out.body)
            first_byte = None if out.client_request.is_stream else self._options.timeouts.whole_reply
            note_upstream(
                time.perf_counter(), call.provider, out.model, call.origin.host, out.target.dialect.name
            )
            meter.sent()
            try:
                answer = await self.pool.send(call, first_byte)
                overflow = await self._overflow(out, answer)
            except ProviderTimeout:
                meter.abandoned()
                raise
            except ProviderError:
                meter.refused()
                raise
            if answer.status < 300:
                return answer, None
            meter.refused()
            body = overflow or await answer.read_all(_ERROR_BYTES)
            if attempt == _MAX_ATTEMPTS or answer.status not in _OVERFLOWS:
                break
            if self.writer.stop_asking_for_usage(out, body):
                continue
            if not await self._recovery.recover(out, self._classified(out, answer, body)):
                break
        return answer, body

    async def _overflow(self, out: UpstreamRequest, answer: UpstreamResponse) -> bytes | None:
        """The body of an overflow that is reported in a stream; sets the answer's status to match."""
        if answer.status >= 300 or not out.client_request.is_stream:
            return None
        return await overflow_in(answer, out.target.dialect)

    async def _refuse(self, send: Send, out: UpstreamRequest, answer: UpstreamResponse, body: bytes) -> None:
        """Send an upstream's refusal: verbatim in the same dialect, else translated."""
        dialect, headers = out.client_request.dialect, returned_headers(answer.headers)
        status, error = answer.status, self._classified(out, answer, body)
        if isinstance(error, ContextOverflow) and out.client_request.is_stream:
            event = dialect.overflow_event(_said(error))
            if event is not None:
                await send_whole(send, 200, [EVENTS, *opening_headers(out)], event.encode())
                return
        if out.is_translated:
            keep = {name: value for name, value in headers if name in (b"retry-after", b"request-id")}
            if error.retry_after is not None:  # some providers state it in the body
                keep.setdefault(b"retry-after", str(ceil(error.retry_after)).encode())
            if isinstance(error, AuthenticationFailed) and status == 400:
                status = 401  # Google's status for a wrong key means something else in other dialects
            code = "context_length_exceeded" if isinstance(error, ContextOverflow) else None
            body = jsontext.write(dialect.error_body(status, _said(error), code=code))
            headers = [*keep.items(), (b"content-type", b"application/json")]
        else:
            body = without_keys(body, out.target.secrets)
        await send_whole(send, status, [*headers, *opening_headers(out)], body)

    def _classified(self, out: UpstreamRequest, answer: UpstreamResponse, body: bytes) -> ProviderError:
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

    def _after(self, out: UpstreamRequest, usage: Usage | None, used: UsageRecord | None) -> None:
        """Learn from a reply, in the background."""
        conversation = out.conversation
        if conversation is None:
            return
        if out.memory is not None:
            conversation.remember_cache(out.memory)
        if usage is not None and usage.prompt_tokens:
            conversation.observe(usage.prompt_tokens, out.estimated)
            self.windows.note_ratio(
                out.client_request.owner, out.endpoint, out.model, conversation.anchor.ratio
            )
        if not out.client_request.edits_itself and self._compactor.is_enabled:
            tokens = conversation.anchor.predict(out.estimated)
            sent = conversation.sequence_at(len(out.client_request.messages)) - len(conversation.lead)
            self._compactor.record_request(conversation, tokens, out.facts, sent, out.written)
            self._compactor.prepare(conversation, tokens, out.facts)
        if usage is not None and used is not None and self._store.stores(conversation):
            self._run_in_background(self._note(out, used))

    async def _note(self, out: UpstreamRequest, record: UsageRecord) -> None:
        assert out.conversation is not None
        async with out.conversation.lock:
            try:
                await self._store.used(out.conversation, record)
            except Conflict as error:
                # Another process already has the next request; what is missing is stored with it.
                log.debug("another process recorded a request: %s", error)
            except PlimsollError as error:
                log.warning("a request was not recorded in the archive: %s", error)

    def _run_in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        done: Callable[[asyncio.Task[None]], None] = self._background.discard
        task.add_done_callback(done)


def without_keys(body: bytes, secrets: tuple[str, ...]) -> bytes:
    """A refusal without the gateway's key: providers quote keys, whole or in part."""
    if not secrets:
        return body  # the client sent its own key
    return masked(body.decode("utf-8", "replace"), secrets).encode()


def _said(error: ProviderError) -> str:
    """A failure in the wording that clients recognise."""
    if isinstance(error, ContextOverflow) and error.limit:
        return f"prompt is too long: {error.requested or error.limit + 1} tokens > {error.limit} maximum"
    return str(error)
