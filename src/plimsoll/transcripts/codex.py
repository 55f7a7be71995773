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
from collections.abc import Iterable
from typing import Any

from plimsoll.errors import TranscriptError
from plimsoll.messages import Message, call_ids, text_of
from plimsoll.transcripts.chat import from_log, log_records
from plimsoll.transcripts.transcript import Transcript, counted

_PART_KINDS = {"input_text": "text", "output_text": "text", "text": "text", "summary_text": "text"}
_INJECTED = ("<environment_context>", "<user_instructions>", "# AGENTS.md", "<INSTRUCTIONS>")
_SEARCHED = "[The provider ran this search; its result is not in the log]"


class _RolloutLog:
    """The conversation so far, and what was passed over."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.session: str | None = None
        self.model: str | None = None
        self.passed_over: Counter[str] = Counter()
        self.rolled_back = 0

    def meta(self, payload: dict[str, Any]) -> None:
        if self.session is None and isinstance(payload.get("id"), str):
            self.session = payload["id"]
            base = payload.get("base_instructions")
            texts = [base.get("text") if isinstance(base, dict) else base, payload.get("instructions")]
            said = "\n\n".join(text for text in texts if isinstance(text, str) and text)
            if said:
                self.messages.append({"role": "system", "content": said})

    def item(self, item: dict[str, Any], line: int) -> None:
        kind = str(item.get("type"))
        if kind == "message":
            self._message(item)
        elif kind == "web_search_call":
            call_id = str(item.get("id") or f"search_{line}")
            self._call(call_id, "web_search", item.get("action"))
            self.messages.append({"role": "tool", "tool_call_id": call_id, "content": _SEARCHED})
        elif kind.endswith("_output") and isinstance(item.get("call_id"), str):
            self.messages.append(_result(item))
        elif kind.endswith("_call"):
            call_id = item.get("call_id") or item.get("id") or f"call_{line}"
            self._call(str(call_id), str(item.get("name") or kind.removesuffix("_call")), _arguments(item))
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
            asked = [i for i, message in enumerate(self.messages) if _is_request(message)]
            if asked:
                keep = asked[max(0, len(asked) - turns)]
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
            said: Message = {"role": role, "content": content}
            self.messages.append({**said, "name": "meta"} if _is_injected(said) else said)

    def _call(self, call_id: str, name: str, arguments: Any) -> None:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
        call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}
        last = self.messages[-1] if self.messages else {}
        if last.get("role") == "assistant" and call_id not in call_ids(last):
            self.messages[-1] = {**last, "tool_calls": [*last.get("tool_calls", []), call]}
        else:
            self.messages.append({"role": "assistant", "content": None, "tool_calls": [call]})

    def notices(self) -> list[str]:
        said = []
        if count := self.passed_over["compaction"]:
            said.append(
                f"{counted(count, 'summary', 'summaries')} by Codex skipped: the original turns are read"
            )
        if count := self.passed_over["reasoning"]:
            said.append(f"{counted(count, 'reasoning item', 'reasoning items')} skipped: encrypted")
        if self.rolled_back:
            said.append(
                f"{counted(self.rolled_back, 'message', 'messages')} skipped: rolled back by the user"
            )
        return said


def read_rollout(numbered: Iterable[tuple[int, Any]], source: str) -> Transcript:
    """The conversation of one rollout file."""
    log = _RolloutLog()
    for line, record in log_records(numbered, source, "codex"):
        _take(log, record, line)
    if not any(message["role"] != "system" for message in log.messages):
        raise TranscriptError(f"{source} is a Codex rollout without messages.")
    return from_log(log.messages, source, "codex", log.session, log.model, log.notices())


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
    """The call's arguments; a free-form input becomes an object, as the chat form wants one."""
    for key in ("arguments", "action"):
        if item.get(key) is not None:
            return item[key]
    return {"input": item["input"]} if "input" in item else {}


def _result(item: dict[str, Any]) -> Message:
    output = item.get("output", item.get("tools"))
    if isinstance(output, dict) and isinstance(output.get("content"), str):
        output = output["content"]
    content = _content(output) if isinstance(output, str | list) else json.dumps(output, ensure_ascii=False)
    return {"role": "tool", "tool_call_id": item["call_id"], "content": content or ""}


def _content(content: Any) -> str | list[dict[str, Any]]:
    """A string if there is only text, parts if there are images."""
    if isinstance(content, str):
        return content
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
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
