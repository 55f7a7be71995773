"""Sends one request to one endpoint, without retries: HTTP out, the canonical reply or its steps back.

    ChatRequest ─► encode ─► POST ─┬─► 300 and above ─► classify ─► error
                                   ├─► whole body ────► decode ───► Reply
                                   └─► events ────────► decode ───► steps, as they arrive

A server that does not stream answers a streaming request with a whole body; that is accepted as the reply, and its
steps come out at once. Every failure is a `ProviderError`. When the caller is cancelled, the connection is closed at
once.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import httpx

from plimsoll.dialects import ChatRequest, Delta, Failure, Reply, SseEvent, SseParser
from plimsoll.dialects.interfaces import ReplyDecoder
from plimsoll.errors import BrokenReply, MalformedReply, ProviderError, ProviderTimeout
from plimsoll.messages.printable import one_line
from plimsoll.providers.endpoint import Endpoint
from plimsoll.providers.error_messages import ErrorSource, error_for
from plimsoll.providers.failures import classify
from plimsoll.providers.reply_content import has_answer, is_answer_content
from plimsoll.secrets import masked, without_whole_keys

T = TypeVar("T")
_ERROR_BYTES = 64_000
_LAST_CHUNK = 1.0  # seconds to wait for the end of a stream after its last event


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds to wait for each step of a request."""

    connect: float = 10.0
    first_byte: float = 120.0  # of a stream, from the request to the first byte of its answer
    between_chunks: float = 90.0
    whole_reply: float = 600.0  # of a reply that is not streamed


class Transport:
    """Sends requests over one connection pool. `ends`, if given, is a time of `clock`."""

    def __init__(
        self,
        endpoint: Endpoint,
        timeouts: Timeouts,
        clock: Callable[[], float],
        wall_clock: Callable[[], float],
    ) -> None:
        self._endpoint, self._timeouts = endpoint, timeouts
        self._clock, self._wall_clock = clock, wall_clock
        self._dialect = endpoint.wire
        self._http = httpx.AsyncClient(
            timeout=httpx.Timeout(None, connect=timeouts.connect),
            verify=endpoint.url.startswith("https:"),  # certificates are slow to load and useless without TLS
            trust_env=not endpoint.is_loopback,  # no proxy for servers on this machine
        )

    async def aclose(self) -> None:
        """Close every connection."""
        await self._http.aclose()

    def decoder(self) -> ReplyDecoder:
        """A decoder for one streamed reply."""
        return self._dialect.decoder()

    async def ask(self, request: ChatRequest, ends: float | None) -> Reply:
        """The whole reply."""
        sent_at = self._clock()
        async with self._answer(replace(request, stream=False), self._timeouts.whole_reply, ends) as response:
            data = await self._whole(response, sent_at, ends)
        try:
            reply = self._dialect.decode_reply(data)
        except MalformedReply as error:
            raise self._error("broken", str(error)) from None
        if not has_answer(reply):
            raise self._error("empty")
        return reply

    async def stream(
        self, request: ChatRequest, decoder: ReplyDecoder, ends: float | None
    ) -> AsyncGenerator[Delta, None]:
        """The steps of the reply; the first one is a piece of the answer, or the end of a reply without one."""
        pending: list[Delta] | None = []
        sent_at = self._clock()
        async with (
            self._answer(replace(request, stream=True), self._timeouts.first_byte, ends) as response,
            aclosing(self._steps(response, decoder, sent_at, ends)) as steps,
        ):
            async for delta in steps:
                if pending is None:
                    yield delta
                    continue
                pending.append(delta)
                if is_answer_content(delta):
                    for earlier in pending:
                        yield earlier
                    pending = None
        if not decoder.complete:
            raise self._error("broken", "cut off before its end")
        if not has_answer(decoder.reply()):
            raise self._error("empty")
        for earlier in pending or ():
            yield earlier

    async def _steps(
        self, response: httpx.Response, decoder: ReplyDecoder, sent_at: float, ends: float | None
    ) -> AsyncGenerator[Delta, None]:
        """The steps of a reply, streamed or not."""
        if "json" in response.headers.get("content-type", ""):
            data = await self._whole(response, sent_at, ends)
            for delta in self._decoded(partial(decoder.feed_whole, data)):
                yield delta
            return
        async with aclosing(self._events(response, decoder, sent_at, ends)) as events:
            async for event in events:
                for delta in self._decoded(partial(_fed, decoder, event)):
                    yield delta

    async def _whole(self, response: httpx.Response, sent_at: float, ends: float | None) -> Any:
        """The body of an unstreamed reply; its time limit started with the request."""
        allowed = self._timeouts.whole_reply
        left = max(0.0, allowed - (self._clock() - sent_at))
        late = f"it was incomplete after {allowed:.3g} s"
        body = await self._within(response.aread(), left, ends, late=late)
        try:
            text = body.decode(json.detect_encoding(body), "surrogatepass")
            data = json.loads(without_whole_keys(text, self._secrets))
        except (ValueError, RecursionError):
            raise self._error("broken", f"not JSON: {body[:200].decode('utf-8', 'replace')}") from None
        if isinstance(data, dict) and self._dialect.is_error(data):
            raise self._classified(response.status_code, body, dict(response.headers))
        return data

    async def _events(
        self, response: httpx.Response, decoder: ReplyDecoder, sent_at: float, ends: float | None
    ) -> AsyncGenerator[SseEvent, None]:
        """The events of a stream until it ends, with or without an end marker."""
        parser, chunks = SseParser(), response.aiter_bytes()
        timeout = max(0.0, self._timeouts.first_byte - (self._clock() - sent_at))
        while True:
            try:
                chunk = await self._within(anext(chunks, None), timeout, ends)
            except (BrokenReply, ProviderTimeout):
                if decoder.complete:  # only the end marker is missing
                    return
                raise
            if chunk is None:
                return
            timeout = self._timeouts.between_chunks
            for event in parser.feed(chunk):
                if event.data.strip():
                    yield replace(event, data=without_whole_keys(event.data, self._secrets))
                if event.is_done or (decoder.complete and not self._dialect.has_end_mark):
                    # Reading to the end returns the connection to the pool.
                    timeout = _LAST_CHUNK

    def _decoded(self, decode: Callable[[], list[Delta]]) -> list[Delta]:
        try:
            deltas = decode()
        except MalformedReply as error:
            raise self._error("broken", str(error)) from None
        for delta in deltas:
            if isinstance(delta, Failure):
                raise self._failure(delta)
        return deltas

    @asynccontextmanager
    async def _answer(
        self, request: ChatRequest, timeout: float, ends: float | None
    ) -> AsyncIterator[httpx.Response]:
        """The answer to a request, after its head was read and is not a refusal."""
        endpoint = self._endpoint
        body = self._dialect.encode_request(replace(request, model=endpoint.model or request.model))
        # Characters that cannot be encoded are written as JSON escapes.
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(
            "utf-8", "backslashreplace"
        )
        wire = self._http.build_request(
            "POST",
            endpoint.url_for(is_stream=request.stream),
            content=content,
            headers=endpoint.request_headers(),
        )
        response = await self._within(self._http.send(wire, stream=True), timeout, ends, sending=True)
        try:
            if response.status_code >= 300:
                body_start = await self._start_of(response, ends)
                raise self._classified(response.status_code, body_start, dict(response.headers))
            yield response
        finally:
            await response.aclose()

    async def _start_of(self, response: httpx.Response, ends: float | None) -> bytes:
        """The start of an error's body; empty if the body does not arrive, so that the status is not lost."""
        body = bytearray()

        async def read() -> None:
            async for chunk in response.aiter_bytes():
                body.extend(chunk)
                if len(body) >= _ERROR_BYTES:
                    return

        with suppress(BrokenReply, ProviderTimeout):
            # One limit for the whole body: a trickling body would never time out otherwise.
            await self._within(read(), self._timeouts.connect, ends)
        return bytes(body)

    async def _within(
        self,
        awaited: Awaitable[T],
        timeout: float,
        ends: float | None,
        *,
        sending: bool = False,
        late: str = "",
    ) -> T:
        """Await with a time limit, and translate the transport's errors."""
        left = timeout if ends is None else max(0.0, min(timeout, ends - self._clock()))
        with self._transport_errors(sending):
            try:
                async with asyncio.timeout(left):
                    return await awaited
            except TimeoutError:
                late = late or f"nothing arrived for {timeout:.3g} s"
                raise self._error("timeout", "the deadline has passed" if left < timeout else late) from None

    @contextmanager
    def _transport_errors(self, sending: bool) -> Iterator[None]:
        try:
            yield
        except httpx.ConnectTimeout:
            raise self._error("timeout", f"no connection within {self._timeouts.connect:g} s") from None
        except (httpx.TransportError, httpx.DecodingError) as error:
            words = str(error) or type(error).__name__
            if not sending:
                raise self._error("broken", words) from None
            raise self._error("network", f"{self._endpoint.place}: {words}") from None

    def _error(self, kind: str, words: str = "") -> ProviderError:
        source = ErrorSource(
            self._endpoint.provider, self._endpoint.model, words=one_line(masked(words, self._secrets))
        )
        return error_for(kind, source)

    def _failure(self, failure: Failure) -> ProviderError:
        body = json.dumps({"error": {"type": failure.kind, "message": failure.message}})
        return self._classified(None, body.encode(), {})

    def _classified(self, status: int | None, body: bytes, headers: dict[str, Any]) -> ProviderError:
        return classify(
            status,
            body,
            headers,
            self._endpoint.provider,
            model=self._endpoint.model,
            secrets=self._secrets,
            now=self._wall_clock(),
            dialect=self._dialect,
        )

    @property
    def _secrets(self) -> tuple[str, ...]:
        return (self._endpoint.key,) if self._endpoint.key else ()


def _fed(decoder: ReplyDecoder, event: SseEvent) -> list[Delta]:
    return decoder.feed(event.event, event.decoded())
