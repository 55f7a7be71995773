"""Canonical messages ⇄ the messages of a chat completion request.

Canonical messages already have OpenAI's shape. Other providers' fields are removed:
signed thinking, the order of its blocks, Anthropic-only fields. `cache_control` is
sent for Claude models only, because only routers to them accept it. Unsigned thinking
is sent as `reasoning_content`. `anthropic_content.py` converts the rest to text,
including error flags.

Tool messages may contain only text, so their images and files follow the results of
the turn in a user message:

    tool (text, image) · tool (text)   ->   tool (text) · tool (text) · user (image)
"""

from collections.abc import Sequence
from typing import Any

from plimsoll.dialects.blocks.assistant import is_signed
from plimsoll.dialects.openai.anthropic_content import flattened, named_file, text_of_block, with_error_mark
from plimsoll.messages import Message, Part
from plimsoll.messages.untyped import list_of

_FOREIGN_KEYS = frozenset({"thinking_blocks", "block_order", "is_error", "anthropic", "gemini", "responses"})
SIGNATURE = "extra_content"  # the key of a call with Google's signature
_PART_TYPES = frozenset(
    {"text", "image_url", "input_audio", "file", "refusal", "video_url", "audio_url"}
    | {"input_text", "output_text", "input_image"}
)


_RESULT_ROLES = frozenset({"tool", "function"})
_MEDIA_TYPES = frozenset(
    {"image_url", "input_image", "file", "input_audio", "video_url", "audio_url"}
)  # rejected in a tool message


def takes_markers(model: str) -> bool:
    """Whether `cache_control` may be sent to a model."""
    return "claude" in model.lower()


def encode_messages(messages: Sequence[Message], markers: bool) -> list[Message]:
    """The messages in wire format."""
    encoded: list[Message] = []
    media: list[Part] = []  # the non-text parts of the turn's results
    for message in messages:
        if message.get("role") not in _RESULT_ROLES:
            encoded += _media_message(media)
            media = []
        wire = _encode(message, markers)
        if message.get("role") in _RESULT_ROLES:
            wire, others = _text_alone(wire)
            media += others
            if message.get("is_error"):
                wire = _with_error(wire)
        encoded.append(wire)
    return [*encoded, *_media_message(media)]


def without(item: dict[str, Any], markers: bool) -> dict[str, Any]:
    """A part, call or tool without the fields of other dialects."""
    return {
        key: value
        for key, value in item.items()
        if key not in ("anthropic", "gemini", "responses") and (markers or key != "cache_control")
    }


def takes_signatures(model: str) -> bool:
    """Whether call signatures may be sent to a model; Google's endpoint requires them."""
    return "gemini" in model.lower()


def without_signatures(message: Message) -> Message:
    """The message without Google's signatures on its calls."""
    calls = message.get("tool_calls")
    if not isinstance(calls, list) or not any(isinstance(call, dict) and SIGNATURE in call for call in calls):
        return message
    plain = [
        {k: v for k, v in call.items() if k != SIGNATURE} if isinstance(call, dict) else call
        for call in calls
    ]
    return {**message, "tool_calls": plain}


def _encode(message: Message, markers: bool) -> Message:
    wire = without({key: value for key, value in message.items() if key not in _FOREIGN_KEYS}, markers)
    if isinstance(message.get("content"), list):
        wire["content"] = [
            _encode_part(inner, markers) for part in message["content"] for inner in flattened(part)
        ]
    if isinstance(message.get("tool_calls"), list):
        wire["tool_calls"] = [
            without(call, markers=False) if isinstance(call, dict) else call for call in message["tool_calls"]
        ]
    if reasoning := unsigned_reasoning(message):
        wire.setdefault("reasoning_content", reasoning)
    return wire


def _text_alone(message: Message) -> tuple[Message, list[Part]]:
    """A result with only its text, and its other parts."""
    content = message.get("content")
    if not isinstance(content, list):
        return message, []
    others = [part for part in content if part.get("type") in _MEDIA_TYPES]
    if not others:
        return message, []
    texts = [part for part in content if part.get("type") not in _MEDIA_TYPES]
    return {**message, "content": texts or f"[{_count_of(others)} below]"}, others


def _media_message(parts: list[Part]) -> list[Message]:
    if not parts:
        return []
    label: Part = {"type": "text", "text": f"[{_count_of(parts)} from the tool results above]"}
    return [{"role": "user", "content": [label, *parts]}]


def _count_of(parts: list[Part]) -> str:
    images = sum(part.get("type") in ("image_url", "input_image") for part in parts)
    counts = ((images, "image"), (len(parts) - images, "file"))
    return " and ".join(f"{n} {word}{'s' if n > 1 else ''}" for n, word in counts if n)


def _with_error(message: Message) -> Message:
    """A failed result with the error in its text, because there is no flag for it."""
    content = message.get("content")
    if isinstance(content, str) or content is None:
        return {**message, "content": with_error_mark(content or "")}
    first = next((n for n, part in enumerate(content) if isinstance(part.get("text"), str)), None)
    if first is None:
        return {**message, "content": [{"type": "text", "text": with_error_mark("")}, *content]}
    marked = {**content[first], "text": with_error_mark(content[first]["text"])}
    return {**message, "content": [*content[:first], marked, *content[first + 1 :]]}


def unsigned_reasoning(message: Message) -> str:
    """The text of the unsigned thinking blocks."""
    return _joined(message, signed=False)


def all_reasoning(message: Message) -> str:
    """The text of all thinking that can be shown to a person."""
    reasoning = message.get("reasoning_content")
    return reasoning if isinstance(reasoning, str) and reasoning else _joined(message, signed=True)


def _joined(message: Message, signed: bool) -> str:
    texts = [
        block["thinking"]
        for block in list_of(message.get("thinking_blocks"))
        if isinstance(block, dict) and isinstance(block.get("thinking"), str)
        if signed or not is_signed(block)
    ]
    return "\n\n".join(text for text in texts if text)


def _encode_part(part: Any, markers: bool) -> Part:
    if not isinstance(part, dict):
        return {"type": "text", "text": str(part)}
    if part.get("type") == "file":
        part = named_file(part)
    if part.get("type") in _PART_TYPES or part.get("type") is None:
        return without(part, markers)
    stood_in: Part = {"type": "text", "text": text_of_block(part)}
    return (
        {**stood_in, "cache_control": part["cache_control"]}
        if markers and "cache_control" in part
        else stood_in
    )
