"""The chunks of a streamed chat completion -> canonical deltas.

Compatible servers differ in details, and all of these are accepted: thinking as
`reasoning_content`, as `reasoning` or as a content part; tool calls without an index,
or all with the same one; arguments as an object; usage in the last chunk, in a
separate one, or never.
"""

import json
from collections.abc import Callable
from typing import Any

from plimsoll.dialects.blocks.assistant import without_index
from plimsoll.dialects.blocks.tool_ids import new_call_id
from plimsoll.dialects.collect import StreamDecoder
from plimsoll.dialects.finish import finish_from_openai
from plimsoll.dialects.openai.reply import decode_reply
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
from plimsoll.dialects.usage import usage_from_openai
from plimsoll.messages.untyped import object_of, objects_in

_CALL_KEYS = frozenset({"index", "id", "type", "function"})


class OpenAiStreamDecoder(StreamDecoder):
    """Decodes the chunks of one completion. `make_id` creates the ids of calls without one."""

    def __init__(self, make_id: Callable[[], str] = new_call_id) -> None:
        super().__init__()
        self._make_id = make_id
        self._started = False
        self._slots: list[str | None] = []  # the id of each call so far
        self._by_index: dict[int, int] = {}
        self._named: set[int] = set()
        self._details: list[dict[str, Any]] = []

    def feed_whole(self, body: Any) -> list[Delta]:
        """The deltas of a whole reply, from a server that does not stream."""
        decode_reply(body)  # raises an error if there is no message
        choice = body["choices"][0]
        # Complete calls have no index, and on several servers no id; their order distinguishes them.
        calls = [
            {**call, "index": n} for n, call in enumerate(objects_in(choice["message"].get("tool_calls")))
        ]
        whole = {**choice, "index": 0, "delta": {**choice["message"], "tool_calls": calls}}
        deltas = self.feed(None, {**body, "choices": [whole]})
        self._is_whole = True
        return deltas

    def _deltas(self, event: str | None, data: dict[str, Any] | None) -> list[Delta]:
        if data is None:
            self._is_whole = True
            return []
        error = data.get("error")
        if event == "error" or error:
            return [_failure(error if error else data)]
        deltas: list[Delta] = []
        if not self._started:
            self._started = True
            deltas.append(Start(str(data.get("id") or ""), str(data.get("model") or "")))
        for choice in objects_in(data.get("choices")):
            if (choice.get("index") or 0) != 0:
                continue
            deltas += self._delta(object_of(choice.get("delta") or choice.get("message")))
            deltas += self._finish(choice.get("finish_reason"))
        if usage := usage_from_openai(data.get("usage")):
            deltas.append(UsageReport(usage))
        return deltas

    def _delta(self, delta: dict[str, Any]) -> list[Delta]:
        reasoning = delta.get("reasoning_content") or delta.get("reasoning")
        deltas: list[Delta] = [ReasoningDelta(reasoning)] if isinstance(reasoning, str) and reasoning else []
        for block in map(without_index, objects_in(delta.get("thinking_blocks"))):
            if block.get("type") == "redacted_thinking":
                deltas.append(BlockDelta(block))
            elif signature := block.get("signature"):
                deltas.append(SignatureDelta(str(signature)))
        if details := objects_in(delta.get("reasoning_details")):
            self._details = _merged(self._details, details)
            deltas.append(MessageDelta({"reasoning_details": self._details}))
        deltas += _content(delta.get("content"))
        deltas += _content(delta.get("refusal"))
        return deltas + [self._call(call) for call in objects_in(delta.get("tool_calls"))]

    def _call(self, call: dict[str, Any]) -> ToolCallDelta:
        function = object_of(call.get("function"))
        arguments = function.get("arguments")
        if arguments is None:
            arguments = ""
        elif not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False)
        slot, is_new = self._slot(call.get("index"), call.get("id"))
        extra = {key: value for key, value in call.items() if key not in _CALL_KEYS and value is not None}
        return ToolCallDelta(
            index=slot,
            id=(self._slots[slot] or self._make_id()) if is_new else None,
            name=self._name(slot, function.get("name")),
            arguments=arguments,
            extra=extra,
        )

    def _slot(self, index: Any, call_id: Any) -> tuple[int, bool]:
        """The call that a delta belongs to, and whether it is the call's first delta."""
        known = call_id if isinstance(call_id, str) and call_id else None
        slot = self._by_index.get(index) if isinstance(index, int) else len(self._slots) - 1
        if slot is not None and slot >= 0 and known in (None, self._slots[slot]):
            return slot, False
        self._slots.append(known)
        if isinstance(index, int):
            self._by_index[index] = len(self._slots) - 1
        return len(self._slots) - 1, True

    def _name(self, slot: int, name: Any) -> str | None:
        """The name at its first occurrence; some servers repeat it in every delta."""
        if not isinstance(name, str) or not name or slot in self._named:
            return None
        self._named.add(slot)
        return name

    def _finish(self, native: Any) -> list[Delta]:
        reason = finish_from_openai(native)
        if reason is None:
            return []
        self._is_whole = True
        return [Finish("tool_calls" if reason == "stop" and self._slots else reason, str(native))]


def _content(content: Any) -> list[Delta]:
    if isinstance(content, str):
        return [TextDelta(content)] if content else []
    deltas: list[Delta] = []
    for part in objects_in(content):
        thinking = part.get("thinking")
        if part.get("type") == "thinking":
            texts = (
                [piece.get("text") for piece in objects_in(thinking)]
                if isinstance(thinking, list)
                else [thinking]
            )
            deltas += [ReasoningDelta(text) for text in texts if isinstance(text, str) and text]
        elif isinstance(text := part.get("text"), str) and text:
            deltas.append(TextDelta(text))
    return deltas


def _merged(before: list[dict[str, Any]], more: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Merge the reasoning details that a router streams: pieces with the same index are one detail."""
    merged = list(before)
    for piece in more:
        last = merged[-1] if merged else {}
        if last.get("type") != piece.get("type") or last.get("index") != piece.get("index"):
            merged.append(piece)
            continue
        joined = {
            key: last[key] + value if key in ("text", "summary", "data") and last.get(key) else value
            for key, value in piece.items()
            if value is not None
        }
        merged[-1] = {**last, **joined}
    return merged


def _failure(error: Any) -> Failure:
    if not isinstance(error, dict):
        return Failure("error", str(error))
    kind = error.get("type") or error.get("code") or "error"
    return Failure(str(kind), str(error.get("message") or error))
