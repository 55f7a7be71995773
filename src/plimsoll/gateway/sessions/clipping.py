"""Clips messages to a size that a page can load: long texts are cut, and media are only described.

{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBOR…"}}
{"type": "image", "media_type": "image/png", "bytes": 48213}
"""

import json
from typing import Any

from plimsoll.archive import StoredMessage
from plimsoll.gateway.sessions.models import ClippedMessageResponse
from plimsoll.messages import MEDIA_TYPES, text_of

_DATA = "data:"
_BASE64 = ";base64,"


def clipped(stored: StoredMessage, limit: int) -> ClippedMessageResponse:
    """The message with texts of at most `limit` characters each."""
    clip = _Clip(limit)
    message = {key: clip.value(value) for key, value in stored.message.items()}
    return ClippedMessageResponse.model_validate(
        {
            "sequence": stored.sequence,
            "time": stored.time,
            "tokens": stored.tokens,
            "handle": stored.handle,
            "message": message,
            "characters": len(text_of(stored.message)),
            "clipped": clip.has_cut,
        }
    )


class _Clip:
    """Clips values of any shape and records whether it cut a text."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.has_cut = False

    def value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if not isinstance(value, dict):
            return value
        if value.get("type") in MEDIA_TYPES:
            return described(value)
        return {key: self.value(item) for key, item in value.items()}

    def _text(self, text: str) -> str:
        if len(text) <= self._limit:
            return text
        self.has_cut = True
        return text[: self._limit]


def described(part: dict[str, Any]) -> dict[str, Any]:
    """An image, sound or file by its type and size."""
    kind = "image" if "image" in str(part["type"]) else str(part["type"])
    data = _longest(part)
    media_type = ""
    if data.startswith(_DATA) and _BASE64 in data[:200]:
        media_type, _, data = data.removeprefix(_DATA).partition(_BASE64)
    source = part.get("source")
    if not media_type and isinstance(source, dict):
        media_type = str(source.get("media_type", ""))
    # Four characters of base64 are three bytes; a URL has no data.
    size = 0 if data.startswith(("http://", "https://")) else len(data.rstrip("=")) * 3 // 4
    return {"type": kind, "media_type": media_type[:100], "bytes": size}


def _longest(value: Any) -> str:
    """The longest text anywhere in a part: its data."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return max(map(_longest, inner), key=len, default="")
    return json.dumps(value)
