"""Canonical deltas -> the events of a streamed response.

Items are in the order of the deltas. A custom tool call is sent when its arguments are complete, because they
contain its text.
"""

from typing import Any

from plimsoll.dialects.reply import (
    BlockDelta,
    BlockEnd,
    BlockStart,
    Delta,
    Failure,
    ReasoningDelta,
    SignatureDelta,
    Start,
    TextDelta,
    ToolCallDelta,
)
from plimsoll.dialects.responses.parts import EXTRAS
from plimsoll.dialects.responses.reply import Seal, called_item, envelope, item_id, with_id
from plimsoll.dialects.responses.request import tools_of
from plimsoll.dialects.responses.signed_thinking import encoded_thinking
from plimsoll.dialects.responses.stream_errors import error_object
from plimsoll.dialects.responses.stream_events import EventNumbers, whole_item
from plimsoll.dialects.responses.tools import tool_names
from plimsoll.dialects.sequential import SequentialEncoder
from plimsoll.dialects.sse import SseEvent

Item = dict[str, Any]


class ResponsesStreamEncoder(SequentialEncoder):
    """Encodes one response. `created` is the time in seconds, `seal` encrypts signed thinking."""

    def __init__(self, request_body: dict[str, Any], created: int, seal: Seal = encoded_thinking) -> None:
        super().__init__()
        self._asked, self._created, self._seal = request_body, created, seal
        self._kinds = tool_names(tools_of(request_body))
        self._numbers = EventNumbers()
        self._begun = self._failed = False
        self._output: list[Item] = []
        self._open: Item | None = None  # the current item
        self._given_id = ""  # of the next item, if its provider named it
        self._call_index = -1
        self._thinking: list[dict[str, Any]] = []  # signed blocks of the open reasoning item

    def _encoded(self, delta: Delta) -> list[SseEvent]:
        match delta:
            case TextDelta(text) if text:
                return [*self._opened("message"), *self._text(text)]
            case ReasoningDelta(text):
                return [*self._opened("reasoning"), *self._thought(text)]
            case SignatureDelta(signature):
                opened = self._opened("reasoning")
                self._sign({"type": "thinking", "thinking": self._summary(), "signature": signature})
                return opened
            case BlockDelta(block) if block.get("type") == "redacted_thinking":
                opened = self._opened("reasoning")
                self._sign(block)
                return opened
            case ToolCallDelta():
                return self._call(delta)
            case BlockStart(extra):
                self._given_id = str((extra.get(EXTRAS) or {}).get("id") or "")
                return self._closed()
            case BlockEnd(extra):
                return self._ended(extra.get(EXTRAS))
            case Start():
                return self._beginning()
            case Failure(kind, message):
                return self._fail(kind, message)
        return []

    def _ending(self) -> list[SseEvent]:
        if self._failed:
            return []
        events = [*self._beginning(), *self._closed()]
        response = self._response(self._finish.reason if self._finish else "stop")
        return [*events, self._numbers.event(f"response.{response['status']}", response=response)]

    def _beginning(self) -> list[SseEvent]:
        if self._begun:
            return []
        self._begun = True
        response = self._response(None, status="in_progress")
        return [
            self._numbers.event(f"response.{name}", response=response) for name in ("created", "in_progress")
        ]

    def _response(self, finish: Any, status: str = "", error: Item | None = None) -> Item:
        usage = None if status == "in_progress" else self._usage
        return envelope(
            self._id,
            self._model,
            self._asked,
            self._created,
            self._output,
            finish,
            usage,
            status=status,
            error=error,
        )

    def _opened(self, kind: str) -> list[SseEvent]:
        """Start an item of this type, unless the current item has this type."""
        if self._open is not None and self._open["type"] == kind:
            return []
        events = [*self._beginning(), *self._closed()]
        item: Item = {"id": self._given_id or item_id(kind, self._id, len(self._output)), "type": kind}
        self._given_id = ""
        if kind == "message":
            item |= {"status": "in_progress", "role": "assistant", "content": []}
        else:
            item |= {"summary": []}
        self._open = item
        index = len(self._output)
        return [
            *events,
            self._numbers.event("response.output_item.added", output_index=index, item=dict(item)),
        ]

    def _text(self, text: str) -> list[SseEvent]:
        assert self._open is not None
        events, at = [], {**self._at(), "content_index": 0}
        if not self._open["content"]:
            self._open["content"] = [{"type": "output_text", "text": "", "annotations": [], "logprobs": []}]
            part = dict(self._open["content"][0])
            events.append(self._numbers.event("response.content_part.added", **at, part=part))
        self._open["content"][0]["text"] += text
        return [*events, self._numbers.event("response.output_text.delta", **at, delta=text, logprobs=[])]

    def _thought(self, text: str) -> list[SseEvent]:
        assert self._open is not None
        if not text:
            return []
        events, at = [], {**self._at(), "summary_index": 0}
        if not self._open["summary"]:
            self._open["summary"] = [{"type": "summary_text", "text": ""}]
            part = dict(self._open["summary"][0])
            events.append(self._numbers.event("response.reasoning_summary_part.added", **at, part=part))
        self._open["summary"][0]["text"] += text
        return [*events, self._numbers.event("response.reasoning_summary_text.delta", **at, delta=text)]

    def _summary(self) -> str:
        assert self._open is not None
        signed = sum(len(block.get("thinking", "")) for block in self._thinking)
        return "".join(part["text"] for part in self._open["summary"])[signed:]

    def _sign(self, block: dict[str, Any]) -> None:
        assert self._open is not None
        self._thinking.append(block)
        self._open["encrypted_content"] = self._seal(self._thinking)

    def _call(self, delta: ToolCallDelta) -> list[SseEvent]:
        events: list[SseEvent] = []
        if self._open is None or "call" not in self._open or delta.index != self._call_index:
            events = [*self._beginning(), *self._closed()]
            self._call_index = delta.index
            self._open = {"type": "call", "call": {"id": "", "name": "", "arguments": ""}}
        call = self._open["call"]
        call["id"], call["name"] = call["id"] or delta.id or "", call["name"] or delta.name or ""
        is_new = "added" not in self._open
        call["arguments"] += delta.arguments
        if call["name"] in self._kinds and self._kinds[call["name"]] != {"type": "function_call"}:
            return events
        at = {
            "item_id": item_id("function_call", self._id, len(self._output)),
            "output_index": len(self._output),
        }
        if is_new:
            self._open["added"] = True
            item = self._call_item({**call, "arguments": ""}, "in_progress")
            added = {"output_index": len(self._output), "item": {**item, "arguments": ""}}
            events.append(self._numbers.event("response.output_item.added", **added))
        if delta.arguments:
            name = "response.function_call_arguments.delta"
            events.append(self._numbers.event(name, **at, delta=delta.arguments))
        return events

    def _call_item(self, call: dict[str, str], status: str) -> Item:
        canonical = {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": call["arguments"] or "{}"},
        }
        plain = {
            "type": "function_call",
            "call_id": call["id"],
            "name": call["name"],
            "arguments": call["arguments"] or "{}",
        }
        item = called_item(plain, canonical, self._kinds)
        return {**with_id(item, self._id, len(self._output)), "status": status}

    def _ended(self, item: Item | None) -> list[SseEvent]:
        """End the current item at the end of a block; `completed` is the item as its provider wrote it."""
        if item is None:
            # Several thinking blocks form one reasoning item.
            return [] if self._open is None or self._open["type"] == "reasoning" else self._closed()
        if self._open is not None and self._open["type"] == item.get("type"):
            return self._closed(item)
        events = [*self._beginning(), *self._closed()]
        self._given_id = ""
        self._output.append(item)
        return [*events, *whole_item(self._numbers, len(self._output) - 1, item)]

    def _closed(self, completed: Item | None = None) -> list[SseEvent]:
        """End the current item."""
        item, self._open = self._open, None
        if item is None:
            return []
        index = len(self._output)
        if "call" in item:
            done = self._call_item(item["call"], "completed")
            self._output.append(done)
            if "added" not in item:
                return list(whole_item(self._numbers, index, done))
            at = {"item_id": done["id"], "output_index": index}
            name = "response.function_call_arguments.done"
            events = [self._numbers.event(name, **at, name=done["name"], arguments=done["arguments"])]
        else:
            done = {**completed, "id": item["id"]} if completed else item
            events = self._parts_done(item, {"item_id": item["id"], "output_index": index})
            self._output.append(done)
            self._thinking = []
        return [*events, self._numbers.event("response.output_item.done", output_index=index, item=done)]

    def _parts_done(self, item: Item, at: Item) -> list[SseEvent]:
        event = self._numbers.event
        if item["type"] == "message":
            item["status"] = "completed"
            parts, at = item["content"], {**at, "content_index": 0}
            return [
                done
                for part in parts
                for done in (
                    event("response.output_text.done", **at, text=part["text"], logprobs=[]),
                    event("response.content_part.done", **at, part=part),
                )
            ]
        at = {**at, "summary_index": 0}
        return [
            done
            for part in item["summary"]
            for done in (
                event("response.reasoning_summary_text.done", **at, text=part["text"]),
                event("response.reasoning_summary_part.done", **at, part=part),
            )
        ]

    def _fail(self, kind: str, message: str) -> list[SseEvent]:
        self._failed = True
        response = self._response(None, status="failed", error=error_object(kind, message))
        return [*self._beginning(), self._numbers.event("response.failed", response=response)]

    def _at(self) -> Item:
        assert self._open is not None
        return {"item_id": self._open["id"], "output_index": len(self._output)}
