"""Codex rollouts: `~/.codex/sessions/**/rollout-*.jsonl`.

    {"timestamp", "type": "session_meta",  "payload": {"id", "base_instructions", …}}
    {"timestamp", "type": "response_item", "payload": {"type": "message" | "function_call" | …}}
    {"timestamp", "type": "event_msg" | "turn_context" | "compacted", "payload": {…}}

A model's reply is spread over several items; those between two outputs become one assistant
message. The log keeps the turns that Codex compacted, so Codex' own summaries are skipped if
their turns are present.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from plimsoll.dialects import RESPONSES
from plimsoll.dialects.responses.calls import qualified
from plimsoll.messages import Message, call_ids, text_of
from plimsoll.messages.untyped import objects_in
from plimsoll.transcripts.formats.chat import blocks_of
from plimsoll.transcripts.formats.format import Record, SessionStamp, WritableFormat
from plimsoll.transcripts.formats.log import from_log, log_records
from plimsoll.transcripts.transcript import Transcript, counted

_RESPONSES_PARTS = frozenset({"input_text", "output_text", "input_image"})
_RESPONSES_ITEMS = frozenset(
    {"reasoning", "function_call", "function_call_output", "local_shell_call", "custom_tool_call"}
    | {"custom_tool_call_output", "web_search_call", "ghost_snapshot"}
)
_VERSION = "0.166.0"  # the Codex version that resuming is tested with
_PART_KINDS = {"input_text": "text", "output_text": "text", "text": "text", "summary_text": "text"}
_INJECTED = ("<environment_context>", "<user_instructions>", "# AGENTS.md", "<INSTRUCTIONS>")
_IMAGE_CALL = "image_generation_call"
_OF_PROVIDER = ("web_search_call", _IMAGE_CALL)
_SEARCHED = "[The provider ran this search; its result is not in the log]"
_READABLE_PARTS = frozenset({"input_text", "output_text", "input_image"})
_READABLE_OUTPUTS = frozenset({"input_text", "input_image"})


class CodexFormat(WritableFormat):
    """Session logs of Codex, which it calls rollouts."""

    name = "codex"
    title = "a Codex session"
    program = "Codex"
    dialect = RESPONSES
    keeps_system_prompt = True
    keeps_files = False

    def recognises(self, record: Any) -> bool:
        if not isinstance(record, dict):
            return False
        kind = record.get("type")
        if (
            str(kind) in _RESPONSES_ITEMS
            or isinstance(record.get("payload"), dict)
            or "record_type" in record
        ):
            return True
        if kind == "message":
            return any(str(block.get("type")) in _RESPONSES_PARTS for block in blocks_of(record))
        return kind is None and "role" not in record and "id" in record and "timestamp" in record

    def read(self, records: Iterable[Record], source: str) -> Iterator[Transcript]:
        log = _RolloutLog()
        for line, record in log_records(records, source, self):
            _take(log, record, line)
        yield from_log(log.messages, source, self, log.session, log.model, log.notices(), log.project)

    def lines(self, messages: Sequence[Message], stamp: SessionStamp) -> Iterator[dict[str, Any]]:
        prompts = [message for message in messages[:1] if message.get("role") == "system"]
        meta = {
            "id": stamp.id,
            "timestamp": stamp.time,
            "cwd": stamp.project,
            "originator": "plimsoll",
            "cli_version": _VERSION,
            "source": "cli",
            **({"base_instructions": {"text": text_of(prompts[0])}} if prompts else {}),
        }
        yield {"timestamp": stamp.time, "type": "session_meta", "payload": meta}
        for message in messages[len(prompts) :]:
            for wire in self.dialect.written([message], stamp.model):
                for item in wire.get("items", [wire]):
                    yield {"timestamp": stamp.time, "type": "response_item", "payload": _readable(item)}
            if (event := _event(message)) is not None:
                yield {"timestamp": stamp.time, "type": "event_msg", "payload": event}


def _readable(item: dict[str, Any]) -> dict[str, Any]:
    """The item as Codex reads it: without the roles and parts for which Codex skips the whole item."""
    if item.get("role") == "system":
        item = {**item, "role": "developer"}
    key, known = ("output", _READABLE_OUTPUTS) if "output" in item else ("content", _READABLE_PARTS)
    if not isinstance(parts := item.get(key), list):
        return item
    kind = "output_text" if item.get("role") == "assistant" else "input_text"
    return {**item, key: [part if part["type"] in known else _as_text(part, kind) for part in parts]}


def _as_text(part: dict[str, Any], kind: str) -> dict[str, Any]:
    text = next((part[key] for key in ("text", "refusal") if isinstance(part.get(key), str)), None)
    return {"type": kind, "text": f"[{part['type']} left out]" if text is None else text}


def _event(message: Message) -> dict[str, Any] | None:
    """The event that Codex displays for a message of a resumed session. Codex lists no session without events."""
    text = text_of(message)
    if _is_request(message):
        return {"type": "user_message", "message": text, "images": []}
    if message["role"] == "assistant" and text:
        return {"type": "agent_message", "message": text}
    return None


class _RolloutLog:
    """The conversation so far, and counts of skipped records."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.session: str | None = None
        self.model: str | None = None
        self.project: str | None = None
        self.passed_over: Counter[str] = Counter()
        self.rolled_back = 0

    def meta(self, payload: dict[str, Any]) -> None:
        if self.session is None and isinstance(payload.get("id"), str):
            self.session = payload["id"]
            self.project = payload["cwd"] if isinstance(payload.get("cwd"), str) else None
            base = payload.get("base_instructions")
            texts = [base.get("text") if isinstance(base, dict) else base, payload.get("instructions")]
            prompt = "\n\n".join(text for text in texts if isinstance(text, str) and text)
            if prompt:
                self.messages.append({"role": "system", "content": prompt})

    def item(self, item: dict[str, Any], line: int) -> None:
        kind = str(item.get("type"))
        if kind == "message":
            self._message(item)
        elif kind in _OF_PROVIDER:
            self._answered_call(kind, item, line)
        elif kind == "agent_message" and (content := _content(item.get("content"))):
            self.messages.append({"role": "user", "name": "meta", "content": content})
        elif kind.endswith("_output") and isinstance(item.get("call_id"), str):
            self.messages.append(_result(item))
        elif kind.endswith("_call"):
            call_id = item.get("call_id") or item.get("id") or f"call_{line}"
            name = str(item.get("name") or kind.removesuffix("_call"))
            self._call(str(call_id), qualified(name, item.get("namespace")), _arguments(item))
        elif kind == "reasoning":
            self.passed_over["reasoning"] += 1

    def compacted(self, payload: dict[str, Any], line: int) -> None:
        """Codex' own compaction: skipped if the log contains its turns."""
        if any(message["role"] == "user" for message in self.messages):
            self.passed_over["compaction"] += 1
            return
        replacement = payload.get("replacement_history")
        if isinstance(replacement, list):
            for item in replacement:
                if isinstance(item, dict):
                    self.item(item, line)
        elif isinstance(payload.get("message"), str):
            self.messages.append({"role": "user", "content": payload["message"]})

    def event(self, payload: dict[str, Any]) -> None:
        turns = payload.get("num_turns")
        if payload.get("type") == "thread_rolled_back" and isinstance(turns, int) and turns > 0:
            requests = [i for i, message in enumerate(self.messages) if _is_request(message)]
            if requests:
                keep = requests[max(0, len(requests) - turns)]
                self.rolled_back += len(self.messages) - keep
                del self.messages[keep:]

    def _message(self, item: dict[str, Any]) -> None:
        role, content = item.get("role"), _content(item.get("content"))
        if not content or not isinstance(role, str):
            return
        last = self.messages[-1] if self.messages else {}
        if role == "assistant" == last.get("role") and not call_ids(last):
            content = f"{text_of(last)}\n\n{text_of({'content': content})}"
            self.messages[-1] = {**last, "content": content}
        else:
            message: Message = {"role": role, "content": content}
            self.messages.append({**message, "name": "meta"} if _is_injected(message) else message)

    def _answered_call(self, kind: str, item: dict[str, Any], line: int) -> None:
        """A tool that the provider ran: the item is the call and its result."""
        name = kind.removesuffix("_call")
        call_id = str(item.get("id") or f"{name}_{line}")
        is_image = kind == _IMAGE_CALL
        self._call(
            call_id, name, {"prompt": item.get("revised_prompt") or ""} if is_image else item.get("action")
        )
        result = _image(item) if is_image else _SEARCHED
        self.messages.append({"role": "tool", "tool_call_id": call_id, "content": result})

    def _call(self, call_id: str, name: str, arguments: Any) -> None:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
        call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}
        last = self.messages[-1] if self.messages else {}
        if last.get("role") == "assistant" and call_id not in call_ids(last):
            self.messages[-1] = {**last, "tool_calls": [*last.get("tool_calls", []), call]}
        else:
            self.messages.append({"role": "assistant", "content": None, "tool_calls": [call]})

    def notices(self) -> list[str]:
        sentences = []
        if count := self.passed_over["compaction"]:
            sentences.append(
                f"{counted(count, 'summary', 'summaries')} by Codex skipped: the original turns are read"
            )
        if count := self.passed_over["reasoning"]:
            sentences.append(f"{counted(count, 'reasoning item', 'reasoning items')} skipped: encrypted")
        if self.rolled_back:
            sentences.append(
                f"{counted(self.rolled_back, 'message', 'messages')} skipped: rolled back by the user"
            )
        return sentences


def _take(log: _RolloutLog, record: dict[str, Any], line: int) -> None:
    payload, kind = record.get("payload"), record.get("type")
    if not isinstance(payload, dict):
        # Older rollouts: one line of facts about the session, then the bare items.
        if kind is None:
            log.meta(record)
        else:
            log.item(record, line)
    elif kind == "session_meta":
        log.meta(payload)
    elif kind == "response_item":
        log.item(payload, line)
    elif kind == "compacted":
        log.compacted(payload, line)
    elif kind == "turn_context" and isinstance(payload.get("model"), str):
        log.model = payload["model"]
    elif kind == "event_msg":
        log.event(payload)


def _arguments(item: dict[str, Any]) -> Any:
    """The call's arguments; a free-form input becomes an object, which the chat format requires."""
    for key in ("arguments", "action"):
        if item.get(key) is not None:
            return item[key]
    return {"input": item["input"]} if "input" in item else {}


def _result(item: dict[str, Any]) -> Message:
    output = item.get("output")
    if isinstance(output, dict) and isinstance(output.get("content"), str):
        output = output["content"]
    if isinstance(output, str | list):
        content = _content(output)
    else:
        content = json.dumps(item.get("tools") if output is None else output, ensure_ascii=False)
    return {"role": "tool", "tool_call_id": item["call_id"], "content": content or ""}


def _image(item: dict[str, Any]) -> str | list[dict[str, Any]]:
    """The result of a call that generates an image."""
    data = item.get("result")
    if not isinstance(data, str) or not data:
        return str(item.get("status") or "")
    return [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}]


def _content(content: Any) -> str | list[dict[str, Any]]:
    """A string if there is only text, parts if there are images."""
    if isinstance(content, str):
        return content
    parts = objects_in(content)
    known = [part for part in map(_part, parts) if part]
    if all(part["type"] == "text" for part in known):
        return "\n".join(part["text"] for part in known)
    return known


def _part(part: dict[str, Any]) -> dict[str, Any] | None:
    kind, text = str(part.get("type")), part.get("text")
    if kind in _PART_KINDS and isinstance(text, str):
        return {"type": "text", "text": text} if text else None
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        return {"type": "image_url", "image_url": {"url": part["image_url"]}}
    return None


def _is_request(message: Message) -> bool:
    return message["role"] == "user" and message.get("name") != "meta"


def _is_injected(message: Message) -> bool:
    """Whether Codex wrote this user message itself."""
    return message["role"] == "user" and text_of(message).lstrip().startswith(_INJECTED)
