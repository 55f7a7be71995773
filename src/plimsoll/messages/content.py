"""Reads and rewrites message content in all its shapes, without mutating it.

    "text"  ·  [{"type": "text", ...}, {"type": "image_url", ...}, ...]  ·  None  ·  missing

Readers return plain text; writers return a new message. A part of an unknown type
stays unchanged and has no text.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

Message: TypeAlias = dict[str, Any]
Part: TypeAlias = dict[str, Any]

IMAGE_TYPES = frozenset({"image_url", "input_image", "image"})
MEDIA_TYPES = IMAGE_TYPES | {"input_audio", "file"}
_TEXT_KEYS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}


def parts_of(message: Message) -> list[Part]:
    """The content as a new list of parts, whatever its shape; the parts themselves are shared."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    if isinstance(content, list):
        return [part if isinstance(part, dict) else {"type": "text", "text": str(part)} for part in content]
    return []


def part_text(part: Part) -> str:
    """The text of one part; empty for images, audio, files and unknown types."""
    text = part.get(_TEXT_KEYS.get(str(part.get("type")), "text"))
    return text if isinstance(text, str) else ""


def texts_of(message: Message) -> Iterator[str]:
    """Each text in the content, in order."""
    content = message.get("content")
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in parts_of(message):
            text = part_text(part)
            if text:
                yield text


def text_of(message: Message) -> str:
    """The text of all parts, joined by newlines."""
    content = message.get("content")
    return content if isinstance(content, str) else "\n".join(texts_of(message))


def media_of(message: Message) -> list[Part]:
    """The parts that are images, audio or files."""
    content = message.get("content")
    if not isinstance(content, list):
        return []
    return [part for part in content if isinstance(part, dict) and part.get("type") in MEDIA_TYPES]


def with_text(message: Message, text: str) -> Message:
    """The message with `text` as its whole content; all other keys stay."""
    return {**message, "content": text}


def with_block(message: Message, text: str) -> Message:
    """The message with `text` appended as a separate block; earlier blocks stay byte-identical."""
    return {**message, "content": [*parts_of(message), {"type": "text", "text": text}]}


def excerpt(text: str, limit: int) -> str:
    """The beginning and end of a text, `limit` characters in total, with a marker that counts the omitted ones."""
    if len(text) <= limit:
        return text
    mark = f"\n[… {len(text) - limit:,} characters left out …]\n"
    room = limit - len(mark)
    if room < 16:
        return text[: max(0, limit)]
    first = (room * 2 + 2) // 3
    return text[:first] + mark + text[len(text) - (room - first) :]
