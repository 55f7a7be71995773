"""Repairs the messages of a request to OpenAI's chat completions.

calls      an id, a legal name and a string as arguments; ids of at most 40 characters, unique in their message
results    directly after their call, one per call; a missing one becomes a stub
content    no null or empty list where text is required; images only in user messages
"""

import json
import re
from typing import Any

from plimsoll.dialects.openai.messages import encode_messages
from plimsoll.messages import Message, parts_of, repair, tool_calls, validate
from plimsoll.messages.untyped import object_of
from plimsoll.transcripts.portable import legal_name
from plimsoll.transcripts.repair.findings import FindingList, shown_value
from plimsoll.transcripts.repair.images import OPENAI_IMAGES, url_problem
from plimsoll.transcripts.repair.shapes import sound_messages

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_LONGEST_ID = 40
_MEDIA = frozenset({"image_url", "input_image"})
_THINKING = frozenset({"thinking_blocks", "reasoning_content", "reasoning", "reasoning_details"})
_PAIRS = {
    "orphan_result": "Removed the result",
    "unanswered_call": "Moved its result here, or added a placeholder",
}


def repair_openai(body: dict[str, Any], found: FindingList, is_portable: bool, _model: str) -> dict[str, Any]:
    """The body with messages that OpenAI accepts."""
    messages = sound_messages(body.get("messages"), found, _ROLES)
    ids = _CallNames()
    repaired = [_sound(message, index, ids, found) for index, message in enumerate(messages)]
    kept = [message for message in repaired if message is not None]
    if is_portable:
        kept = [_without_thinking(message, index, found) for index, message in enumerate(kept)]
    kept = _with_user_images(kept, found)
    broken = [item for item in validate(kept) if item.code in _PAIRS]
    for violation in broken:
        found.add(f"message {violation.index + 1}", violation.detail, _PAIRS[violation.code])
    return {**body, "messages": repair(kept) if broken else kept}


class _CallNames:
    """The new ids of the latest calls, by their old ids."""

    def __init__(self) -> None:
        self._latest: dict[str, list[str]] = {}

    def begin(self) -> None:
        """Start with the calls of another message."""
        self._latest = {}

    def add(self, old: str) -> str:
        """Return the id for a new call."""
        same = self._latest.setdefault(old, [])
        base = old if old and len(old) <= _LONGEST_ID else f"call_{old[: _LONGEST_ID - 12] or 'unnamed'}"
        new = base if not same else f"{base[: _LONGEST_ID - 4]}_{len(same) + 1}"
        same.append(new)
        return new

    def answer(self, old: str) -> str:
        """Return the id for a result: that of the first unanswered call with its old id."""
        same = self._latest.get(old)
        return (same.pop(0) if len(same) > 1 else same[0]) if same else old


def _sound(message: Message, index: int, ids: _CallNames, found: FindingList) -> Message | None:
    place, role = f"message {index + 1}", message["role"]
    if role == "tool":
        answered = str(message.get("tool_call_id") or "")
        new = ids.answer(answered)
        message = message if new == message.get("tool_call_id") else {**message, "tool_call_id": new}
    else:
        ids.begin()
    if "tool_calls" in message:
        message = _with_calls(message, place, ids, found)
    message = _with_content(message, place, found)
    content = message.get("content")
    if content or role in ("tool", "function") or tool_calls(message) or message.get("refusal"):
        return message
    if content == "" and role != "assistant":
        return message
    if message.get("function_call") or message.get("audio"):
        return message
    found.add(place, f"the {role} message is empty", "Removed it")
    return None


def _with_calls(message: Message, place: str, ids: _CallNames, found: FindingList) -> Message:
    calls = message["tool_calls"]
    rest = {key: value for key, value in message.items() if key != "tool_calls"}
    if message["role"] != "assistant" or not isinstance(calls, list) or not calls:
        problem = (
            "tool_calls is not a list with calls"
            if message["role"] == "assistant"
            else "it cannot have calls"
        )
        found.add(place, f"{problem} ({shown_value(calls)})", "Removed tool_calls")
        return rest
    repaired = [_call(call, place, ids, found) for call in calls if isinstance(call, dict)]
    return message if repaired == calls else {**message, "tool_calls": repaired}


def _call(call: dict[str, Any], place: str, ids: _CallNames, found: FindingList) -> dict[str, Any]:
    function = object_of(call.get("function"))
    old, name, arguments = str(call.get("id") or ""), function.get("name"), function.get("arguments")
    new = ids.add(old)
    if new != call.get("id"):
        problem = "is missing" if not old else "is too long" if len(old) > _LONGEST_ID else "is used twice"
        found.add(place, f"the tool call id {shown_value(old)} {problem}", f"Renamed it to {new!r}")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        legal = legal_name(str(name or ""))
        found.add(place, f"the tool name {shown_value(name)} is not allowed", f"Renamed it to {legal!r}")
        function = {**function, "name": legal}
    if not isinstance(arguments, str):
        found.add(place, f"the arguments of the call {new!r} are not a string", "Serialised them as JSON")
        function = {**function, "arguments": json.dumps(arguments or {}, ensure_ascii=False)}
    repaired = {**call, "id": new, "function": function}
    return {"type": "function", **repaired} if "type" not in call else repaired


def _with_content(message: Message, place: str, found: FindingList) -> Message:
    content = message.get("content")
    if not isinstance(content, list):
        return message
    parts: list[Any] = []
    for part in content:
        if part["type"] == "text" and not isinstance(part.get("text"), str):
            found.add(place, "a text part has no text", "Removed the part")
            continue
        url = part.get("image_url")
        url = url.get("url") if isinstance(url, dict) else url
        problem = url_problem(url, OPENAI_IMAGES) if part["type"] in _MEDIA and isinstance(url, str) else None
        if problem is not None:
            found.add(place, problem[0], "Replaced it with a line of text")
            part = {"type": "text", "text": problem[1]}
        parts.append(part)
    if not parts:
        if content == []:
            found.add(place, "the content is an empty list", "Made it empty text")
        return {**message, "content": None if tool_calls(message) else ""}
    return message if parts == content else {**message, "content": parts}


def _with_user_images(messages: list[Message], found: FindingList) -> list[Message]:
    """Move images of tool results to a user message after the turn's results; replace others with a line of text."""
    moved = False
    repaired: list[Message] = []
    for index, message in enumerate(messages):
        images = [part for part in parts_of(message) if part.get("type") in _MEDIA]
        if images and message["role"] in ("tool", "function"):
            found.add(f"message {index + 1}", "a tool result contains an image", "Moved it to a user message")
            moved = True
        elif images and message["role"] != "user":
            problem = f"the {message['role']} message contains an image"
            found.add(f"message {index + 1}", problem, "Replaced it with a line of text")
            line = {"type": "text", "text": "[An image was removed: only user messages may hold one.]"}
            parts = [line if part in images else part for part in parts_of(message)]
            message = {**message, "content": parts}
        repaired.append(message)
    return encode_messages(repaired, markers=True) if moved else repaired


def _without_thinking(message: Message, index: int, found: FindingList) -> Message:
    kept = {key: value for key, value in message.items() if key not in _THINKING}
    if len(kept) == len(message):
        return message
    found.add(f"message {index + 1}", "thinking is meant for one provider", "Removed it")
    return kept
