"""Inspect's chat messages: one canonical message each."""

import hashlib
from collections.abc import Sequence
from typing import Any

from plimsoll.integrations.canonical import (
    call_of,
    image_part,
    is_unchanged_thinking,
    message_of,
    redacted_thought,
    result_of,
    text_part,
    thought,
    with_blocks,
)
from plimsoll.integrations.codec import HostGroup, WrittenMessage, one_by_one
from plimsoll.integrations.requirement import host_package
from plimsoll.messages import Message, Part, arguments_of, call_name, parts_of, text_of, tool_calls

with host_package("inspect-ai", "inspect_ai"):
    from inspect_ai.model import (
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageTool,
        ChatMessageUser,
        ContentImage,
        ContentText,
    )
    from inspect_ai.tool import ToolCall

_CLASSES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


class InspectCodec:
    """Chat messages with ids; one canonical message each."""

    def decode(self, messages: Sequence[Any]) -> list[HostGroup]:
        """Unsigned reasoning and other contents stay on the host's message."""
        return one_by_one(messages, _canonical)

    def encode(self, written: Sequence[WrittenMessage[Any]]) -> list[Any]:
        """A changed message keeps its id, by which Inspect identifies it."""
        return [_host_message(message) for message in written]


def _canonical(message: Any) -> Message:
    parts = _parts(message.content)
    if message.role == "tool":
        call_id = message.tool_call_id or ""
        failed = message.error is not None
        return result_of(call_id, parts, name=message.function or "", failed=failed)
    calls = [
        call_of(item.id, item.function, item.arguments) for item in getattr(message, "tool_calls", None) or ()
    ]
    thinking = [found for part in _contents(message) if (found := _thought(part))]
    return message_of(message.role, parts, calls, thinking)


def _contents(message: Any) -> list[Any]:
    """The contents, if they are more than one text."""
    return [] if isinstance(message.content, str) else list(message.content)


def _thought(content: Any) -> dict[str, Any] | None:
    if content.type != "reasoning" or not (content.redacted or content.signature):
        return None
    return (
        redacted_thought(content.reasoning)
        if content.redacted
        else thought(content.reasoning, content.signature)
    )


def _parts(content: Any) -> list[Part]:
    if isinstance(content, str):
        return [text_part(content)] if content else []
    return [part for item in content if (part := _part(item))]


def _part(content: Any) -> Part | None:
    if content.type == "text":
        return text_part(content.text)
    return image_part(content.image) if content.type == "image" else None


def _kind(content: Any) -> str:
    part = _part(content)
    return part["type"] if part else ""


def _changed(message: Message, before: Any) -> Any:
    """The content of a changed message; what a chat dict cannot express is the host's own."""
    own = [part for part in _contents(before) if is_unchanged_thinking(message, _thought(part))]
    if all(_kind(item) for item in own) and not isinstance(message.get("content"), list):
        return message.get("content") or ""
    parts = parts_of(message)
    texts = [part for part in parts if part.get("type") != "image_url"]
    new = {
        "text": [ContentText(text=str(part.get("text") or "")) for part in texts],
        "image_url": [_image(part, own) for part in parts if part.get("type") == "image_url"],
    }
    return with_blocks(own, _kind, new)


def _image(part: Part, own: Sequence[Any]) -> Any:
    return next((item for item in own if _part(item) == part), None) or _content(part)


def _host_message(written: WrittenMessage[Any]) -> Any:
    message, before = written.message, written.original
    if before is not None and before.role == message["role"]:
        return before.model_copy(update={"content": _changed(message, before)})
    content: Any = message.get("content") or ""
    if not isinstance(content, str):
        content = [_content(part) for part in parts_of(message)]
    new_id = hashlib.sha256(text_of(message).encode()).hexdigest()[:22]
    if message["role"] == "tool":
        return ChatMessageTool(id=new_id, content=content, tool_call_id=message["tool_call_id"])
    calls = [
        ToolCall(id=call["id"], function=call_name(call), arguments=arguments_of(call))
        for call in tool_calls(message)
    ]
    return _CLASSES[message["role"]](id=new_id, content=content, **({"tool_calls": calls} if calls else {}))


def _content(part: Part) -> Any:
    if part.get("type") == "image_url":
        return ContentImage(image=part["image_url"]["url"])
    return ContentText(text=str(part.get("text") or ""))
