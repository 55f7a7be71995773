"""One content part ⇄ one content block.

    canonical part                                  Anthropic block
    {"type": "text", "text": …}                 ⇄  {"type": "text", "text": …}
    {"type": "image_url", "image_url": {…}}     ⇄  {"type": "image", "source": base64 | url}
    {"type": "file", "file": {…}}               ⇄  {"type": "document", "source": base64 | url | file}
    any other Anthropic block, unchanged        ⇄  itself (server tools, search results, …)

`cache_control` stays on its part. Anthropic-only fields (citations, context, …)
are kept under the part's key `anthropic` and restored when encoding. Anthropic
rejects text that is only white space, so it is never sent. A part without an
Anthropic block (audio) becomes a text that says so.
"""

import json
import re
from typing import Any

from plimsoll.messages import Part, part_text

_DATA_URL = re.compile(r"data:([^,]*?);base64,(.*)", re.DOTALL)
_TEXT_TYPES = frozenset({"text", "input_text", "output_text", "refusal"})
# OpenAI's and Google's parts that have no Anthropic block.
_FOREIGN_TYPES = frozenset({"input_audio", "video_url", "input_video", "audio_url", "gemini"})


def block_from_part(part: Part) -> dict[str, Any] | None:
    """The block for a canonical part; None if there is nothing to send."""
    kind = part.get("type")
    if kind in _TEXT_TYPES or (kind is None and isinstance(part.get("text"), str)):
        text = part_text(part)
        return with_extras({"type": "text", "text": text}, part) if text.strip() else None
    if kind in ("image_url", "input_image"):
        url = _image_url(part)
        return with_extras({"type": "image", "source": _source(url)}, part) if url else _placeholder(part)
    if kind == "file":
        return _document_block(part)
    return _placeholder(part) if kind in _FOREIGN_TYPES or not isinstance(kind, str) else dict(part)


def part_from_block(block: Any) -> Part | None:
    """The canonical part for a block; None if it is empty."""
    if not isinstance(block, dict):
        return text_part(str(block))
    kind = block.get("type")
    if kind == "text":
        part = text_part(_string(block.get("text")))
        return part and part_with_extras(part, block, {"type", "text"})
    source = block.get("source")
    if isinstance(source, dict) and kind == "image" and (url := _url_of(source)):
        part = {"type": "image_url", "image_url": {"url": url}}
        return part_with_extras(part, block, {"type", "source"})
    if isinstance(source, dict) and kind == "document" and (file := _file_of(source)):
        if isinstance(title := block.get("title"), str):
            file = {"filename": title, **file}
        return part_with_extras({"type": "file", "file": file}, block, {"type", "source", "title"})
    return dict(block)


def text_part(text: str) -> Part | None:
    """A text part; None for text that Anthropic would reject."""
    return {"type": "text", "text": text} if text.strip() else None


def part_with_extras(part: Part, block: dict[str, Any], known: set[str]) -> Part:
    """The part with the block's marker, and with its Anthropic-only fields under `anthropic`."""
    part = dict(part)
    rest = {key: value for key, value in block.items() if key not in known and value is not None}
    marker = rest.pop("cache_control", None)
    if rest:
        part["anthropic"] = rest
    if marker is not None:
        part["cache_control"] = marker
    return part


def with_extras(block: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    """The block with the fields that `part_with_extras` stored, marker last."""
    extras = part.get("anthropic")
    if isinstance(extras, dict):
        block = {**block, **{key: value for key, value in extras.items() if key not in block}}
    marker = part.get("cache_control")
    return {**block, "cache_control": marker} if marker is not None else block


def _placeholder(part: Part) -> dict[str, Any]:
    """A text block for a part without an Anthropic equivalent."""
    return with_extras({"type": "text", "text": f"[{part.get('type') or 'untyped'} part left out]"}, part)


def _image_url(part: Part) -> str:
    image = part.get("image_url")
    return _string(image.get("url") if isinstance(image, dict) else image)


def _document_block(part: Part) -> dict[str, Any]:
    file = part.get("file")
    if not isinstance(file, dict):
        return _placeholder(part)
    if location := _string(file.get("file_data")) or _string(file.get("file_url")):
        source = _source(location)
    elif file_id := _string(file.get("file_id")):
        source = {"type": "file", "file_id": file_id}
    else:
        return _placeholder(part)
    block: dict[str, Any] = {"type": "document", "source": source}
    if title := _string(file.get("filename")):
        block["title"] = title
    return with_extras(block, part)


def _source(url: str) -> dict[str, Any]:
    found = _DATA_URL.fullmatch(url)
    if found:
        return {"type": "base64", "media_type": found[1], "data": found[2]}
    return {"type": "url", "url": url}


def _url_of(source: dict[str, Any]) -> str | None:
    """The URL of an image source; None for Anthropic-only sources."""
    if source.get("type") == "base64" and source.keys() <= {"type", "media_type", "data"}:
        return f"data:{_string(source.get('media_type'))};base64,{_string(source.get('data'))}"
    return _string(source.get("url")) or None if source.get("type") == "url" else None


def _file_of(source: dict[str, Any]) -> dict[str, Any] | None:
    if source.get("type") == "file":
        return {"file_id": _string(source.get("file_id"))}
    url = _url_of(source)
    if url is None:
        return None
    return {"file_url" if source.get("type") == "url" else "file_data": url}


def _string(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
