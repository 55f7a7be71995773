"""Canonical deltas -> the chunks of a streamed response.

    text, thoughts … · complete calls · the last chunk with finishReason and usageMetadata

A call is sent once it is complete, because this wire format has no partial calls.
"""

from typing import Any

from plimsoll.dialects.blocks.arguments import input_of
from plimsoll.dialects.blocks.parts import part_from_block
from plimsoll.dialects.gemini.errors import code_of, encode_error
from plimsoll.dialects.gemini.parts import part_to_wire
from plimsoll.dialects.gemini.reply import finish_to_gemini
from plimsoll.dialects.gemini.signatures import signature_of
from plimsoll.dialects.reply import (
    BlockDelta,
    Delta,
    Failure,
    ReasoningDelta,
    SignatureDelta,
    TextDelta,
    ToolCallDelta,
)
from plimsoll.dialects.sequential import SequentialEncoder
from plimsoll.dialects.sse import SseEvent, json_event
from plimsoll.dialects.usage import usage_to_gemini
from plimsoll.messages.untyped import object_of


class GeminiStreamEncoder(SequentialEncoder):
    """Encodes the chunks of one response."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: dict[int, dict[str, Any]] = {}  # calls that are not sent yet

    def _encoded(self, delta: Delta) -> list[SseEvent]:
        match delta:
            case TextDelta(text):
                return self._parts({"text": text}) if text else []
            case ReasoningDelta(text):
                return self._parts({"text": text, "thought": True}) if text else []
            case SignatureDelta(signature):
                return self._parts({"text": "", "thought": True, "thoughtSignature": signature})
            case ToolCallDelta():
                self._collect(delta)
            case BlockDelta(block):
                return self._block(block)
            case Failure(kind, message):
                return [json_event(encode_error(code_of(kind), message))]
        return []

    def _ending(self) -> list[SseEvent]:
        reason, native = (self._finish.reason, self._finish.native) if self._finish else ("stop", None)
        parts = self._whole_calls() or [{"text": ""}]
        candidate = {
            "content": {"role": "model", "parts": parts},
            "finishReason": finish_to_gemini(reason, native),
            "index": 0,
        }
        return [self._event(candidate)]

    def _block(self, block: dict[str, Any]) -> list[SseEvent]:
        if block.get("type") == "redacted_thinking":
            return []
        part = block if block.get("type") == "gemini" else part_from_block(block)
        wire = part_to_wire(part) if part else None
        return self._parts(wire) if wire else []

    def _collect(self, delta: ToolCallDelta) -> None:
        call = self._calls.setdefault(delta.index, {"id": "", "name": "", "arguments": "", "extra": {}})
        call["id"] = call["id"] or delta.id or ""
        call["name"] = call["name"] or delta.name or ""
        call["arguments"] += delta.arguments
        call["extra"] |= delta.extra

    def _whole_calls(self) -> list[dict[str, Any]]:
        calls, self._calls = list(self._calls.values()), {}
        return [_call_part(call) for call in calls]

    def _parts(self, *parts: dict[str, Any]) -> list[SseEvent]:
        content = {"role": "model", "parts": [*self._whole_calls(), *parts]}
        return [self._event({"content": content, "index": 0})]

    def _event(self, candidate: dict[str, Any]) -> SseEvent:
        body: dict[str, Any] = {"candidates": [candidate]}
        if self._usage:
            body["usageMetadata"] = usage_to_gemini(self._usage)
        body |= {"modelVersion": self._model} if self._model else {}
        body |= {"responseId": self._id} if self._id else {}
        return json_event(body)


def _call_part(call: dict[str, Any]) -> dict[str, Any]:
    seal, own = signature_of(call["extra"]), call["extra"].get("gemini")
    function = {"name": call["name"], "args": input_of(call["arguments"])}
    return {
        "functionCall": {"id": call["id"], **function} if call["id"] else function,
        **({"thoughtSignature": seal} if seal else {}),
        **object_of(own),
    }
