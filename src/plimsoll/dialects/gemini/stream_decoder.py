"""The chunks of a streamed response -> canonical deltas.

Each chunk is a separate response with some parts and the usage so far; there is no end marker. A reply is complete
once a chunk has a finish reason.
"""

from collections.abc import Callable
from typing import Any

from plimsoll.dialects.blocks.arguments import arguments_from
from plimsoll.dialects.blocks.parts import block_from_part
from plimsoll.dialects.blocks.tool_ids import new_call_id
from plimsoll.dialects.collect import StreamDecoder
from plimsoll.dialects.gemini.conversation import call_from_wire
from plimsoll.dialects.gemini.parts import part_from_wire
from plimsoll.dialects.gemini.reply import decode_reply, finish_from_gemini
from plimsoll.dialects.gemini.spelling import camel_cased
from plimsoll.dialects.reply import (
    BlockDelta,
    BlockEnd,
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
from plimsoll.dialects.usage import usage_from_gemini
from plimsoll.messages.untyped import list_of, object_of


class GeminiStreamDecoder(StreamDecoder):
    """Decodes the chunks of one response. `make_id` creates the ids of calls without one."""

    def __init__(self, make_id: Callable[[], str] = new_call_id) -> None:
        super().__init__()
        self._make_id = make_id
        self._started = False
        self._calls = 0

    def feed_whole(self, body: Any) -> list[Delta]:
        """The deltas of a whole reply: a response, or the array of a stream."""
        if isinstance(body, list) and len(body) != 1:
            return [delta for chunk in body if isinstance(chunk, dict) for delta in self.feed(None, chunk)]
        decode_reply(body)  # raises an error if there is no candidate
        return self.feed(None, body[0] if isinstance(body, list) else body)

    def _deltas(self, event: str | None, data: dict[str, Any] | None) -> list[Delta]:
        return [] if data is None else self._chunk(camel_cased(data))

    def _chunk(self, data: dict[str, Any]) -> list[Delta]:
        if data.get("error"):
            return [_failure(data["error"])]
        deltas: list[Delta] = []
        if not self._started:
            self._started = True
            deltas.append(Start(str(data.get("responseId") or ""), str(data.get("modelVersion") or "")))
        for candidate in list_of(data.get("candidates")):
            if isinstance(candidate, dict) and (candidate.get("index") or 0) == 0:
                deltas += self._candidate(candidate)
        feedback = data.get("promptFeedback")
        if isinstance(feedback, dict) and feedback.get("blockReason"):
            deltas += self._finish(str(feedback["blockReason"]), "content_filter")
        if usage := usage_from_gemini(data.get("usageMetadata")):
            deltas.append(UsageReport(usage))
        return deltas

    def _candidate(self, candidate: dict[str, Any]) -> list[Delta]:
        parts = object_of(candidate.get("content")).get("parts")
        deltas = [delta for part in list_of(parts) for delta in self._part(part)]
        native = candidate.get("finishReason")
        reason = finish_from_gemini(native, bool(self._calls))
        return deltas + self._finish(str(native), reason) if reason else deltas

    def _finish(self, native: str, reason: Any) -> list[Delta]:
        self._is_whole = True
        return [Finish(reason, native)]

    def _part(self, part: Any) -> list[Delta]:
        if not isinstance(part, dict):
            return []
        text = part.get("text")
        if isinstance(text, str) and part.get("thought") is True:
            seal = part.get("thoughtSignature")
            return [ReasoningDelta(text), *([SignatureDelta(seal)] if isinstance(seal, str) else [])]
        if isinstance(text, str):
            return [TextDelta(text)] if text else []
        if isinstance(part.get("functionCall"), dict):
            call = call_from_wire(part, self._make_id())
            index, self._calls = self._calls, self._calls + 1
            extra: dict[str, Any] = {name: call[name] for name in ("extra_content", "gemini") if name in call}
            arguments = arguments_from(part["functionCall"].get("args"))
            return [ToolCallDelta(index, call["id"], call["function"]["name"], arguments, extra), BlockEnd()]
        found = part_from_wire(part)
        if found is None:
            return []
        block = found if found["type"] == "gemini" else block_from_part(found)
        return [BlockDelta(block)] if block else []


def _failure(error: Any) -> Failure:
    error = error if isinstance(error, dict) else {"message": error}
    kind = str(error.get("status") or error.get("code") or "error")
    return Failure(kind, str(error.get("message") or error))
