"""Copilot CLI sessions: `~/.copilot/session-state/<id>/events.jsonl`.

    {"type": "session.start",           "data": {"sessionId", "selectedModel", "context": {"cwd"}}, "id", …}
    {"type": "system.message",          "data": {"content"}}
    {"type": "user.message",            "data": {"content", "transformedContent"}}
    {"type": "assistant.message",       "data": {"content", "toolRequests": [{"toolCallId", "name", "arguments"}]}}
    {"type": "tool.execution_complete", "data": {"toolCallId", "success", "result": {"content"}, "error"}}
    {"type": "session.snapshot_rewind", "data": {"upToEventId"}}

Of a user message, `content` is what the person typed. Every other event is skipped.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from plimsoll.messages import Message
from plimsoll.messages.untyped import object_of, objects_in, string_of
from plimsoll.transcripts.formats.format import Record, TranscriptFormat
from plimsoll.transcripts.formats.log import assistant, from_log, log_records, shown, tool_call
from plimsoll.transcripts.transcript import Transcript, counted


class CopilotFormat(TranscriptFormat):
    """Event logs of Copilot CLI."""

    name = "copilot"
    title = "a Copilot CLI session"

    def recognises(self, record: Any) -> bool:
        return (
            isinstance(record, dict)
            and isinstance(record.get("data"), dict)
            and string_of(record.get("type")).startswith(("session.", "system.", "user.", "assistant."))
        )

    def read(self, records: Iterable[Record], source: str) -> Iterator[Transcript]:
        log = _EventLog()
        for _, record in log_records(records, source, self):
            log.take(string_of(record.get("type")), object_of(record.get("data")), record.get("id"))
        sentences = [f"{counted(log.rewound, 'message', 'messages')} skipped: taken back by the user"]
        notices = sentences if log.rewound else []
        messages = [message for _, message in log.messages]
        yield from_log(messages, source, self, log.session, log.model, notices, log.project)


class _EventLog:
    """The messages so far, each with its event."""

    def __init__(self) -> None:
        self.messages: list[tuple[Any, Message]] = []
        self.session: str | None = None
        self.model: str | None = None
        self.project: str | None = None
        self.rewound = 0

    def take(self, kind: str, data: dict[str, Any], event: Any) -> None:
        if kind == "session.start":
            context = data.get("context")
            self.session = string_of(data.get("sessionId")) or None
            self.model = string_of(data.get("selectedModel")) or None
            self.project = string_of(context.get("cwd")) or None if isinstance(context, dict) else None
        elif kind == "session.model_change":
            self.model = string_of(data.get("newModel")) or self.model
        elif kind == "session.snapshot_rewind":
            self._rewind(data.get("upToEventId"))
        elif (message := _message(kind, data)) is not None:
            self.messages.append((event, message))

    def _rewind(self, event: Any) -> None:
        """Remove the messages from an event on."""
        at = next((n for n, (message, _) in enumerate(self.messages) if message == event), len(self.messages))
        self.rewound += len(self.messages) - at
        del self.messages[at:]


def _message(kind: str, data: dict[str, Any]) -> Message | None:
    content = string_of(data.get("content"))
    if kind == "system.message" and content:
        return {"role": "system", "content": content}
    if kind == "user.message" and content:
        source = string_of(data.get("source"))
        typed: Message = {"role": "user", "content": content}
        return {**typed, "name": "meta"} if source and source != "user" else typed
    if kind == "assistant.message":
        calls = [
            tool_call(
                string_of(call.get("toolCallId")),
                string_of(call.get("name")) or "tool",
                call.get("arguments"),
            )
            for call in objects_in(data.get("toolRequests"))
        ]
        return assistant(content, calls) if content or calls else None
    if kind == "tool.execution_complete":
        return _result(data)
    return None


def _result(data: dict[str, Any]) -> Message:
    failed, result, error = data.get("success") is False, data.get("result"), data.get("error")
    output = result.get("content") if isinstance(result, dict) else result
    if failed and not output:
        output = error.get("message") if isinstance(error, dict) else error
    message: Message = {
        "role": "tool",
        "tool_call_id": string_of(data.get("toolCallId")),
        "content": shown(output),
    }
    return {**message, "is_error": True} if failed else message
