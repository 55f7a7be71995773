"""Agent Framework's messages: several contents each; a tool message may have several results."""

from collections.abc import Sequence
from typing import Any

from plimsoll.integrations.canonical import (
    CALL,
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
from plimsoll.integrations.codec import HostGroup, WrittenMessage
from plimsoll.integrations.requirement import host_package
from plimsoll.messages import Message, Part, arguments_text, call_name, parts_of, text_of, tool_calls

with host_package("agent-framework", "agent_framework"):
    from agent_framework import Content
    from agent_framework import Message as HostMessage

WRITTEN = "_plimsoll_written"  # marks messages that a compaction wrote


class AgentFrameworkCodec:
    """Messages with contents. A tool message may have several results."""

    def decode(self, messages: Sequence[Any]) -> list[HostGroup]:
        """Unsigned reasoning and other contents stay on the host's message."""
        return [HostGroup(1, _canonical(message)) for message in messages]

    def encode(self, written: Sequence[WrittenMessage[Any]]) -> list[Any]:
        """New messages, marked so that they are not mistaken for the history."""
        marked = {WRITTEN: True}
        return [
            HostMessage(message.message["role"], _contents(message), additional_properties=dict(marked))
            for message in written
        ]


def _canonical(message: Any) -> list[Message]:
    contents = list(message.contents)
    results = [result_of(item.call_id, _result(item)) for item in contents if item.type == "function_result"]
    calls = [
        call_of(item.call_id, item.name, item.arguments) for item in contents if item.type == "function_call"
    ]
    parts = [part for item in contents if (part := _part(item))]
    thinking = [found for item in contents if (found := _thought(item))]
    is_said = parts or calls or thinking or not results
    return [*results, *([message_of(message.role, parts, calls, thinking)] if is_said else [])]


def _thought(content: Any) -> dict[str, Any] | None:
    """Signed thinking; the framework keeps the signature or the encrypted content as protected data."""
    if content.type != "text_reasoning" or not content.protected_data:
        return None
    data = str(content.protected_data)
    return thought(content.text, data) if content.text else redacted_thought(data)


def _part(content: Any) -> Part | None:
    if content.type == "text":
        return text_part(content.text or "")
    if content.type in ("data", "uri") and content.has_top_level_media_type("image"):
        return image_part(content.uri)
    return None


def _result(content: Any) -> list[Part]:
    found = [part for item in content.items or () if (part := _part(item))]
    return found or [text_part("" if content.result is None else str(content.result))]


def _contents(written: WrittenMessage[Any]) -> list[Any]:
    message = written.message
    if message["role"] == "tool":
        return [Content.from_function_result(message["tool_call_id"], result=text_of(message))]
    before = [part for host in written.originals for part in host.contents if part.type != "function_result"]
    parts = parts_of(message)
    new: dict[str, list[Any]] = {
        "text": [Content.from_text(part["text"]) for part in parts if part.get("text")],
        "image_url": [item for item in before if _kind(item) == "image_url" and _part(item) in parts],
        CALL: [
            Content.from_function_call(call["id"], call_name(call), arguments=arguments_text(call))
            for call in tool_calls(message)
        ],
    }
    return with_blocks(
        [item for item in before if is_unchanged_thinking(message, _thought(item))], _kind, new
    )


def _kind(content: Any) -> str:
    part = _part(content)
    return part["type"] if part else CALL if content.type == "function_call" else ""
