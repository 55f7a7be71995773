"""The events of a streamed message -> canonical deltas.

    message_start · (content_block_start · content_block_delta… · content_block_stop)… · message_delta · message_stop

Text, thinking and tool calls are passed on as they arrive; every other block is
collected and passed on whole. Usage is cumulative: later numbers replace earlier
ones, field by field. A stream without `message_stop` was interrupted.
"""

import json
from typing import Any

from plimsoll.dialects.anthropic.reply import decode_reply
from plimsoll.dialects.blocks.arguments import input_of
from plimsoll.dialects.collect import StreamDecoder
from plimsoll.dialects.finish import finish_from_anthropic
from plimsoll.dialects.reply import (
    BlockDelta,
    BlockEnd,
    CitationDelta,
    Delta,
    Failure,
    Finish,
    ReasoningDelta,
    SignatureDelta,
    Start,
    TextDelta,
    ToolCallDelta,
    UsageReport,
)
from plimsoll.dialects.usage import usage_from_anthropic
from plimsoll.messages.untyped import object_of

_TOOL_KEYS = frozenset({"type", "id", "name", "input", "cache_control"})


class AnthropicStreamDecoder(StreamDecoder):
    """Decodes the events of one message."""

    def __init__(self) -> None:
        super().__init__()
        self._usage: dict[str, Any] = {}
        self._block: dict[str, Any] = {}  # the block being streamed, and its arguments so far
        self._json = ""
        self._calls = 0

    def feed_whole(self, body: Any) -> list[Delta]:
        """The deltas of a whole reply, from a server that does not stream."""
        decode_reply(body)  # raises an error if there is no content
        deltas = self.feed("message_start", {"message": body})
        for block in filter(None, map(object_of, body["content"])):
            deltas += self.feed("content_block_start", {"content_block": block})
            for citation in block.get("citations") or ():
                delta = {"type": "citations_delta", "citation": citation}
                deltas += self.feed("content_block_delta", {"delta": delta})
            deltas += self.feed("content_block_stop", {})
        deltas += self.feed("message_delta", {"delta": body, "usage": body.get("usage")})
        return deltas + self.feed("message_stop", {})

    def _deltas(self, event: str | None, data: dict[str, Any] | None) -> list[Delta]:
        if data is None:
            return []
        match str(data.get("type") or event):
            case "message_start":
                message = object_of(data.get("message"))
                start = Start(str(message.get("id") or ""), str(message.get("model") or ""))
                return [start, *self._report(message.get("usage"))]
            case "content_block_start":
                return self._start(object_of(data.get("content_block")))
            case "content_block_delta":
                return self._delta(object_of(data.get("delta")))
            case "content_block_stop":
                return self._stop()
            case "message_delta":
                native = object_of(data.get("delta")).get("stop_reason")
                reason = finish_from_anthropic(native)
                finish: list[Delta] = [Finish(reason, native)] if reason else []
                return finish + self._report(data.get("usage"))
            case "message_stop":
                self._is_whole = True
            case "error":
                error = object_of(data.get("error"))
                return [Failure(str(error.get("type") or "error"), str(error.get("message") or data))]
        return []

    def _report(self, usage: Any) -> list[Delta]:
        self._usage |= {key: value for key, value in object_of(usage).items() if value is not None}
        counted = usage_from_anthropic(self._usage)
        return [UsageReport(counted)] if counted else []

    def _start(self, block: dict[str, Any]) -> list[Delta]:
        self._block, self._json = dict(block), ""
        match block.get("type"):
            case "text":
                return [TextDelta(block["text"])] if block.get("text") else []
            case "thinking":
                # An empty delta opens the block, because hidden thinking has only a signature.
                shown = ReasoningDelta(str(block.get("thinking") or ""))
                return [shown, *([SignatureDelta(block["signature"])] if block.get("signature") else [])]
            case "tool_use":
                extra = {k: v for k, v in block.items() if k not in _TOOL_KEYS and v is not None}
                index, self._calls = self._calls, self._calls + 1
                extras = {"anthropic": extra} if extra else {}
                return [
                    ToolCallDelta(index, str(block.get("id") or ""), str(block.get("name") or ""), "", extras)
                ]
        return []

    def _delta(self, delta: dict[str, Any]) -> list[Delta]:
        match delta.get("type"):
            case "text_delta":
                return [TextDelta(str(delta.get("text") or ""))]
            case "thinking_delta":
                return [ReasoningDelta(str(delta.get("thinking") or ""))]
            case "signature_delta":
                return [SignatureDelta(str(delta.get("signature") or ""))]
            case "citations_delta":
                return [CitationDelta(object_of(delta.get("citation")))]
            case "input_json_delta":
                piece = str(delta.get("partial_json") or "")
                self._json += piece
                if self._block.get("type") == "tool_use" and piece:
                    return [ToolCallDelta(self._calls - 1, arguments=piece)]
            case _:
                self._grow(delta)
        return []

    def _grow(self, delta: dict[str, Any]) -> None:
        """Apply a delta to an opaque block: append strings, replace everything else."""
        for key, value in delta.items():
            before = self._block.get(key)
            if key != "type":
                self._block[key] = (
                    before + value if isinstance(before, str) and isinstance(value, str) else value
                )

    def _stop(self) -> list[Delta]:
        block, self._block = self._block, {}
        kind = block.get("type")
        if kind in ("text", "thinking"):
            return [BlockEnd()]
        if kind == "tool_use":
            whole = block.get("input")
            if not self._json and whole:
                return [
                    ToolCallDelta(self._calls - 1, arguments=json.dumps(whole, ensure_ascii=False)),
                    BlockEnd(),
                ]
            return [BlockEnd()]
        if self._json:
            block["input"] = input_of(self._json)
        return [BlockDelta(block)] if block else []
