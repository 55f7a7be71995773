"""Canonical deltas -> the events of a streamed message.

    message_start · (content_block_start · content_block_delta… · content_block_stop)… · message_delta · message_stop

The last events contain the finish reason and the usage.
"""

import json
from dataclasses import replace
from typing import Any

from plimsoll.dialects.anthropic.reply import encode_error
from plimsoll.dialects.blocks.tool_ids import CallIds
from plimsoll.dialects.error_kinds import anthropic_kind
from plimsoll.dialects.finish import finish_to_anthropic
from plimsoll.dialects.reply import (
    BlockDelta,
    BlockEnd,
    CitationDelta,
    Delta,
    Failure,
    ReasoningDelta,
    SignatureDelta,
    TextDelta,
    ToolCallDelta,
)
from plimsoll.dialects.sequential import SequentialEncoder
from plimsoll.dialects.sse import SseEvent, json_event
from plimsoll.dialects.usage import Usage, usage_to_anthropic
from plimsoll.messages.untyped import object_of

_EMPTY: dict[str, dict[str, Any]] = {
    "text": {"type": "text", "text": ""},
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
}


class AnthropicStreamEncoder(SequentialEncoder):
    """Encodes one message."""

    def __init__(self) -> None:
        super().__init__()
        self._begun = False
        self._index = -1
        self._open: str | None = None
        self._sealed = False
        self._call: int | None = None
        self._ids = CallIds()

    def _encoded(self, delta: Delta) -> list[SseEvent]:
        match delta:
            case TextDelta(text):
                return self._write("text", {"type": "text_delta", "text": text}) if text else []
            case CitationDelta(citation):
                return self._write("text", {"type": "citations_delta", "citation": citation})
            case ReasoningDelta(text):
                return self._write("thinking", {"type": "thinking_delta", "thinking": text})
            case SignatureDelta(signature):
                events = self._write("thinking", {"type": "signature_delta", "signature": signature})
                self._sealed = True
                return events
            case ToolCallDelta():
                return self._tool(delta)
            case BlockDelta(block):
                return self._whole(block)
            case BlockEnd():
                return self._close()
            case Failure(kind, message):
                return self.fail(kind, message)
        return []

    def _ending(self) -> list[SseEvent]:
        events = self._first() + self._close()
        reason, native = (self._finish.reason, self._finish.native) if self._finish else ("stop", None)
        ended = {"stop_reason": finish_to_anthropic(reason, native), "stop_sequence": None}
        last = {"type": "message_delta", "delta": ended, "usage": usage_to_anthropic(self._usage)}
        return [*events, _event(last), _event({"type": "message_stop"})]

    def fail(self, kind: str, message: str) -> list[SseEvent]:
        """The event that ends the stream with an error."""
        return [_event(encode_error(anthropic_kind(kind), message))]

    def _first(self) -> list[SseEvent]:
        if self._begun:
            return []
        self._begun = True
        message: dict[str, Any] = {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "model": self._model,
        }
        message |= {"content": [], "stop_reason": None, "stop_sequence": None}
        usage = replace(self._usage or Usage(), reasoning_tokens=None)
        return [_event({"type": "message_start", "message": {**message, "usage": usage_to_anthropic(usage)}})]

    def _begin(self, block: dict[str, Any]) -> list[SseEvent]:
        events = self._first()
        self._index += 1
        self._open, self._sealed = str(block.get("type")), False
        start = {"type": "content_block_start", "index": self._index, "content_block": block}
        return [*events, _event(start)]

    def _close(self) -> list[SseEvent]:
        """End the open block."""
        is_open = self._open is not None
        self._open = self._call = None
        return [_event({"type": "content_block_stop", "index": self._index})] if is_open else []

    def _whole(self, block: dict[str, Any]) -> list[SseEvent]:
        arguments = block.get("input")
        if not isinstance(arguments, dict) or not arguments:
            return [*self._close(), *self._begin(block), *self._close()]
        # Clients assemble the input from the deltas only.
        text = json.dumps(arguments, ensure_ascii=False)
        begun = [*self._close(), *self._begin({**block, "input": {}})]
        return [*begun, self._step({"type": "input_json_delta", "partial_json": text}), *self._close()]

    def _write(self, kind: str, step: dict[str, Any]) -> list[SseEvent]:
        events: list[SseEvent] = []
        if self._open != kind or (self._sealed and step["type"] == "thinking_delta"):
            events = self._close() + self._begin(_EMPTY[kind])
        return events if step == {"type": "thinking_delta", "thinking": ""} else [*events, self._step(step)]

    def _tool(self, delta: ToolCallDelta) -> list[SseEvent]:
        events: list[SseEvent] = []
        if self._call != delta.index:
            events = self._close()
            self._call = delta.index
            extra = delta.extra.get("anthropic")
            block = {"type": "tool_use", "id": self._ids.for_call(delta.id or ""), "name": delta.name or ""}
            events += self._begin({**block, "input": {}, **object_of(extra)})
        if delta.arguments:
            events.append(self._step({"type": "input_json_delta", "partial_json": delta.arguments}))
        return events

    def _step(self, step: dict[str, Any]) -> SseEvent:
        return _event({"type": "content_block_delta", "index": self._index, "delta": step})


def _event(data: dict[str, Any]) -> SseEvent:
    return json_event(data, str(data["type"]))
