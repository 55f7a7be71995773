"""OpenCode sessions, as `opencode export` prints them.

    {"info": {"id": "ses_…", "directory", …}, "messages": [{"info": {"role", "modelID", …}, "parts": [{"type", …}]}]}

A tool part contains the call and its result. Steps, snapshots, reasoning and the like are skipped.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from plimsoll.messages import Message, Part
from plimsoll.messages.untyped import object_of, objects_in, string_of
from plimsoll.transcripts.formats.format import Record, TranscriptFormat
from plimsoll.transcripts.formats.log import assistant, documents, from_log, shown, tool_call
from plimsoll.transcripts.transcript import Transcript

_UNFINISHED = "[The tool did not finish]"


class OpenCodeFormat(TranscriptFormat):
    """Exported sessions of OpenCode."""

    name = "opencode"
    title = "an OpenCode session"
    one_per_record = True

    def recognises(self, record: Any) -> bool:
        if not isinstance(record, dict) or not isinstance(record.get("info"), dict):
            return False
        messages = record.get("messages")
        return isinstance(messages, list) and all(
            isinstance(message, dict) and "parts" in message and "info" in message for message in messages[:3]
        )

    def read(self, records: Iterable[Record], source: str) -> Iterator[Transcript]:
        for line, record in documents(records, source, self):
            info, messages = record.get("info") or {}, objects_in(record.get("messages"))
            models = [string_of(_info(message).get("modelID")) for message in messages]
            yield from_log(
                [canonical for message in messages for canonical in _messages(message)],
                source,
                self,
                string_of(info.get("id")) or None,
                next((model for model in reversed(models) if model), None),
                project=string_of(info.get("directory")) or None,
                line=line,
            )


def _info(message: dict[str, Any]) -> dict[str, Any]:
    return object_of(message.get("info"))


def _messages(message: dict[str, Any]) -> Iterator[Message]:
    parts = objects_in(message.get("parts"))
    if _info(message).get("role") != "assistant":
        yield from _user_messages(parts)
        return
    # One OpenCode message spans several replies of the model: text after a tool belongs to the next one.
    texts: list[str] = []
    tools: list[dict[str, Any]] = []
    for part in parts:
        if part.get("type") == "text" and string_of(part.get("text")):
            if tools:
                yield from _answer(texts, tools)
                texts, tools = [], []
            texts.append(part["text"])
        elif part.get("type") == "step-start" and tools:
            yield from _answer(texts, tools)
            texts, tools = [], []
        elif part.get("type") == "tool":
            tools.append(part)
    if texts or tools:
        yield from _answer(texts, tools)


def _user_messages(parts: list[dict[str, Any]]) -> Iterator[Message]:
    """The user's text, and the text that OpenCode added to it."""
    content: list[Part] = []
    for part in parts:
        if part.get("type") == "text" and string_of(part.get("text")):
            if part.get("synthetic") is True:
                yield {"role": "user", "name": "meta", "content": part["text"]}
            else:
                content.append({"type": "text", "text": part["text"]})
        elif part.get("type") == "file" and string_of(part.get("url")).startswith("data:image/"):
            content.append({"type": "image_url", "image_url": {"url": part["url"]}})
    if len(content) == 1 and content[0]["type"] == "text":
        yield {"role": "user", "content": content[0]["text"]}
    elif content:
        yield {"role": "user", "content": content}


def _answer(texts: list[str], tools: list[dict[str, Any]]) -> Iterator[Message]:
    results: list[Message] = []
    calls = []
    for part in tools:
        state = object_of(part.get("state"))
        call_id, name = (
            string_of(part.get("callID")) or string_of(part.get("id")),
            string_of(part.get("tool")) or "tool",
        )
        calls.append(tool_call(call_id, name, state.get("input")))
        is_error = state.get("status") == "error"
        output = shown(state.get("error") if is_error else state.get("output"))
        result: Message = {"role": "tool", "tool_call_id": call_id, "name": name}
        finished = is_error or "output" in state
        result["content"] = _result_content(output if finished else _UNFINISHED, state.get("attachments"))
        results.append({**result, "is_error": True} if is_error else result)
    yield assistant("\n\n".join(texts), calls)
    yield from results


def _result_content(output: str, attachments: Any) -> str | list[Part]:
    images: list[Part] = [
        {"type": "image_url", "image_url": {"url": attachment["url"]}}
        for attachment in objects_in(attachments)
        if string_of(attachment.get("url")).startswith("data:image/")
    ]
    return [{"type": "text", "text": output}, *images] if images else output
