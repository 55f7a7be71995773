"""Gemini CLI sessions: `~/.gemini/tmp/<project>/chats/session-*.jsonl`.

    {"sessionId", "projectHash", "startTime", "lastUpdated", "kind": "main"}
    {"id", "timestamp", "type": "user",   "content": text or parts}
    {"id", "timestamp", "type": "gemini", "content": …, "model",
                                          "toolCalls": [{"id", "name", "args", "result": [parts]}]}
    {"id", "timestamp", "type": "info" | "warning" | "error", …}       shown to the person, never sent: skipped
    {"$set": {"messages": [messages]}} · {"$rewindTo": id}             edits of the lines before

Older versions wrote one object with the list `messages`. A message with the id of an earlier one replaces it.
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any

from plimsoll.dialects import GEMINI
from plimsoll.dialects.gemini import decode_contents
from plimsoll.messages import Message, text_of
from plimsoll.messages.untyped import objects_in
from plimsoll.transcripts.formats.format import Record, SessionStamp, WritableFormat
from plimsoll.transcripts.formats.log import from_log, log_records
from plimsoll.transcripts.transcript import Transcript, counted

_REPLY = "gemini"  # the type of the model's messages
_SPOKEN = frozenset({"user", _REPLY})
_INJECTED = "<session_context>"  # starts the message that Gemini CLI writes itself


class GeminiCliFormat(WritableFormat):
    """Session logs of Gemini CLI."""

    name = "gemini-cli"
    title = "a Gemini CLI session"
    program = "Gemini CLI"
    dialect = GEMINI

    def recognises(self, record: Any) -> bool:
        return isinstance(record, dict) and "sessionId" in record and "projectHash" in record

    def read(self, records: Iterable[Record], source: str) -> Iterator[Transcript]:
        log = _ChatLog()
        for _, record in log_records(records, source, self):
            log.take(record)
        models = [
            model for message in log.messages.values() if isinstance(model := message.get("model"), str)
        ]
        notices = (
            [f"{counted(log.rewound, 'message', 'messages')} skipped: taken back by the user"]
            if log.rewound
            else []
        )
        session = log.facts.get("sessionId")
        yield from_log(
            [_named(content) for content in decode_contents(None, _contents(log.messages.values()))],
            source,
            self,
            str(session) if session else None,
            models[-1] if models else None,
            notices,
        )

    def lines(self, messages: Sequence[Message], stamp: SessionStamp) -> Iterator[dict[str, Any]]:
        yield {
            "sessionId": stamp.id,
            "projectHash": sha256(stamp.project.encode("utf-8", "surrogatepass")).hexdigest(),
            "startTime": stamp.time,
            "lastUpdated": stamp.time,
            "kind": "main",
        }
        answers: list[Any] = []  # the unanswered calls of the last reply
        written: list[dict[str, Any]] = []
        for number, message in enumerate(messages):
            for content in self.dialect.written([message], stamp.model):
                parts = content["parts"]
                if message.get("role") == "tool":
                    _answer(answers, parts)
                    continue
                line = {"id": stamp.uuid(number), "timestamp": stamp.time, "type": "user", "content": parts}
                if message.get("role") == "assistant":
                    line |= {"type": "gemini", **_reply(parts, stamp)}
                    answers = line.get("toolCalls", [])
                written.append(line)
        yield from written


class _ChatLog:
    """The messages of a session by their ids, in order."""

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}
        self.messages: dict[str, dict[str, Any]] = {}
        self.rewound = 0

    def take(self, record: dict[str, Any]) -> None:
        if isinstance(changed := record.get("$set"), dict):
            self.facts |= {name: value for name, value in changed.items() if name != "messages"}
            if isinstance(changed.get("messages"), list):
                self.messages = {}
                self._add(objects_in(changed["messages"]))
        elif isinstance(kept := record.get("$rewindTo"), str):
            ids = list(self.messages)
            for item in ids[ids.index(kept) :] if kept in ids else ():
                del self.messages[item]
                self.rewound += 1
        elif "projectHash" in record:
            self.facts |= {name: value for name, value in record.items() if name != "messages"}
            self._add(objects_in(record.get("messages")))
        else:
            self._add([record])

    def _add(self, messages: Iterable[dict[str, Any]]) -> None:
        for message in messages:
            if message.get("type") in _SPOKEN:
                self.messages[str(message.get("id") or f"line {len(self.messages)}")] = message


def _named(message: Message) -> Message:
    injected = message["role"] == "user" and text_of(message).startswith(_INJECTED)
    return {**message, "name": "meta"} if injected else message


def _contents(messages: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The contents that the session sends: one per message, and one for the results of its calls."""
    contents: list[dict[str, Any]] = []
    for message in messages:
        content = message.get("content")
        parts = [{"text": content}] if isinstance(content, str) and content else objects_in(content)
        calls = objects_in(message.get("toolCalls"))
        parts += [_call_part(call) for call in calls]
        if parts:
            contents.append({"role": "model" if message["type"] == _REPLY else "user", "parts": parts})
        results = [part for call in calls for part in _results(call)]
        if results:
            contents.append({"role": "user", "parts": results})
    return contents


def _call_part(call: dict[str, Any]) -> dict[str, Any]:
    named = {"id": call["id"]} if isinstance(call.get("id"), str) else {}
    return {
        "functionCall": {**named, "name": str(call.get("name") or "tool"), "args": call.get("args") or {}}
    }


def _results(call: dict[str, Any]) -> list[dict[str, Any]]:
    """The result parts of a call, with the call's id in this file."""
    parts = []
    for part in objects_in(call.get("result")):
        response = part.get("functionResponse")
        if isinstance(response, dict):
            part = {**part, "functionResponse": {**response, "id": call.get("id"), "name": call.get("name")}}
        parts.append(part)
    return parts


def _reply(parts: Sequence[dict[str, Any]], stamp: SessionStamp) -> dict[str, Any]:
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    content = [part for part in parts if "functionCall" not in part]
    reply: dict[str, Any] = {"content": content, "model": stamp.model or "gemini"}
    if calls:
        reply["toolCalls"] = [
            {
                "id": call.get("id") or stamp.uuid(f"{call['name']} {place}"),
                "name": call["name"],
                "args": call.get("args") or {},
                "result": [],
                "status": "success",
                "timestamp": stamp.time,
            }
            for place, call in enumerate(calls)
        ]
    return reply


def _answer(calls: Sequence[dict[str, Any]], parts: Sequence[dict[str, Any]]) -> None:
    """Add the parts of a result to its call."""
    responses = [part["functionResponse"] for part in parts if "functionResponse" in part]
    ids = [response.get("id") for response in responses]
    call = next((item for item in calls if item["id"] in ids), None)
    call = call or next((item for item in calls if not item["result"]), None)
    if call is not None:
        for response in responses:
            response |= {"id": call["id"], "name": call["name"]}
        call["result"] += parts
