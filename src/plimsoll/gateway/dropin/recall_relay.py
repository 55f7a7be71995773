"""Relays an answer in several rounds: the gateway answers recall calls, and the client sees one reply.

    upstream   text, call of the tool ─► result ─► text ─► …
    client     text,                               text

A stream is passed on event by event until its first recall call. From then on, the gateway encodes the client's
events. The client's own calls go to the client; the results of the tool wait for theirs.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from plimsoll.dialects import (
    Delta,
    Finish,
    Reply,
    SseEvent,
    SseParser,
    Start,
    ToolCallDelta,
    Usage,
    UsageReport,
)
from plimsoll.dialects.collect import Collector
from plimsoll.dialects.reply import BlockEnd
from plimsoll.dialects.sse import json_event
from plimsoll.errors import BrokenReply, MalformedReply, ProviderError
from plimsoll.gateway.asgi import Send
from plimsoll.gateway.dropin.client_request import ClientRequest
from plimsoll.gateway.dropin.metering import Meter
from plimsoll.gateway.dropin.recall_definition import NAME, recall_calls, without_recall_calls
from plimsoll.gateway.dropin.recall_exchanges import exchange_of
from plimsoll.gateway.dropin.recall_store import RecallStore
from plimsoll.gateway.dropin.recall_tool import RecallTool
from plimsoll.gateway.dropin.relay import Keep, broken_off, is_stream, request_ids
from plimsoll.gateway.dropin.response_headers import closing_comment, opening_headers, whole_headers
from plimsoll.gateway.dropin.upstream_request import UpstreamRequest
from plimsoll.gateway.http import jsontext
from plimsoll.gateway.http.responses import EVENTS, JSON, send_whole
from plimsoll.gateway.upstream.headers import returned_headers
from plimsoll.gateway.upstream.pool import UpstreamResponse
from plimsoll.messages import Message, tool_calls
from plimsoll.models import estimate_messages_tokens_rough

_NAME_BYTES = NAME.encode()


@dataclass(frozen=True, slots=True)
class RecallParts:
    """What every answer with the recall tool needs; the limits on rounds and recalled tokens apply per answer."""

    store: RecallStore
    tool: RecallTool
    rounds: int
    tokens: int


class VisibleSteps:
    """The steps of a reply that the client sees: one start, no recall calls, one end."""

    def __init__(self) -> None:
        self.collector = Collector()
        self.has_recall = False  # in any round so far
        self.finish: Finish | None = None
        self._has_started = False
        self._hidden: set[int] = set()
        self._numbers: dict[int, int] = {}
        self._calls = 0  # of the client's own tools

    def next_round(self) -> list[Delta]:
        """The separator between two rounds."""
        self._hidden, self._numbers = set(), {}
        return [BlockEnd()]

    def seen(self, deltas: Sequence[Delta]) -> list[Delta]:
        """The steps that the client sees now. The end is held back."""
        kept = [visible for delta in deltas if (visible := self._seen(delta)) is not None]
        self.collector.add(kept)
        return kept

    def _seen(self, delta: Delta) -> Delta | None:
        match delta:
            case Start():
                if self._has_started:
                    return None
                self._has_started = True
            case Finish():
                self.finish = delta
                return None
            case UsageReport():
                return None
            case ToolCallDelta():
                return self._call(delta)
        return delta

    def _call(self, delta: ToolCallDelta) -> Delta | None:
        if delta.name == NAME:
            self._hidden.add(delta.index)
            self.has_recall = True
        if delta.index in self._hidden:
            return None
        if delta.index not in self._numbers:
            self._numbers[delta.index] = self._calls
            self._calls += 1
        return replace(delta, index=self._numbers[delta.index])


class RecallRelay:
    """One answer to one request. `relay` takes the reply of each round and returns the request of the next."""

    def __init__(
        self,
        request: ClientRequest,
        send: Send,
        parts: RecallParts,
        keep: Keep | None,
        max_bytes: int,
    ) -> None:
        self._request, self._send, self._keep, self._max_bytes = request, send, keep, max_bytes
        self._store, self._tool = parts.store, parts.tool
        self._rounds_left, self._tokens_left = parts.rounds, parts.tokens
        self._rounds: list[list[Message]] = []
        self._usage: Usage | None = None
        self._steps = VisibleSteps()
        self._asked = (request.original or request).body
        wants_usage = not request.dialect.can_ask_for_usage(self._asked)
        self._encoder = request.dialect.encoder(self._asked, int(time.time()), wants_usage)
        self.has_begun = False  # the client has received the start of a stream
        self._begun = b""  # the first events that the client received
        self._is_encoded = False

    async def relay(
        self, out: UpstreamRequest, answer: UpstreamResponse, meter: Meter
    ) -> ClientRequest | None:
        """Relay one round. Returns the request of the next one, or None if the answer is complete."""
        if not self._request.is_stream:
            return await self._whole(out, answer, meter)
        return await self._stream(out, answer, meter)

    async def fail(self, error: Exception) -> None:
        """End a stream that has begun with an error event."""
        last = broken_off(self._request.dialect, error, self._begun)
        await self._send({"type": "http.response.body", "body": last})

    # A reply that is not streamed

    async def _whole(
        self, out: UpstreamRequest, answer: UpstreamResponse, meter: Meter
    ) -> ClientRequest | None:
        body, dialect = await answer.read_all(self._max_bytes), out.client_request.dialect
        try:
            reply = out.target.dialect.decode_reply(jsontext.read(body))
        except (MalformedReply, ValueError, RecursionError) as error:
            raise BrokenReply(f"The upstream's reply cannot be read: {error}", status=502) from None
        meter.received(body)
        meter.reported, meter.is_final = reply.usage, reply.usage is not None
        self._usage = added(self._usage, reply.usage)
        shown = without_recall_calls(reply.message)
        following = await self._following(out, reply.message, shown)
        if following is not None:
            return following
        finish = "stop" if recall_calls(reply.message) and not tool_calls(shown) else reply.finish_reason
        seen = replace(reply, message=shown, finish_reason=finish, usage=self._usage)
        if self._keep is not None:
            await self._keep(seen)
        is_unchanged = not self._rounds and shown is reply.message
        if is_unchanged and not out.is_translated:
            headers = [*returned_headers(answer.headers), *whole_headers(out, reply.usage)]
            if _NAME_BYTES in body:
                body = jsontext.write(dialect.without_tool(jsontext.read(body), NAME))
        else:
            written = dialect.encode_reply(seen, self._asked, int(time.time()))
            headers = [JSON, *request_ids(answer.headers), *whole_headers(out, self._usage)]
            body = jsontext.write(written)
        await send_whole(self._send, answer.status, headers, body)
        return None

    # Streaming

    async def _stream(
        self, out: UpstreamRequest, answer: UpstreamResponse, meter: Meter
    ) -> ClientRequest | None:
        await self._begin(out, answer)
        decoder = out.target.dialect.decoder()
        try:
            if is_stream(answer.headers):
                parser = SseParser()
                while piece := await answer.read_chunk():
                    for event in parser.feed(piece):
                        deltas = decoder.feed(event.event, event.decoded()) if event.data.strip() else []
                        _note_usage(deltas, meter)
                        await self._pass_on(out, event, deltas, meter)
            else:
                deltas = decoder.feed_whole(jsontext.read(await answer.read_all(self._max_bytes)))
                _note_usage(deltas, meter)
                self._is_encoded = True
                await self._pass_on(out, None, deltas, meter)
            if decoder.failure is None and not decoder.complete:
                raise BrokenReply("The upstream's reply was cut off.", status=502)
        except (ProviderError, MalformedReply, ValueError, RecursionError) as error:
            await self.fail(error)
            return None
        if decoder.failure is not None:
            await self._send({"type": "http.response.body", "body": closing_comment(out, meter.reported)})
            return None
        meter.is_final = meter.reported is not None
        self._usage = added(self._usage, meter.reported)
        reply: Reply = decoder.reply()
        following = await self._following(out, reply.message, self._steps.collector.reply().message)
        if following is None:
            await self._end(out, reply)
        elif self._is_encoded:
            await self._write(self._steps.seen(self._steps.next_round()), meter)
        return following

    async def _begin(self, out: UpstreamRequest, answer: UpstreamResponse) -> None:
        if self.has_begun:
            self._is_encoded = True
            return
        self.has_begun, self._is_encoded = True, out.is_translated
        headers = [EVENTS, *request_ids(answer.headers)]
        if not out.is_translated and is_stream(answer.headers):
            headers = list(returned_headers(answer.headers))
        await self._send(
            {
                "type": "http.response.start",
                "status": answer.status,
                "headers": [*headers, *opening_headers(out)],
            }
        )

    async def _pass_on(
        self, out: UpstreamRequest, event: SseEvent | None, deltas: Sequence[Delta], meter: Meter
    ) -> None:
        seen = self._steps.seen(deltas)
        self._is_encoded = self._is_encoded or self._steps.has_recall
        if self._is_encoded or event is None:
            await self._write(seen, meter)
            return
        for delta in seen:
            self._encoder.encode(delta)  # keeps the encoder's state current in case the tool is called
        data = self._without_tool(event).encode()
        meter.received(data)
        if out.asks_for_usage:
            data = self._request.dialect.without_usage(data)
        await self._send_more(data)

    async def _send_more(self, data: bytes) -> None:
        if data:
            self._begun = self._begun or data
            await self._send({"type": "http.response.body", "body": data, "more_body": True})

    def _without_tool(self, event: SseEvent) -> SseEvent:
        """The event without the recall tool, if the upstream repeats the request's tools in it."""
        data = event.decoded() if NAME in event.data else None
        if data is None:
            return event
        return json_event(self._request.dialect.without_tool(data, NAME), event.event)

    async def _write(self, deltas: Sequence[Delta], meter: Meter) -> None:
        data = b"".join(event.encode() for delta in deltas for event in self._encoder.encode(delta))
        meter.received(data)
        await self._send_more(data)

    async def _end(self, out: UpstreamRequest, reply: Reply) -> None:
        last = b""
        finish = self._steps.finish or Finish("stop")
        message = self._steps.collector.reply().message
        if recall_calls(reply.message) and not tool_calls(message):
            finish = Finish("stop")  # no rounds left: its calls are not answered
        if self._is_encoded:
            ends: list[Delta] = [finish, *([UsageReport(self._usage)] if self._usage else [])]
            events = [event for delta in ends for event in self._encoder.encode(delta)]
            last = b"".join(event.encode() for event in [*events, *self._encoder.finish()])
        if self._keep is not None:
            shown = reply if not self._rounds else replace(reply, message=message)
            shown = replace(shown, message=without_recall_calls(shown.message))
            await self._keep(replace(shown, id=self._steps.collector.reply().id or reply.id))
        await self._send({"type": "http.response.body", "body": last + closing_comment(out, self._usage)})

    # The next round

    async def _following(
        self, out: UpstreamRequest, message: Message, shown: Message
    ) -> ClientRequest | None:
        """The request of the next round. After the last round, store the exchanges that it hides."""
        calls = recall_calls(message)
        is_mixed = len(tool_calls(message)) > len(calls)
        if calls and not is_mixed and self._rounds_left:
            self._rounds_left -= 1
            added_messages = [message, *await self._results(out, message)]
            self._rounds.append(added_messages)
            return _with_round(out.client_request, added_messages)
        results = await self._results(out, message) if calls and is_mixed else []
        if self._rounds or results:
            last = message if is_mixed else without_recall_calls(message)
            await self._store.keep(self._request, exchange_of(self._rounds, last, results, shown))
        return None

    async def _results(self, out: UpstreamRequest, message: Message) -> list[Message]:
        results = await self._tool.results(message, out.conversation, self._tokens_left)
        self._tokens_left -= estimate_messages_tokens_rough(results)
        return results


def _with_round(request: ClientRequest, messages: Sequence[Message]) -> ClientRequest:
    """The request that continues after these messages."""
    written = request.dialect.written(messages, request.model)
    body = request.dialect.with_messages(request.body, [*request.messages, *written])
    return replace(request, body=body, raw=jsontext.write(body), analysis=None)


def _note_usage(deltas: Sequence[Delta], meter: Meter) -> None:
    for delta in deltas:
        if isinstance(delta, UsageReport):
            meter.reported = delta.usage


def added(first: Usage | None, other: Usage | None) -> Usage | None:
    """The sum of two usages; what neither reports stays unknown."""
    if first is None or other is None:
        return first or other
    sums: dict[str, Any] = {}
    for field in fields(Usage):
        values = [
            value for value in (getattr(first, field.name), getattr(other, field.name)) if value is not None
        ]
        sums[field.name] = sum(values) if values else None
    return Usage(**sums)
