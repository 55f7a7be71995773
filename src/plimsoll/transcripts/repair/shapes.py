"""Repairs the basic shape of messages: objects with a role and content."""

import json
from typing import Any

from plimsoll.messages.untyped import list_of
from plimsoll.transcripts.repair.findings import FindingList, shown_value

# Role names that other tools use.
_SYNONYMS = {
    **dict.fromkeys(("human", "customer"), "user"),
    **dict.fromkeys(("ai", "bot", "gpt", "model", "chatbot"), "assistant"),
    "developer": "system",
}


def sound_messages(messages: Any, found: FindingList, roles: tuple[str, ...]) -> list[dict[str, Any]]:
    """The messages as objects with one of the roles, and content that is text or a list of typed objects."""
    valid: list[dict[str, Any]] = []
    for index, message in enumerate(list_of(messages)):
        place = f"message {index + 1}"
        if not isinstance(message, dict):
            text = message if isinstance(message, str) and message.strip() else ""
            found.add(place, "it is not an object", "Made it a user message" if text else "Removed it")
            if text:
                valid.append({"role": "user", "content": text})
            continue
        role = message.get("role")
        if role not in roles:
            new = _SYNONYMS.get(str(role).lower(), "user")
            new = new if new in roles else "user"
            found.add(place, f"the role {shown_value(role)} is unknown", f"Changed it to {new}")
            message = {**message, "role": new}
        valid.append(_with_content(message, place, found))
    return valid


def _with_content(message: dict[str, Any], place: str, found: FindingList) -> dict[str, Any]:
    content = message.get("content")
    if isinstance(content, str) or (content is None and message["role"] == "assistant"):
        return message
    if content is None:
        found.add(place, f"the {message['role']} message has no content", "Made it empty text")
        return {**message, "content": ""}
    if not isinstance(content, list):
        found.add(place, "the content is neither text nor a list", "Converted it to text")
        return {**message, "content": json.dumps(content, ensure_ascii=False)}
    parts = [_part(part) for part in content]
    kept = [part for part in parts if part is not None]
    if any(new is not old for new, old in zip(parts, content, strict=True)):
        found.add(place, "a part of the content has no type", "Converted it to text, or removed it")
        return {**message, "content": kept}
    return message


def _part(part: Any) -> Any:
    if isinstance(part, dict) and isinstance(part.get("type"), str):
        return part
    text = part.get("text") if isinstance(part, dict) else part
    return {"type": "text", "text": text} if isinstance(text, str) and text else None
