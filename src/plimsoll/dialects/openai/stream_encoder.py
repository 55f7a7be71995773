"""Canonical deltas -> the chunks of a streamed chat completion.

    role · text, thinking, calls … · finish_reason · usage (if requested) · [DONE]

Reason and usage are sent at the end. Blocks without an equivalent are omitted.
"""

from typing import Any

from plimsoll.dialects.error_kinds import openai_kind
from plimsoll.dialects.openai.reply import encode_error
from plimsoll.dialects.reply import (
    BlockDelta,
    Delta,
    Failure,
    Finish,
    MessageDelta,
    ReasoningDelta,
    SignatureDelta,
    Start,
    TextDelta,
    ToolCallDelta,
    UsageReport,
)
from plimsoll.dialects.sse import DONE, SseEvent, json_event
from plimsoll.dialects.usage import Usage, usage_to_openai


class OpenAiStreamEncoder:
    """Call `encode()` with each delta and `finish()` at the end. `created` is the time in seconds.

    `legacy`: the client uses the legacy `function_call` protocol.
    """

    def __init__(self, created: int = 0, include_usage: bool = True, legacy: bool = False) -> None:
        self._legacy, self._called = legacy, False
        self._has_arguments: dict[int, bool] = {}  # by call
        self._id, self._model, self._created = "", "", created
        self._include_usage = include_usage
        self._begun = False
        self._thought, self._thinking_blocks = "", 0
        self._finish: Finish | None = None
        self._usage: Usage | None = None

    def encode(self, delta: Delta) -> list[SseEvent]:
        """The events for one delta."""
        match delta:
            case Start(id, model):
                self._id, self._model = self._id or id, self._model or model
                return self._chunk({})
            case TextDelta(text):
                return self._chunk({"content": text})
            case ReasoningDelta(text):
                self._thought += text
                return self._chunk({"reasoning_content": text}) if text else []
            case SignatureDelta(signature):
                block = {"type": "thinking", "thinking": self._thought, "signature": signature}
                self._thought = ""
                return self._thinking_block(block)
            case BlockDelta(block) if block.get("type") == "redacted_thinking":
                return self._thinking_block(block)
            case MessageDelta(fields):
                return self._chunk(fields)
            case ToolCallDelta():
                return self._call(delta)
            case Finish():
                self._finish = delta
            case UsageReport(usage):
                self._usage = usage
            case Failure(kind, message):
                return self.fail(kind, message)
        return []

    def finish(self) -> list[SseEvent]:
        """The events that end the stream."""
        reason = str(self._finish.reason) if self._finish else "stop"
        # Clients parse the arguments, and other providers may stream none for a tool without parameters.
        bare = [number for number, has_any in self._has_arguments.items() if not has_any]
        events = [event for number in bare for event in self._call(ToolCallDelta(number, arguments="{}"))]
        events += self._chunk({}, "function_call" if self._legacy and self._called else reason)
        if self._include_usage and self._usage:
            body = {**self._envelope(), "choices": [], "usage": usage_to_openai(self._usage)}
            events.append(json_event(body))
        return [*events, SseEvent(None, DONE)]

    def fail(self, kind: str, message: str) -> list[SseEvent]:
        """The event that ends the stream with an error."""
        return [json_event(encode_error(openai_kind(kind), message))]

    def _call(self, delta: ToolCallDelta) -> list[SseEvent]:
        self._called = True
        self._has_arguments[delta.index] = self._has_arguments.get(delta.index, False) or bool(
            delta.arguments
        )
        call = _call(delta)
        if not self._legacy:
            return self._chunk({"tool_calls": [call]})
        return self._chunk({"function_call": call["function"]}) if delta.index == 0 else []

    def _thinking_block(self, block: dict[str, Any]) -> list[SseEvent]:
        # OpenAI's SDK merges list items by their index, and rejects items without one.
        number, self._thinking_blocks = self._thinking_blocks, self._thinking_blocks + 1
        return self._chunk({"thinking_blocks": [{"index": number, **block}]})

    def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> list[SseEvent]:
        if not self._begun:
            self._begun = True
            first = self._chunk({"role": "assistant", "content": ""})
            return first + self._chunk(delta, reason) if delta or reason else first
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return [json_event({**self._envelope(), "choices": [choice]})]

    def _envelope(self) -> dict[str, Any]:
        return {
            "id": self._id,
            "object": "chat.completion.chunk",
            "created": self._created,
            "model": self._model,
        }


def _call(delta: ToolCallDelta) -> dict[str, Any]:
    call: dict[str, Any] = {"index": delta.index}
    if delta.id is not None:
        call |= {"id": delta.id, "type": "function"}
    name = {"name": delta.name} if delta.name is not None else {}
    call["function"] = {**name, "arguments": delta.arguments}
    return {
        **call,
        **{
            key: value
            for key, value in delta.extra.items()
            if key not in ("anthropic", "gemini", "cache_control")
        },
    }
