"""Relays a reply to the client: unchanged if both sides speak the same dialect, else translated as it arrives.

    upstream ── bytes ──────────────────────────────► client
    upstream ── events ─► steps ─► events ──────────► client

A stream that breaks off ends with an error event in the client's dialect.
"""

import re
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import cache

from plimsoll.dialects import Delta, Dialect, Failure, Reply, SseEvent, SseParser, Usage, UsageReport
from plimsoll.errors import BrokenReply, MalformedReply, ProviderError
from plimsoll.gateway.asgi import Header, Send
from plimsoll.gateway.dropin.metering import Meter
from plimsoll.gateway.dropin.response_headers import closing_comment, opening_headers, whole_headers
from plimsoll.gateway.dropin.upstream_request import UpstreamRequest
from plimsoll.gateway.dropin.usage_watch import UsageWatch, usage_in
from plimsoll.gateway.http import jsontext
from plimsoll.gateway.http.masking import without
from plimsoll.gateway.http.responses import EVENTS, JSON, send_whole
from plimsoll.gateway.upstream.headers import returned_headers
from plimsoll.gateway.upstream.pool import UpstreamResponse

_LONGEST_EVENT = 1_000_000  # bytes held back until their event is complete


Keep = Callable[[Reply], Awaitable[None]]


class ReplyReader:
    """Reads a stream that is passed on as bytes; calls `keep` with the reply as soon as it is complete.

    Only events of `Dialect.reply_events` are parsed: a reply has hundreds of others, which they repeat.
    """

    def __init__(self, dialect: Dialect, keep: Keep) -> None:
        self._parser, self._decoder, self._keep = SseParser(), dialect.decoder(), keep
        self._is_needed = _signs_of(dialect.reply_events).search
        self._is_done = self._is_inside = False

    async def feed(self, events: bytes) -> None:
        """Add whole events, or a part of a long one."""
        if self._is_done:
            return
        is_whole, was_inside = events.endswith((b"\n\n", b"\r\n\r\n")), self._is_inside
        self._is_inside = not is_whole
        if is_whole and not was_inside:
            if not self._is_needed(events):
                return
            events = b"\n\n".join(filter(self._is_needed, events.split(b"\n\n"))) + b"\n\n"
        try:
            for event in self._parser.feed(events):
                if event.data.strip():
                    self._decoder.feed(event.event, event.decoded())
        except MalformedReply:
            self._is_done = True  # not readable: the client gets it unchanged
        if self._decoder.complete:
            self._is_done = True
            await self._keep(self._decoder.reply())


@cache
def _signs_of(events: tuple[str, ...]) -> re.Pattern[bytes]:
    """Finds the events of these types; without types, finds any event."""
    return re.compile(b"|".join(re.escape(f'"{name}"'.encode()) for name in events))


async def relay(
    send: Send,
    out: UpstreamRequest,
    answer: UpstreamResponse,
    max_bytes: int,
    meter: Meter,
    keep: Keep | None,
) -> None:
    """Send a reply to the client and report its usage to the meter.

    `keep` gets the reply before the client has all of it, so that a client may refer to it at once.
    """
    if out.is_translated:
        pass_on = _translated_stream if out.client_request.is_stream else _translated_whole
        await pass_on(send, out, answer, max_bytes, meter, keep)
    elif is_stream(answer.headers):
        await _stream(
            send, out, answer, meter, ReplyReader(out.client_request.dialect, keep) if keep else None
        )
    else:
        body = await answer.read_all(max_bytes)
        reply = _decoded(out.client_request.dialect, body) if keep is not None else None
        usage = usage_in(out.client_request.dialect, body) if reply is None else reply.usage
        _meter_whole(meter, body, usage)
        if keep is not None and reply is not None:
            await keep(reply)
        headers = [*returned_headers(answer.headers), *whole_headers(out, usage)]
        await send_whole(send, answer.status, headers, body)


def _decoded(dialect: Dialect, body: bytes) -> Reply | None:
    try:
        return dialect.decode_reply(jsontext.read(body))
    except (MalformedReply, ValueError, RecursionError):
        return None  # not readable: the client gets it unchanged


def _meter_whole(meter: Meter, body: bytes, usage: Usage | None) -> None:
    meter.received(body)
    meter.reported, meter.is_final = usage, usage is not None


async def _stream(
    send: Send, out: UpstreamRequest, answer: UpstreamResponse, meter: Meter, reader: ReplyReader | None
) -> None:
    watch, without_usage = UsageWatch(out.client_request.dialect), out.client_request.dialect.without_usage
    headers = [*returned_headers(answer.headers), *opening_headers(out)]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    begun, rest, keys = b"", b"", [secret.encode() for secret in out.target.secrets if secret]
    try:
        while piece := await answer.read_chunk():
            watch.feed(piece)
            meter.received(piece)
            whole, rest = _whole_events(rest + piece if rest else piece, keys)
            if whole and reader is not None:
                await reader.feed(whole)
            if whole and out.asks_for_usage:
                whole = without_usage(whole)
            if whole:
                begun = begun or whole
                await send({"type": "http.response.body", "body": whole, "more_body": True})
        if rest and reader is not None:
            await reader.feed(rest)
        rest = without_usage(rest) if out.asks_for_usage else rest
        last = rest + closing_comment(out, watch.usage())
    except ProviderError as error:
        last = broken_off(out.client_request.dialect, error, begun)
    finally:
        meter.watched(watch)
    await send({"type": "http.response.body", "body": last})


async def _translated_whole(
    send: Send,
    out: UpstreamRequest,
    answer: UpstreamResponse,
    max_bytes: int,
    meter: Meter,
    keep: Keep | None,
) -> None:
    body = await answer.read_all(max_bytes)
    try:
        reply: Reply = out.target.dialect.decode_reply(jsontext.read(body))
    except (MalformedReply, ValueError, RecursionError) as error:
        raise BrokenReply(f"The upstream's reply cannot be read: {error}", status=502) from None
    _meter_whole(meter, body, reply.usage)
    if keep is not None:
        await keep(reply)
    written = out.client_request.dialect.encode_reply(reply, out.client_request.body, int(time.time()))
    headers = [JSON, *request_ids(answer.headers), *whole_headers(out, reply.usage)]
    await send_whole(send, answer.status, headers, jsontext.write(written))


async def _translated_stream(
    send: Send,
    out: UpstreamRequest,
    answer: UpstreamResponse,
    max_bytes: int,
    meter: Meter,
    keep: Keep | None,
) -> None:
    decoder = out.target.dialect.decoder()
    wants_usage = out.canonical is not None and out.canonical.include_usage
    encoder = out.client_request.dialect.encoder(out.client_request.body, int(time.time()), wants_usage)
    headers = [EVENTS, *request_ids(answer.headers), *opening_headers(out)]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})

    begun = b""

    async def pass_on(deltas: Sequence[Delta]) -> None:
        nonlocal begun
        events: list[SseEvent] = []
        for delta in deltas:
            if isinstance(delta, UsageReport):
                meter.reported = delta.usage
            events += encoder.encode(delta)
        if events:
            data = b"".join(event.encode() for event in events)
            meter.received(data)
            begun = begun or data
            await send({"type": "http.response.body", "body": data, "more_body": True})

    try:
        if is_stream(answer.headers):
            parser = SseParser()
            while piece := await answer.read_chunk():
                for event in parser.feed(piece):
                    if event.data.strip():
                        await pass_on(decoder.feed(event.event, event.decoded()))
        else:
            await pass_on(decoder.feed_whole(jsontext.read(await answer.read_all(max_bytes))))
        failure: Failure | None = decoder.failure
        if failure is None and not decoder.complete:
            raise BrokenReply("The upstream's reply was cut off.", status=502)
        meter.is_final = meter.reported is not None and failure is None
        ended = [] if failure else encoder.finish()
        last = b"".join(event.encode() for event in ended) + closing_comment(out, meter.reported)
    except (ProviderError, MalformedReply, ValueError, RecursionError) as error:
        last = broken_off(out.client_request.dialect, error, begun)
    if keep is not None and decoder.complete:
        await keep(decoder.reply())
    await send({"type": "http.response.body", "body": last})


def broken_off(dialect: Dialect, error: Exception, begun: bytes) -> bytes:
    """The error event that ends an interrupted stream; `begun` is what the client received first."""
    first = next(iter(SseParser().feed(begun)), None)
    return dialect.failure_event(500, str(error), first).encode()


def _whole_events(piece: bytes, keys: Sequence[bytes] = ()) -> tuple[bytes, bytes]:
    """The bytes to pass on and the bytes to hold back: an error in the middle of an event would be unreadable.

    An event that is too long to hold back is passed on in parts. The `keys` are masked before it is split, because
    half a key would not be recognised.
    """
    if piece.endswith(b"\n\n"):
        return piece, b""
    cut = max(piece.rfind(b"\n\n") + 2, piece.rfind(b"\r\n\r\n") + 4)
    if cut < 4 or len(piece) - cut > _LONGEST_EVENT:
        if len(piece) <= _LONGEST_EVENT:
            return b"", piece
        safe = len(piece) - max(map(len, keys), default=0)
        piece = without(piece, keys)
        return piece[:safe], piece[safe:]
    return piece[:cut], piece[cut:]


def is_stream(headers: Sequence[Header]) -> bool:
    """Whether a reply is an event stream."""
    return any(name == b"content-type" and b"event-stream" in value.lower() for name, value in headers)


def request_ids(headers: Sequence[Header]) -> list[Header]:
    """The headers that identify the request at its provider."""
    return [(name, value) for name, value in headers if name in (b"request-id", b"x-request-id")]
