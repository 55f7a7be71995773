"""OpenHands conversations: a folder `events/` with one file per event, or all events in one file.

    {"kind": "SystemPromptEvent", "system_prompt": {"text"}}
    {"kind": "MessageEvent",      "source": "user" | "agent", "llm_message": {"role", "content": [parts]}}
    {"kind": "ActionEvent",       "thought": [parts], "tool_call": {"id", "name", "arguments"}, "llm_response_id"}
    {"kind": "ObservationEvent",  "tool_call_id", "tool_name", "observation": {"content": [parts], "is_error"}}
    {"kind": "AgentErrorEvent",   "tool_call_id", "error"}
    {"kind": "Condensation", …}   skipped, because the condensed events are still present

Actions with the same `llm_response_id` are the parallel calls of one reply.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from plimsoll.messages import Message, Part
from plimsoll.messages.untyped import list_of, object_of, objects_in, string_of
from plimsoll.transcripts.formats.format import Record, TranscriptFormat
from plimsoll.transcripts.formats.log import assistant, from_log, log_records, shown, tool_call
from plimsoll.transcripts.transcript import Transcript, counted

_RESULTS = frozenset({"ObservationEvent", "AgentErrorEvent", "UserRejectObservation"})


class OpenHandsFormat(TranscriptFormat):
    """Events of OpenHands' agent SDK."""

    name = "openhands"
    title = "an OpenHands conversation"

    def recognises(self, record: Any) -> bool:
        first = record[0] if isinstance(record, list) and record else record
        return isinstance(first, dict) and isinstance(first.get("kind"), str) and "source" in first

    def read(self, records: Iterable[Record], source: str) -> Iterator[Transcript]:
        log = _ConversationLog()
        flat = chain.from_iterable(
            ((line, event) for event in record) if isinstance(record, list) else [(line, record)]
            for line, record in records
        )
        for _, event in log_records(flat, source, self):
            log.take(event)
        skipped = counted(log.condensed, "summary", "summaries")
        notices = [f"{skipped} of OpenHands skipped, because the file has the original turns"]
        yield from_log(log.messages, source, self, notices=notices if log.condensed else ())


class _ConversationLog:
    """The conversation so far."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.condensed = 0
        self._response: str | None = None  # the id of the reply in progress
        self._answer = -1  # its index in the messages

    def take(self, event: dict[str, Any]) -> None:
        kind = event["kind"] if isinstance(event.get("kind"), str) else ""
        if kind == "ActionEvent":
            self._action(event)
        elif kind in _RESULTS:
            self.messages.append(_result(event))
        elif kind == "SystemPromptEvent":
            prompt = event.get("system_prompt")
            text = string_of(prompt.get("text")) if isinstance(prompt, dict) else string_of(prompt)
            if text:
                self.messages.append({"role": "system", "content": text})
        elif kind == "MessageEvent" and isinstance(message := event.get("llm_message"), dict):
            content = _content(message.get("content"))
            if content and message.get("role") in ("user", "assistant", "system"):
                self.messages.append({"role": message["role"], "content": content})
        elif kind == "Condensation":
            self.condensed += 1

    def _action(self, event: dict[str, Any]) -> None:
        asked = object_of(event.get("tool_call"))
        call = tool_call(
            string_of(event.get("tool_call_id")) or string_of(asked.get("id")),
            string_of(event.get("tool_name")) or string_of(asked.get("name")) or "tool",
            asked.get("arguments", event.get("action")),
        )
        response = string_of(event.get("llm_response_id")) or None
        if response is not None and response == self._response:
            last = self.messages[self._answer]
            self.messages[self._answer] = {**last, "tool_calls": [*last["tool_calls"], call]}
            return
        thought = _content(event.get("thought"))
        self._response, self._answer = response, len(self.messages)
        self.messages.append(assistant(string_of(thought), [call]))


def _result(event: dict[str, Any]) -> Message:
    seen = object_of(event.get("observation"))
    content = _content(seen.get("content")) or shown(event.get("error") or event.get("rejection_reason"))
    message: Message = {
        "role": "tool",
        "tool_call_id": string_of(event.get("tool_call_id")),
        "content": content,
    }
    if name := string_of(event.get("tool_name")):
        message["name"] = name
    failed = seen.get("is_error") is True or event["kind"] != "ObservationEvent"
    return {**message, "is_error": True} if failed else message


def _content(content: Any) -> str | list[Part]:
    """Plain text, or parts if there are images."""
    if isinstance(content, str):
        return content
    parts: list[Part] = []
    for part in objects_in(content):
        if text := string_of(part.get("text")):
            parts.append({"type": "text", "text": text})
        for url in list_of(part.get("image_urls")):
            parts.append({"type": "image_url", "image_url": {"url": str(url)}})
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts
