"""Canonical messages ⇄ the messages of a chat completion request.

Canonical messages have OpenAI's shape already. What only another provider
understands is left out on the way to the wire: signed thinking, the order of
its blocks, error flags, Anthropic's own fields; `cache_control` goes along for
Claude models alone, as only routers to them take it. A block of a foreign
server tool becomes a text that says what stood there. Thinking that nobody
signed is sent as `reasoning_content`.
"""

from collections.abc import Sequence
from typing import Any

from plimsoll.dialects.blocks.assistant import is_signed
from plimsoll.errors import InvalidConversation
from plimsoll.messages import Message, Part

_FOREIGN_KEYS = frozenset({"thinking_blocks", "block_order", "is_error", "anthropic"})
_PART_TYPES = frozenset(
    {"text", "image_url", "input_audio", "file", "refusal", "video_url", "audio_url"}
    | {"input_text", "output_text", "input_image"}
)


def takes_markers(model: str) -> bool:
    """Whether `cache_control` may be sent to a model on this wire."""
    return "claude" in model.lower()


def encode_messages(messages: Sequence[Message], markers: bool) -> list[Message]:
    """The messages as they are sent."""
    return [_encode(message, markers) for message in messages]


def decode_messages(messages: Any) -> tuple[Message, ...]:
    """The canonical messages of a request, checked to be objects with a role."""
    if not isinstance(messages, list):
        raise InvalidConversation(f"messages must be a list, not {type(messages).__name__}")
    for index, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise InvalidConversation(f"message {index}: every message is an object with a role")
    return tuple(dict(message) for message in messages)


def without(item: dict[str, Any], markers: bool) -> dict[str, Any]:
    """A part, call or tool without the fields that this wire does not know."""
    foreign = {"anthropic"} if markers else {"anthropic", "cache_control"}
    return {key: value for key, value in item.items() if key not in foreign}


def _encode(message: Message, markers: bool) -> Message:
    wire = without({key: value for key, value in message.items() if key not in _FOREIGN_KEYS}, markers)
    if isinstance(message.get("content"), list):
        wire["content"] = [_encode_part(part, markers) for part in message["content"]]
    if isinstance(message.get("tool_calls"), list):
        wire["tool_calls"] = [
            without(call, markers=False) if isinstance(call, dict) else call for call in message["tool_calls"]
        ]
    if reasoning := unsigned_reasoning(message):
        wire.setdefault("reasoning_content", reasoning)
    return wire


def unsigned_reasoning(message: Message) -> str:
    """The text of the thinking blocks that nobody signed."""
    return _joined(message, signed=False)


def all_reasoning(message: Message) -> str:
    """The text of all thinking that can be shown to a person."""
    given = message.get("reasoning_content")
    return given if isinstance(given, str) and given else _joined(message, signed=True)


def _joined(message: Message, signed: bool) -> str:
    blocks = message.get("thinking_blocks")
    texts = [
        block["thinking"]
        for block in (blocks if isinstance(blocks, list) else [])
        if isinstance(block, dict) and isinstance(block.get("thinking"), str)
        if signed or not is_signed(block)
    ]
    return "\n\n".join(text for text in texts if text)


def _encode_part(part: Any, markers: bool) -> Part:
    if not isinstance(part, dict):
        return {"type": "text", "text": str(part)}
    if part.get("type") in _PART_TYPES or part.get("type") is None:
        return without(part, markers)
    stood_in: Part = {"type": "text", "text": f"[{part['type']} block left out]"}
    return (
        {**stood_in, "cache_control": part["cache_control"]}
        if markers and "cache_control" in part
        else stood_in
    )
