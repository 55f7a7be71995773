"""Rules for images: supported types and maximum sizes."""

import re
from collections.abc import Iterator
from typing import Any

from plimsoll.messages.untyped import list_of, object_of
from plimsoll.testing.scripted_server.rules.refusal import Refusal, bad

_IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_GOOGLE = ("image/jpeg", "image/png", "image/webp", "image/heic", "image/heif")
_MAX_ANTHROPIC_BYTES = 5_242_880
_DATA_URL = re.compile(r"data:([^,;]*)[^,]*;base64,")


def anthropic_images(messages: list[dict[str, Any]]) -> Iterator[Refusal]:
    """Base64 images anywhere in Anthropic's messages, including tool results."""
    for index, message in enumerate(messages):
        for path, block in _anthropic_blocks(f"messages.{index}.content", message.get("content")):
            source = block.get("source")
            if block.get("type") != "image" or not isinstance(source, dict) or source.get("type") != "base64":
                continue
            if source.get("media_type") not in _IMAGE_TYPES:
                listed = "'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
                yield bad(f"{path}.image.source.base64.media_type: Input should be {listed}")
            size = len(str(source.get("data") or ""))
            if size > _MAX_ANTHROPIC_BYTES:
                text = f"image exceeds 5 MB maximum: {size} bytes > {_MAX_ANTHROPIC_BYTES} bytes"
                yield bad(f"{path}.image.source.base64: {text}")


def openai_images(values: Any) -> Iterator[Refusal]:
    """Data URLs of images anywhere in OpenAI's messages or items."""
    for url in _urls(values):
        found = _DATA_URL.match(url)
        if found and found[1] not in _IMAGE_TYPES:
            yield bad(
                "You uploaded an unsupported image. Please make sure your image has of one the following formats: "
                "['png', 'jpeg', 'gif', 'webp'].",
                None,
                "invalid_image_format",
            )


def gemini_images(contents: list[dict[str, Any]]) -> Iterator[Refusal]:
    """Inline images in Google's contents."""
    for content in contents:
        for part in content["parts"]:
            data = object_of(part).get("inlineData")
            kind = str(data.get("mimeType")) if isinstance(data, dict) else ""
            if kind.startswith("image/") and kind not in _GOOGLE:
                yield Refusal(400, "INVALID_ARGUMENT", f"Unsupported MIME type: {kind}")


def _anthropic_blocks(path: str, content: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for index, block in enumerate(list_of(content)):
        if isinstance(block, dict):
            yield f"{path}.{index}", block
            if block.get("type") == "tool_result":
                yield from _anthropic_blocks(f"{path}.{index}.tool_result.content", block.get("content"))


def _urls(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _urls(item)
    elif isinstance(value, dict):
        url = value.get("image_url")
        url = url.get("url") if isinstance(url, dict) else url
        if isinstance(url, str):
            yield url
        for key in ("content", "output"):
            yield from _urls(value.get(key))
