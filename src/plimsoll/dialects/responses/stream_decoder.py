"""The events of a streamed response -> canonical deltas.

The completed item is authoritative; its earlier events are for display. So whatever was not streamed is taken from
it, also for servers that send only `output_item.done` and `completed`.
"""

from typing import Any

from plimsoll.dialects.collect import StreamDecoder
from plimsoll.dialects.reply import (
    BlockEnd,
    BlockStart,
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
from plimsoll.dialects.responses.items import BETWEEN_THOUGHTS, assistant_message, is_message
from plimsoll.dialects.responses.parts import EXTRAS
from plimsoll.dialects.responses.reply import decode_reply, finish_of, reply_from
from plimsoll.dialects.usage import usage_from_openai
from plimsoll.messages import texts_of
from plimsoll.messages.untyped import object_of, objects_in

Item = dict[str, Any]
_ENDS = frozenset({"response.completed", "response.incomplete"})
_TEXTS = frozenset({"response.output_text.delta", "response.refusal.delta"})
_THOUGHTS = frozenset({"response.reasoning_summary_text.delta", "response.reasoning_text.delta"})


class ResponsesStreamDecoder(StreamDecoder):
    """Decodes the events of one response."""

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[int, Item] = {}
        self._started: set[int] = set()  # items that are no calls
        self._streamed: dict[int, str] = {}  # the text or the arguments of each item so far
        self._parts: dict[int, Any] = {}  # the part of each item that was streamed last
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
        response = object_of(response)
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
        if not isinstance(delta, str):
            return []
        return self._piece(kind, index, delta, data.get("summary_index", data.get("content_index")))

    def _added(self, index: int, item: Item) -> list[Delta]:
        if not is_call(item):
            self._started.add(index)
            return [BlockStart({EXTRAS: item})]
        if item["type"] != "function_call":
            return []
        self._calls[index] = len(self._calls)
        call, _ = call_from({**item, "arguments": ""})
        return [ToolCallDelta(self._calls[index], call["id"], call["function"]["name"])]

    def _piece(self, kind: str, index: int, delta: str, part: Any) -> list[Delta]:
        before = self._streamed.get(index, "")
        if kind in _THOUGHTS and before and self._parts.get(index) != part:
            delta = BETWEEN_THOUGHTS + delta
        self._streamed[index], self._parts[index] = before + delta, part
        if kind in _TEXTS:
            return [TextDelta(delta)]
        if kind in _THOUGHTS:
            return [ReasoningDelta(delta)]
        if kind == "response.function_call_arguments.delta" and index in self._calls:
            return [ToolCallDelta(self._calls[index], arguments=delta)]
        return []

    def _done(self, index: int, item: Item) -> list[Delta]:
        """The deltas for a completed item: the part that was not streamed, and its end."""
        self._items[index] = item
        if is_call(item):
            return [self._rest_of_call(index, item), BlockEnd()]
        deltas = [] if index in self._started else self._added(index, item)
        if is_message(item):
            rest = self._rest(index, "".join(texts_of(assistant_message([item]))))
            deltas += [TextDelta(rest)] if rest else []
        else:
            thought = self._rest(index, str(assistant_message([item]).get("reasoning_content") or ""))
            deltas += [ReasoningDelta(thought)] if thought else []
        return [*deltas, BlockEnd({EXTRAS: item})]

    def _rest_of_call(self, index: int, item: Item) -> ToolCallDelta:
        call, _ = call_from(item)
        function, number = call["function"], self._calls.get(index)
        if number is not None:
            return ToolCallDelta(number, arguments=self._rest(index, function["arguments"]))
        number = self._calls[index] = len(self._calls)
        return ToolCallDelta(number, call["id"], function["name"], function["arguments"])

    def _rest(self, index: int, whole: str) -> str:
        """The part of an item's text that was not streamed."""
        streamed = self._streamed.get(index, "")
        return whole.removeprefix(streamed) if whole.startswith(streamed) else ""

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
        return objects_in(self._response.get("output"))


def _failure(error: Any) -> Failure:
    if not isinstance(error, dict):
        return Failure("error", str(error))
    kind = error.get("code") or error.get("type") or "error"
    return Failure(str(kind), str(error.get("message") or error))
