"""LlamaIndex's messages: one canonical message each."""

import json
from collections.abc import Sequence
from typing import Any

from plimsoll.integrations.canonical import CALL, is_unchanged_thinking, thought, with_blocks
from plimsoll.integrations.codec import HostGroup, WrittenMessage, one_by_one
from plimsoll.integrations.requirement import host_package
from plimsoll.messages import Message, arguments_text, call_name, text_of, tool_calls
from plimsoll.messages.untyped import list_of

with host_package("llama-index", "llama_index"):
    from llama_index.core.base.llms.types import (
        ChatMessage,
        ImageBlock,
        TextBlock,
        ThinkingBlock,
        ToolCallBlock,
    )


class LlamaIndexCodec:
    """Unsigned thinking, audio and everything else without a place in a chat dict stay on the host's messages."""

    def decode(self, messages: Sequence[ChatMessage]) -> list[HostGroup]:
        """The messages in OpenAI's format."""
        return one_by_one(messages, canonical)

    def encode(self, written: Sequence[WrittenMessage[ChatMessage]]) -> list[ChatMessage]:
        """Copies of the originals with the new text, and new messages."""
        return [_changed(message) for message in written]


def canonical(message: ChatMessage) -> Message:
    """The message in OpenAI's format."""
    calls = _calls(message)
    found: Message = {"role": message.role.value, "content": _content(message) or (None if calls else "")}
    thinking = [thought for block in message.blocks if (thought := _thought(block))]
    if thinking:
        found["thinking_blocks"] = thinking
    if calls:
        found["tool_calls"] = calls
    if found["role"] == "tool":
        found["tool_call_id"] = str(message.additional_kwargs.get("tool_call_id") or "")
    return found


def _content(message: ChatMessage) -> Any:
    text = "".join(block.text for block in message.blocks if isinstance(block, TextBlock))
    images = [_image(block) for block in message.blocks if isinstance(block, ImageBlock)]
    return [{"type": "text", "text": text}, *images] if images else text


def _thought(block: Any) -> dict[str, Any] | None:
    """Signed thinking; integrations keep the signature in the block's additional information."""
    signature = block.additional_information.get("signature") if isinstance(block, ThinkingBlock) else None
    return thought(block.content or "", str(signature)) if signature else None


def _calls(message: ChatMessage) -> list[dict[str, Any]]:
    """The calls in its blocks; older integrations keep them outside the blocks."""
    calls = [_call(block) for block in message.blocks if isinstance(block, ToolCallBlock)]
    return calls or [_plain(call) for call in message.additional_kwargs.get("tool_calls") or []]


def _call(block: Any) -> dict[str, Any]:
    stated = block.tool_kwargs
    arguments = stated if isinstance(stated, str) else json.dumps(stated)
    return {
        "id": block.tool_call_id,
        "type": "function",
        "function": {"name": block.tool_name, "arguments": arguments},
    }


def _plain(call: Any) -> dict[str, Any]:
    plain: dict[str, Any] = call if isinstance(call, dict) else call.model_dump()
    return plain


def _image(block: Any) -> dict[str, Any]:
    url = (
        str(block.url)
        if block.url
        else f"data:{block.image_mimetype};base64," + (block.image or b"").decode()
    )
    return {"type": "image_url", "image_url": {"url": url}}


def _changed(written: WrittenMessage[ChatMessage]) -> ChatMessage:
    """The original with the new text, without removed images and thinking. Everything else stays."""
    message, calls = written.message, tool_calls(written.message)
    text, content = text_of(message), message.get("content")
    images = list_of(content)
    texts = [TextBlock(text=text)] if text or not (calls or images) else []
    if written.original is not None:
        own = [block for block in written.original.blocks if is_unchanged_thinking(message, _thought(block))]
        kept = [block for block in own if isinstance(block, ImageBlock) and _image(block) in images]
        blocks = with_blocks(own, _kind, {"text": texts, "image": kept})
        return written.original.model_copy(update={"blocks": blocks})
    made = [
        ToolCallBlock(
            tool_call_id=call.get("id"), tool_name=call_name(call), tool_kwargs=arguments_text(call)
        )
        for call in calls
    ]
    extra = {"tool_call_id": message["tool_call_id"]} if message["role"] == "tool" else {}
    return ChatMessage(role=message["role"], blocks=[*texts, *made], additional_kwargs=extra)


def _kind(block: Any) -> str:
    kinds = {TextBlock: "text", ImageBlock: "image", ToolCallBlock: CALL}
    return next((kind for made, kind in kinds.items() if isinstance(block, made)), "")
