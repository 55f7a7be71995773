"""Pydantic AI's messages: a request has several canonical messages, a response is one."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from plimsoll.context.markers import NOTE
from plimsoll.integrations.canonical import (
    CALL,
    is_unchanged_thinking,
    redacted_thought,
    thought,
    with_blocks,
)
from plimsoll.integrations.codec import HostGroup, WrittenMessage
from plimsoll.integrations.requirement import host_package
from plimsoll.messages import Message, arguments_text, call_name, parts_of, text_of, texts_of, tool_calls

with host_package("pydantic-ai", "pydantic_ai"):
    from pydantic_ai.messages import (
        BinaryContent,
        ImageUrl,
        ModelMessage,
        ModelRequest,
        ModelResponse,
        RetryPromptPart,
        SystemPromptPart,
        TextPart,
        ThinkingPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)  # timestamp of new messages; it is not sent


class PydanticAiCodec:
    """Unsigned thinking, files and everything else without a place in a chat dict stay on the host's messages."""

    def decode(self, messages: Sequence[ModelMessage]) -> list[HostGroup]:
        """One group for each message."""
        return [HostGroup(1, list(_canonical(message))) for message in messages]

    def encode(self, written: Sequence[WrittenMessage[ModelMessage]]) -> list[ModelMessage]:
        """One message for each canonical message; the host joins neighbouring requests."""
        return [
            _response(message) if message.message["role"] == "assistant" else _request(message)
            for message in written
        ]


def _canonical(message: ModelMessage) -> Iterator[Message]:
    if isinstance(message, ModelRequest):
        yield from map(_said, message.parts)
        return
    calls = [_call(part) for part in message.parts if isinstance(part, ToolCallPart)]
    texts = [part.content for part in message.parts if isinstance(part, TextPart) and part.content]
    canonical: Message = {"role": "assistant", "content": "\n\n".join(texts) if texts or not calls else None}
    thinking = [found for part in message.parts if (found := _thought(part))]
    if thinking:
        canonical["thinking_blocks"] = thinking
    yield {**canonical, "tool_calls": calls} if calls else canonical


def _thought(part: Any) -> dict[str, Any] | None:
    """Signed thinking; without text, the signature is the provider's encrypted content."""
    if not isinstance(part, ThinkingPart) or not part.signature:
        return None
    return thought(part.content, part.signature) if part.content else redacted_thought(part.signature)


def _call(part: Any) -> dict[str, Any]:
    function = {"name": part.tool_name, "arguments": part.args_as_json_str()}
    return {"id": part.tool_call_id, "type": "function", "function": function}


def _said(part: Any) -> Message:
    """A part of a request as a message."""
    if isinstance(part, SystemPromptPart):
        return {"role": "system", "content": part.content}
    if isinstance(part, ToolReturnPart):
        return {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response_str()}
    if isinstance(part, RetryPromptPart):
        text = part.model_response()
        is_result = part.tool_name is not None
        result = {"role": "tool", "tool_call_id": part.tool_call_id, "content": text}
        return result if is_result else {"role": "user", "content": text}
    content = getattr(part, "content", None)
    if isinstance(content, str) or not isinstance(content, Sequence):
        return {"role": "user", "content": content if isinstance(content, str) else str(content or "")}
    return {"role": "user", "content": [_part(item) for item in content]}


def _part(content: Any) -> dict[str, Any]:
    if isinstance(content, str):
        return {"type": "text", "text": content}
    if isinstance(content, ImageUrl):
        return {"type": "image_url", "image_url": {"url": content.url}}
    if isinstance(content, BinaryContent) and content.is_image:
        return {"type": "image_url", "image_url": {"url": content.data_uri}}
    return {"type": "text", "text": str(getattr(content, "content", None) or f"[{type(content).__name__}]")}


def _response(written: WrittenMessage[ModelMessage]) -> ModelMessage:
    text, calls = text_of(written.message), tool_calls(written.message)
    texts: list[Any] = [TextPart(text)] if text or not calls else []
    made = [ToolCallPart(call_name(call), arguments_text(call), str(call.get("id"))) for call in calls]
    if not isinstance(written.original, ModelResponse):
        return ModelResponse([*texts, *made], timestamp=_NEVER)
    own = [part for part in written.original.parts if is_unchanged_thinking(written.message, _thought(part))]
    return replace(written.original, parts=with_blocks(own, _kind, {"text": texts, CALL: made}))


def _kind(part: Any) -> str:
    return CALL if isinstance(part, ToolCallPart) else "text" if isinstance(part, TextPart) else ""


def _request(written: WrittenMessage[ModelMessage]) -> ModelMessage:
    origin = written.original
    if not isinstance(origin, ModelRequest):
        return ModelRequest(_new_parts(written.message), timestamp=_NEVER)
    return replace(origin, parts=_changed_parts(origin.parts[written.index], written.message))


def _changed_parts(part: Any, message: Message) -> list[Any]:
    """A part of a request with the text of a message."""
    if message["role"] == "system":
        # The note is a separate message, so what precedes it stays in the provider's cache.
        noted = NOTE in texts_of(message)
        return [part, SystemPromptPart(NOTE, timestamp=_NEVER)] if noted else [part]
    if _said(part) == message:
        return [part]
    if isinstance(message["content"], str):
        return [replace(part, content=message["content"])]
    content = getattr(part, "content", None)
    own = content if isinstance(content, Sequence) and not isinstance(content, str) else ()
    return [replace(part, content=[_content(entry, own) for entry in parts_of(message)])]


def _content(entry: dict[str, Any], own: Sequence[Any]) -> Any:
    """A piece of a user message: the host's own object if it has one."""
    found = next((item for item in own if _part(item) == entry), None)
    if found is not None:
        return found
    if entry.get("type") != "image_url":
        return str(entry.get("text") or "")
    url = str(entry["image_url"]["url"])
    return BinaryContent.from_data_uri(url) if url.startswith("data:") else ImageUrl(url)


def _new_parts(message: Message) -> list[Any]:
    if message["role"] == "system":
        return [SystemPromptPart(text, timestamp=_NEVER) for text in texts_of(message)]
    if message["role"] == "tool":
        name, id = str(message.get("name") or "tool"), str(message["tool_call_id"])
        return [ToolReturnPart(name, text_of(message), id, timestamp=_NEVER)]
    content: Any = message["content"]
    if not isinstance(content, str):
        content = [_content(entry, ()) for entry in parts_of(message)]
    return [UserPromptPart(content, timestamp=_NEVER)]
