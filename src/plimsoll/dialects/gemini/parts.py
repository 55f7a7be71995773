"""One canonical content part ⇄ one part of Google's wire.

    canonical part                                  Google's part
    {"type": "text", "text": …}                 ⇄  {"text": …}
    {"type": "image_url", "image_url": {…}}     ⇄  {"inlineData": {mimeType, data}} · {"fileData": {fileUri}}
    {"type": "file", "file": {…}}               ⇄  the same, for every other type
    {"type": "input_audio", …}                  ⇄  inlineData of audio/wav or audio/mp3
    {"type": "gemini", "gemini": {…}}           ⇄  any other part, unchanged (executableCode, …)

Other fields of a part (thoughtSignature, videoMetadata, …) are kept under its key `gemini`.
"""

import re
from typing import Any

from plimsoll.dialects.gemini.spelling import camel_cased
from plimsoll.dialects.openai.anthropic_content import text_of_block
from plimsoll.messages import Part, part_text
from plimsoll.messages.untyped import object_of

_DATA_URL = re.compile(r"data:([^,]*?);base64,(.*)", re.DOTALL)
_TEXT_TYPES = frozenset({"text", "input_text", "output_text", "refusal"})
_CONTENT = frozenset({"text", "inlineData", "fileData"})
_AUDIO = {"audio/wav": "wav", "audio/mp3": "mp3"}
_AUDIO_TYPES = {name: mime for mime, name in _AUDIO.items()}


def part_to_wire(part: Part) -> dict[str, Any] | None:
    """The wire part for a canonical part; None if there is nothing to send."""
    kind, extras = part.get("type"), part.get("gemini")
    extras = object_of(extras)
    if kind == "gemini":
        return dict(extras)
    if kind in _TEXT_TYPES or (kind is None and isinstance(part.get("text"), str)):
        text = part_text(part)
        return {"text": text, **extras} if text else None
    data = _data_of(part)
    if data is None:
        return {"text": text_of_block({"type": "untyped", **part})}
    return {
        **data,
        **{name: value for name, value in extras.items() if name not in ("mimeType", "displayName")},
    }


def part_from_wire(wire: Any) -> Part | None:
    """The canonical part for a wire part; None if it is empty."""
    if not isinstance(wire, dict):
        return {"type": "text", "text": str(wire)}
    wire = camel_cased(wire)
    extras = {name: value for name, value in wire.items() if name not in _CONTENT and value is not None}
    if isinstance(wire.get("text"), str):
        part: Part | None = {"type": "text", "text": wire["text"]} if wire["text"] else None
    elif isinstance(inline := wire.get("inlineData"), dict):
        part = _from_inline(inline)
        extras |= {"displayName": inline["displayName"]} if inline.get("displayName") else {}
    elif isinstance(stored := wire.get("fileData"), dict):
        part = _from_stored(stored)
        extras |= {name: stored[name] for name in ("mimeType", "displayName") if stored.get(name)}
    else:
        return {"type": "gemini", "gemini": wire}
    return {**part, "gemini": extras} if part and extras else part


def _data_of(part: Part) -> dict[str, Any] | None:
    """An image, a file or audio as inline or stored data; None for other parts."""
    extras = object_of(part.get("gemini"))
    name = {"displayName": extras["displayName"]} if extras.get("displayName") else {}
    audio = part.get("input_audio")
    if part.get("type") == "input_audio" and isinstance(audio, dict):
        mime = _AUDIO_TYPES.get(str(audio.get("format")), f"audio/{audio.get('format')}")
        return {"inlineData": {"mimeType": mime, "data": str(audio.get("data") or ""), **name}}
    url = _url_of(part)
    if not url:
        return None
    found = _DATA_URL.fullmatch(url)
    if found:
        return {"inlineData": {"mimeType": found[1], "data": found[2], **name}}
    known = {"mimeType": extras["mimeType"]} if extras.get("mimeType") else {}
    return {"fileData": {**known, "fileUri": url, **name}}


def _url_of(part: Part) -> str:
    if part.get("type") in ("image_url", "input_image"):
        image = part.get("image_url")
        return str((image.get("url") if isinstance(image, dict) else image) or "")
    file = part.get("file")
    if part.get("type") != "file" or not isinstance(file, dict):
        return ""
    return str(file.get("file_data") or file.get("file_url") or "")


def _from_inline(inline: dict[str, Any]) -> Part:
    mime, data = str(inline.get("mimeType") or ""), str(inline.get("data") or "")
    if mime in _AUDIO:
        return {"type": "input_audio", "input_audio": {"data": data, "format": _AUDIO[mime]}}
    url = f"data:{mime};base64,{data}"
    if mime.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "file", "file": {"file_data": url}}


def _from_stored(stored: dict[str, Any]) -> Part:
    uri = str(stored.get("fileUri") or "")
    if str(stored.get("mimeType") or "").startswith("image/"):
        return {"type": "image_url", "image_url": {"url": uri}}
    return {"type": "file", "file": {"file_url": uri}}
