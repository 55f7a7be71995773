"""The events of a streamed response -> canonical deltas.

The completed item is authoritative; its earlier events are for display. Servers that send only
`output_item.done` and `completed` are supported too.
"""

from typing import Any

from plimsoll.dialects.collect import StreamDecoder
from plimsoll.dialects.reply import (
    BlockEnd,
    Delta,
    Failure,
    Finish,
    ReasoningDelta,
    Reply,
    Start,
    TextDelta,
    ToolCallDelta,
    UsageReport,
)
from plimsoll.dialects.responses.calls import call_from, is_call
from plimsoll.dialects.responses.items import assistant_message, is_message
from plimsoll.dialects.responses.reply import decode_reply, finish_of, reply_from
from plimsoll.dialects.usage import usage_from_openai
from plimsoll.messages import texts_of

Item = dict[str, Any]
_ENDS = frozenset({"response.completed", "response.incomplete"})
_TEXTS = frozenset({"response.output_text.delta", "response.refusal.delta"})
_THOUGHTS = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})


class ResponsesStreamDecoder(StreamDecoder):
    """Decodes the events of one response."""

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[int, Item] = {}
        self._shown: set[int] = set()  # items whose text or arguments were streamed
        self._calls: dict[int, int] = {}  # the index of the call at each output position
        self._response: dict[str, Any] = {}

    def reply(self) -> Reply:
        """The reply so far."""
        return reply_from(self._response, self._output()) if self._is_whole else super().reply()

    def feed_whole(self, body: Any) -> list[Delta]:
        """The deltas of a whole reply."""
        decode_reply(body)  # raises an error if there is no output
        deltas: list[Delta] = [Start(str(body.get("id") or ""), str(body.get("model") or ""))]
        for index, item in enumerate(item for item in body["output"] if isinstance(item, dict)):
            deltas += self._done(index, item)
        deltas += self._ended(body)
        self._collector.add(deltas)
        return deltas

    def _deltas(self, event: str | None, data: dict[str, Any] | None) -> list[Delta]:
        data = data or {}
        kind, response = str(data.get("type")), data.get("response")
        response = response if isinstance(response, dict) else {}
        if kind == "response.created":
            return [Start(str(response.get("id") or ""), str(response.get("model") or ""))]
        if kind in _ENDS:
            return self._ended(response)
        if kind in ("response.failed", "error"):
            return [_failure(response.get("error") or data.get("error") or data)]
        index, item = data.get("output_index"), data.get("item")
        if not isinstance(index, int):
            return []
        if isinstance(item, dict):
            return self._done(index, item) if kind.endswith(".done") else self._added(index, item)
        delta = data.get("delta")
        return self._piece(kind, index, delta) if isinstance(delta, str) else []

    def _added(self, index: int, item: Item) -> list[Delta]:
        if item.get("type") != "function_call" or not is_call(item):
            return []
        self._calls[index] = len(self._calls)
        call, _ = call_from({**item, "arguments": ""})
        self._shown.add(index)
        return [ToolCallDelta(self._calls[index], call["id"], call["function"]["name"])]

    def _piece(self, kind: str, index: int, delta: str) -> list[Delta]:
        if kind in _TEXTS:
            self._shown.add(index)
            return [TextDelta(delta)]
        if kind in _THOUGHTS:
            self._shown.add(index)
            return [ReasoningDelta(delta)]
        if kind == "response.function_call_arguments.delta" and index in self._calls:
            return [ToolCallDelta(self._calls[index], arguments=delta)]
        return []

    def _done(self, index: int, item: Item) -> list[Delta]:
        """The deltas for a completed item: the part that was not streamed, and its end."""
        self._items[index] = item
        if index in self._shown:
            return [] if index in self._calls else [BlockEnd()]
        if is_call(item):
            call, _ = call_from(item)
            number = self._calls.setdefault(index, len(self._calls))
            function = call["function"]
            return [ToolCallDelta(number, call["id"], function["name"], function["arguments"])]
        if is_message(item):
            said = "".join(texts_of(assistant_message([item])))
            return [TextDelta(said), BlockEnd()] if said else []
        thought = assistant_message([item]).get("reasoning_content")
        return [ReasoningDelta(thought), BlockEnd()] if thought else []

    def _ended(self, response: dict[str, Any]) -> list[Delta]:
        self._is_whole, self._response = True, response
        deltas: list[Delta] = []
        if not self._items:
            for index, item in enumerate(self._output()):
                deltas += self._done(index, item)
        has_calls = any(map(is_call, self._output()))
        status = str(response.get("status") or "completed")
        deltas.append(Finish(finish_of(response, has_calls), status))
        if usage := usage_from_openai(response.get("usage")):
            deltas.append(UsageReport(usage))
        return deltas

    def _output(self) -> list[Item]:
        """The items of the response: the completed ones, or those that the response lists."""
        if self._items:
            return [self._items[index] for index in sorted(self._items)]
        listed = self._response.get("output")
        return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


def _failure(error: Any) -> Failure:
    if not isinstance(error, dict):
        return Failure("error", str(error))
    kind = error.get("code") or error.get("type") or "error"
    return Failure(str(kind), str(error.get("message") or error))
