"""Tokens of images, audio and files: what providers bill, not the bytes of the encoding.

    image   width x height / 750 after scaling the long edge to 1 568 px · 85 at `detail: low` · 1 600 unknown
    audio   32 tokens a second; 16 000 bytes a second, uncompressed 48 000 · 1 000 unknown
    file    2 000 tokens a page, 60 000 bytes a page, at most 100 pages · text types 4 bytes a token · 2 000 unknown

The image rule is Anthropic's; 85 is OpenAI's low detail. The others are deliberately rough and
high (Gemini bills 32 tokens per second of audio, OpenAI 10). Only the first bytes of an image
are decoded, to read its size. Malformed parts never raise an error.
"""

import base64
import io
import struct
from collections.abc import Mapping
from typing import Any

from plimsoll.messages import IMAGE_TYPES

IMAGE_LONG_EDGE = 1_568
IMAGE_PIXELS_PER_TOKEN = 750
IMAGE_LOW_DETAIL = 85
IMAGE_UNKNOWN = 1_600  # about what an image of 1.2 megapixels costs
AUDIO_PER_SECOND = 32
AUDIO_BYTES_PER_SECOND = 16_000  # 128 kbit/s
WAVE_BYTES_PER_SECOND = 48_000  # 24 kHz, 16 bit, one channel
AUDIO_UNKNOWN = 1_000
FILE_PER_PAGE = 2_000
FILE_BYTES_PER_PAGE = 60_000
FILE_MAX_PAGES = 100  # counted for one file
TEXT_BYTES_PER_TOKEN = 4
FILE_UNKNOWN = 2_000

_AUDIO_TYPES = frozenset({"input_audio", "audio"})
_FILE_TYPES = frozenset({"file", "input_file", "document", "video", "input_video", "video_url", "base64"})
_IMAGE_PAYLOADS = ("image_url", "source", "data", "image", "url", "file_id")
_AUDIO_PAYLOADS = ("input_audio", "audio", "source", "data", "url")
_FILE_PAYLOADS = ("file", "file_data", "source", "data", "file_url", "file_id", "video_url", "url")
_MIME_KEYS = ("media_type", "mime_type", "mimeType")
_BLOB_KEYS = ("data", "file_data", "blob", "bytes", "b64_json")
_WAVE_FORMATS = frozenset({"wav", "pcm16", "audio/wav", "audio/x-wav", "audio/pcm"})
_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=\r\n"
_BLOB_SAMPLE = 256  # characters that decide whether a text is base64
# PNG, GIF and WebP state their size in the first bytes; in a JPEG, camera metadata may precede it.
_HEADS = (1_024, 131_072)


def media_tokens(part: Mapping[str, Any]) -> int | None:
    """The tokens of an image, audio or file part; None for other parts, which count as text."""
    kind = part.get("type")
    if not isinstance(kind, str):
        kind = ""
    if kind in IMAGE_TYPES and _has_payload(part, _IMAGE_PAYLOADS):
        return image_tokens(part)
    if kind in _AUDIO_TYPES and _has_payload(part, _AUDIO_PAYLOADS):
        return audio_tokens(part)
    if kind in _FILE_TYPES and _has_payload(part, _FILE_PAYLOADS):
        return file_tokens(part)
    mime = _mime(part)
    if kind == "text" or not mime or not _blob(part):
        return None
    if mime.startswith("image/"):
        return image_tokens(part)
    return audio_tokens(part) if mime.startswith("audio/") else file_tokens(part)


def is_blob(key: str, value: Any) -> bool:
    """Whether a field of an unknown part contains encoded bytes rather than text."""
    if key not in _BLOB_KEYS or not isinstance(value, str) or len(value) <= _BLOB_SAMPLE:
        return False
    return not value[:_BLOB_SAMPLE].strip(_BASE64)


def image_tokens(part: Mapping[str, Any]) -> int:
    """The tokens of one image, in OpenAI's, Anthropic's or MCP's form."""
    reference = _first(part, _IMAGE_PAYLOADS)
    detail = part.get("detail")
    if isinstance(reference, Mapping):
        detail = reference.get("detail", detail)
        reference = _first(reference, ("url", "data"))
    if detail == "low":
        return IMAGE_LOW_DETAIL
    size = pixel_size(reference) if isinstance(reference, str) else None
    if size is None:
        return IMAGE_UNKNOWN
    width, height = size
    scale = min(1.0, IMAGE_LONG_EDGE / max(width, height))
    return max(1, round(width * scale * height * scale / IMAGE_PIXELS_PER_TOKEN))


def audio_tokens(part: Mapping[str, Any]) -> int:
    """The tokens of one audio part, by the length of its data."""
    inner = _first(part, _AUDIO_PAYLOADS)
    holder = inner if isinstance(inner, Mapping) else part
    data = _blob(holder)
    if not data:
        return AUDIO_UNKNOWN
    form = holder.get("format")
    is_wave = (form if isinstance(form, str) else _mime(holder)).lower() in _WAVE_FORMATS
    seconds = _decoded_length(data) / (WAVE_BYTES_PER_SECOND if is_wave else AUDIO_BYTES_PER_SECOND)
    return max(1, round(seconds * AUDIO_PER_SECOND))


def file_tokens(part: Mapping[str, Any]) -> int | None:
    """The tokens of one file by its size; None for a document that contains plain text."""
    inner = _first(part, _FILE_PAYLOADS)
    holder = inner if isinstance(inner, Mapping) else part
    if holder.get("type") in ("text", "content"):
        return None
    data = _blob(holder)
    if not data:
        return FILE_UNKNOWN
    length = _decoded_length(data)
    if (_mime(holder) or data_url_mime(data)).startswith("text/"):
        return max(1, length // TEXT_BYTES_PER_TOKEN)
    return FILE_PER_PAGE * min(FILE_MAX_PAGES, 1 + length // FILE_BYTES_PER_PAGE)


def _has_payload(part: Mapping[str, Any], keys: tuple[str, ...]) -> bool:
    return any(key in part for key in keys)


def payload_of(part: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The data or URL of an image, audio or file part, and the object that contains it."""
    keys = dict.fromkeys((*_IMAGE_PAYLOADS, *_AUDIO_PAYLOADS, *_FILE_PAYLOADS))
    inner = _first(part, tuple(keys))
    holder = inner if isinstance(inner, Mapping) else part
    found = (
        inner
        if isinstance(inner, str)
        else _first(holder, ("data", "file_data", "url", "file_url", "file_id"))
    )
    return (found if isinstance(found, str) else ""), holder


def mime_of(part: Mapping[str, Any]) -> str:
    """The stated media type of a part; empty if there is none."""
    return _mime(part)


def _first(part: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    return next((part[key] for key in keys if part.get(key)), None)


def _mime(part: Mapping[str, Any]) -> str:
    mime = _first(part, _MIME_KEYS)
    return mime.lower() if isinstance(mime, str) else ""


def _blob(part: Mapping[str, Any]) -> str:
    data = _first(part, _BLOB_KEYS)
    return data if isinstance(data, str) else ""


def _decoded_length(data: str) -> int:
    return len(data) * 3 // 4


def data_url_mime(data: str) -> str:
    return data[5:64].lower() if data[:5].lower() == "data:" else ""


def pixel_size(reference: str) -> tuple[int, int] | None:
    """Width and height from the first bytes of a data URL or of base64; None for a link or unreadable data."""
    start = 0
    if reference[:5].lower() == "data:":
        start = reference.find(",", 0, 256) + 1
        if start == 0:
            return None
    elif "://" in reference[:16]:
        return None
    for head in _HEADS:
        size = _size_in(reference[start : start + head])
        if size is not None or start + head >= len(reference):
            return size
    return None


def _size_in(encoded: str) -> tuple[int, int] | None:
    import imagesize  # type: ignore[import-untyped]  # half of the package's import time, and rarely needed

    compact = "".join(encoded.split())
    try:
        raw = base64.b64decode(compact[: len(compact) // 4 * 4])
        width, height = imagesize.get(io.BytesIO(raw))
    except (ValueError, TypeError, LookupError, OverflowError, struct.error, OSError):
        return None
    return (int(width), int(height)) if width > 0 and height > 0 else None
