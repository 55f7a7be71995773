"""The numbered events of a streamed response, in the order that clients rely on.

created · in_progress · (output_item.added · … · output_item.done)… · completed | incomplete | failed

message     content_part.added · output_text.delta… · output_text.done · content_part.done
reasoning   reasoning_summary_part.added · reasoning_summary_text.delta… · ….done · reasoning_summary_part.done
calls       function_call_arguments.delta… · ….done        custom_tool_call_input.delta… · ….done
"""

from collections.abc import Iterator
from typing import Any

from plimsoll.dialects.sse import SseEvent, json_event

Item = dict[str, Any]
# By call type, the field that is streamed and the name of its events.
CALL_FIELDS = {
    "function_call": ("arguments", "function_call_arguments"),
    "custom_tool_call": ("input", "custom_tool_call_input"),
}


class EventNumbers:
    """Creates events with consecutive numbers."""

    def __init__(self) -> None:
        self._next = 0

    def event(self, kind: str, **fields: Any) -> SseEvent:
        """One event."""
        number, self._next = self._next, self._next + 1
        return json_event({"type": kind, "sequence_number": number, **fields}, kind)


def whole_item(numbers: EventNumbers, index: int, item: Item) -> Iterator[SseEvent]:
    """All events of a complete item."""
    kind = item.get("type")
    at = {"item_id": item.get("id", ""), "output_index": index}
    if kind == "message":
        yield numbers.event("response.output_item.added", output_index=index, item={**item, "content": []})
        for part_index, part in enumerate(item.get("content") or ()):
            yield from _part(numbers, {**at, "content_index": part_index}, part)
    elif kind == "reasoning":
        yield numbers.event("response.output_item.added", output_index=index, item={**item, "summary": []})
        for part_index, part in enumerate(item.get("summary") or ()):
            yield from summary_part(numbers, {**at, "summary_index": part_index}, str(part.get("text") or ""))
    elif kind in CALL_FIELDS:
        field, name = CALL_FIELDS[kind]
        yield numbers.event("response.output_item.added", output_index=index, item={**item, field: ""})
        yield numbers.event(f"response.{name}.delta", **at, delta=item[field])
        yield numbers.event(f"response.{name}.done", **at, **{field: item[field]})
    else:
        yield numbers.event("response.output_item.added", output_index=index, item=item)
    yield numbers.event("response.output_item.done", output_index=index, item=item)


def summary_part(numbers: EventNumbers, at: dict[str, Any], text: str) -> Iterator[SseEvent]:
    """The events of one part of a reasoning summary."""
    part = {"type": "summary_text", "text": text}
    yield numbers.event("response.reasoning_summary_part.added", **at, part={**part, "text": ""})
    yield numbers.event("response.reasoning_summary_text.delta", **at, delta=text)
    yield numbers.event("response.reasoning_summary_text.done", **at, text=text)
    yield numbers.event("response.reasoning_summary_part.done", **at, part=part)


def _part(numbers: EventNumbers, at: dict[str, Any], part: dict[str, Any]) -> Iterator[SseEvent]:
    field = "refusal" if part.get("type") == "refusal" else "text"
    name = "refusal" if field == "refusal" else "output_text"
    more: dict[str, Any] = {} if field == "refusal" else {"logprobs": []}
    yield numbers.event("response.content_part.added", **at, part={**part, field: ""})
    yield numbers.event(f"response.{name}.delta", **at, delta=part.get(field, ""), **more)
    yield numbers.event(f"response.{name}.done", **at, **{field: part.get(field, "")}, **more)
    yield numbers.event("response.content_part.done", **at, part=part)
