"""Replies of the Lantern dialect on the wire: reading them, writing them, and the turns that they consist of."""

import json
from typing import Any

from plimsoll.context.markers import NOTE, has_note
from plimsoll.dialects import (
    Delta,
    Dialect,
    Failure,
    Finish,
    FinishReason,
    Reply,
    SseEvent,
    Start,
    TextDelta,
    ToolCallDelta,
    Usage,
    UsageReport,
)
from plimsoll.dialects.collect import Collector
from plimsoll.dialects.interfaces import Body, WireMessage
from plimsoll.dialects.sse import json_event
from plimsoll.messages import Message, arguments_text, call_name, text_of, tool_calls

ENDS: dict[str, FinishReason] = {
    "done": "stop",
    "full": "length",
    "calls": "tool_calls",
    "blocked": "content_filter",
}


class LanternDecoder:
    """`word` · `call` … · `end`, or `fault`."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect, self._collector = dialect, Collector()
        self._calls, self._is_whole = 0, False

    @property
    def complete(self) -> bool:
        return self._is_whole

    @property
    def failure(self) -> Failure | None:
        return self._collector.failure

    def reply(self) -> Reply:
        return self._collector.reply()

    def feed(self, event: str | None, data: Body | None) -> list[Delta]:
        deltas = self._deltas(event, data or {})
        self._collector.add(deltas)
        return deltas

    def feed_whole(self, body: Any) -> list[Delta]:
        reply = self._dialect.decode_reply(body)
        deltas: list[Delta] = [Start(reply.id), TextDelta(text_of(reply.message))]
        deltas += [
            ToolCallDelta(index, call["id"], call_name(call), arguments_text(call))
            for index, call in enumerate(tool_calls(reply.message))
        ]
        deltas += [Finish(reply.finish_reason or "stop"), UsageReport(reply.usage or Usage())]
        self._collector.add(deltas)
        self._is_whole = True
        return deltas

    def _deltas(self, event: str | None, data: Body) -> list[Delta]:
        match event:
            case "word":
                return [TextDelta(str(data.get("add")))]
            case "call":
                index, self._calls = self._calls, self._calls + 1
                arguments = json.dumps(data.get("with") or {})
                return [ToolCallDelta(index, f"call_{index}", str(data.get("do")), arguments)]
            case "fault":
                return [Failure(str(data["fault"]["name"]), str(data["fault"]["text"]))]
            case "end":
                self._is_whole = True
                usage = self._dialect.usage(data.get("tally")) or Usage()
                finish = Finish(ENDS.get(str(data.get("ended")), "stop"))
                return [Start(str(data.get("reply"))), finish, UsageReport(usage)]
        return []


class LanternEncoder:
    """The same events; a call is sent when it is whole."""

    def __init__(self) -> None:
        self._id, self._usage, self._finish = "", Usage(), Finish("stop")
        self._calls: dict[int, list[str]] = {}

    def encode(self, delta: Delta) -> list[SseEvent]:
        match delta:
            case Start(id):
                self._id = self._id or id
            case TextDelta(text):
                return [json_event({"add": text}, "word")]
            case ToolCallDelta(index, _, name, arguments):
                call = self._calls.setdefault(index, ["", ""])
                call[0], call[1] = call[0] or name or "", call[1] + arguments
            case Finish():
                self._finish = delta
            case UsageReport(usage):
                self._usage = usage
            case Failure(kind, message):
                return [json_event({"fault": {"name": kind, "text": message}}, "fault")]
        return []

    def finish(self) -> list[SseEvent]:
        calls = [
            json_event({"do": name, "with": json.loads(arguments or "{}")}, "call")
            for name, arguments in self._calls.values()
        ]
        end = {"reply": self._id, "ended": ended_with(self._finish.reason), "tally": tally_of(self._usage)}
        return [*calls, json_event(end, "end")]


def preamble_with_note(preamble: str) -> str:
    """The preamble with the note of a compaction, once."""
    parts = preamble.split("\n\n") if preamble else []
    blocks = [{"type": "text", "text": text} for text in parts]
    return preamble if has_note({"content": blocks}) else "\n\n".join([*parts, NOTE])


def assistant_message(turn: WireMessage, prefix: str) -> Message:
    """A turn of the model in canonical form; its calls get ids."""
    calls = [
        {
            "id": f"{prefix}_{nth}",
            "type": "function",
            "function": {"name": str(call.get("do")), "arguments": json.dumps(call.get("with") or {})},
        }
        for nth, call in enumerate(turn.get("calls") or ())
    ]
    said = turn.get("say") or ""
    return {"role": "assistant", "content": said, **({"tool_calls": calls} if calls else {})}


def model_turn(message: Message) -> WireMessage:
    """A canonical assistant message as a turn, without the ids of its calls."""
    calls = [
        {"do": call_name(call), "with": json.loads(arguments_text(call))} for call in tool_calls(message)
    ]
    return {"from": "model", "say": text_of(message), **({"calls": calls} if calls else {})}


def ended_with(reason: FinishReason | None) -> str:
    return next((word for word, meant in ENDS.items() if meant == reason), "done")


def tally_of(usage: Usage | None) -> Body:
    usage = usage or Usage()
    reused = usage.cache_read_tokens or 0
    return {"read": usage.prompt_tokens - reused, "reused": reused, "wrote": usage.completion_tokens}
