"""Turns a scripted answer into the canonical reply and its stream."""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from plimsoll.dialects import (
    BlockDelta,
    BlockEnd,
    ChatRequest,
    Delta,
    Finish,
    ReasoningDelta,
    Reply,
    SignatureDelta,
    Start,
    TextDelta,
    ToolCallDelta,
    Usage,
    UsageReport,
)
from plimsoll.dialects.blocks.assistant import Entry, entries_of, message_from
from plimsoll.messages import tool_calls
from plimsoll.models import ModelCard
from plimsoll.testing.scripted_server.answers import AnswerPart, ScriptedAnswer

_PIECE = 12  # characters in a delta of a short text
_STEPS = 64  # deltas of a long text
_CALL_KEYS = frozenset({"id", "type", "function"})


class ReplyWriter:
    """Creates replies from answers, with unique ids."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def next_id(self, prefix: str) -> str:
        """A new id in the provider's format."""
        return f"{prefix}{next(self._numbers):022d}"

    def reply(
        self,
        answer: ScriptedAnswer | Reply | str,
        request: ChatRequest,
        card: ModelCard,
        *,
        reply_prefix: str,
        call_prefix: str,
    ) -> Reply:
        """The reply, without its usage."""
        if isinstance(answer, str):
            answer = ScriptedAnswer((AnswerPart("text", answer),))
        reply_id = self.next_id(reply_prefix)
        if isinstance(answer, Reply):
            return replace(answer, id=answer.id or reply_id, model=answer.model or request.model)
        message = message_from([self._entry(piece, request, card, call_prefix) for piece in answer.pieces])
        finish = answer.finish or ("tool_calls" if tool_calls(message) else "stop")
        return Reply(message, finish, None, reply_id, request.model, answer.native_finish)

    def _entry(self, piece: AnswerPart, request: ChatRequest, card: ModelCard, call_prefix: str) -> Entry:
        if piece.kind == "text":
            return Entry("content", {"type": "text", "text": piece.text})
        if piece.kind == "redacted":
            return Entry("thinking", {"type": "redacted_thinking", "data": f"Ev{next(self._numbers):030d}=="})
        if piece.kind == "thinking":
            signed = card.family == "claude"
            hidden = signed and request.thinking is not None and request.thinking.display == "omitted"
            signature = f"Er{next(self._numbers):030d}==" if signed else ""
            thought = "" if hidden else piece.text
            return Entry("thinking", {"type": "thinking", "thinking": thought, "signature": signature})
        arguments = piece.arguments
        text = arguments if isinstance(arguments, str) else json.dumps(dict(arguments), ensure_ascii=False)
        function = {"name": piece.name, "arguments": text}
        return Entry(
            "tool_use",
            {"id": self.next_id(call_prefix), "type": "function", "function": function},
        )


def steps_of(reply: Reply) -> Iterator[Delta]:
    """The deltas of the reply; the first ones contain the usage that is known when a response begins."""
    usage = reply.usage or Usage()
    yield Start(reply.id, reply.model)
    yield UsageReport(replace(usage, completion_tokens=1, reasoning_tokens=None))
    calls = count()
    for entry in entries_of(reply.message):
        yield from _entry_steps(entry, calls)
    yield Finish(reply.finish_reason or "stop", reply.native_finish_reason)
    yield UsageReport(usage)


def _entry_steps(entry: Entry, calls: Iterator[int]) -> Iterator[Delta]:
    item = entry.item
    if entry.kind == "tool_use":
        index, function = next(calls), item["function"]
        extra = {key: value for key, value in item.items() if key not in _CALL_KEYS}
        yield ToolCallDelta(index, item["id"], function["name"], extra=extra)
        for piece in _pieces(function["arguments"]):
            yield ToolCallDelta(index, arguments=piece)
    elif item.get("type") == "text":
        for piece in _pieces(item["text"]):
            yield TextDelta(piece)
    elif item.get("type") == "thinking":
        yield ReasoningDelta("")  # opens the block, even if its text is hidden
        for piece in _pieces(item["thinking"]):
            yield ReasoningDelta(piece)
        if item.get("signature"):
            yield SignatureDelta(item["signature"])
    else:
        yield BlockDelta(item)
        return
    yield BlockEnd()


def _pieces(text: str) -> Iterator[str]:
    size = max(_PIECE, -(-len(text) // _STEPS))
    return (text[start : start + size] for start in range(0, len(text), size))
