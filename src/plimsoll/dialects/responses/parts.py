"""Content parts: the Responses API ⇄ canonical.

    input_text, output_text     ⇄   text
    input_image                 ⇄   image_url
    input_file                  ⇄   file
    refusal                     ⇄   refusal
    anything else               ⇄   a text that names it, with the part itself under `responses`

Other fields of a part are kept under its key `responses`, so that it is encoded unchanged.
"""

from collections.abc import Iterator
from typing import Any

from plimsoll.dialects.openai.anthropic_content import flattened, named_file, text_of_block
from plimsoll.messages import Part
from plimsoll.messages.untyped import object_of

EXTRAS = "responses"
_TEXTS = frozenset({"input_text", "output_text", "text", "summary_text", "reasoning_text"})
_FILE_KEYS = ("file_id", "file_data", "file_url", "filename")


def part_from(wire: Any) -> Part:
    """The canonical part."""
    if not isinstance(wire, dict):
        return {"type": "text", "text": str(wire)}
    part, rest = _read(wire)
    if written(part, str(wire.get("type")) == "output_text") != wire:
        part[EXTRAS] = rest
    return part


def parts_from(content: Any) -> list[Part]:
    """The canonical parts of a list."""
    return [part_from(part) for part in content] if isinstance(content, list) else []


def content_from(content: Any) -> str | list[Part]:
    """Canonical content; a single plain text becomes a string."""
    return content if isinstance(content, str) else shortest(parts_from(content))


def shortest(parts: list[Part]) -> str | list[Part]:
    """Parts in their shortest form: a single non-empty plain text becomes a string."""
    if len(parts) == 1 and parts[0].keys() == {"type", "text"} and parts[0]["text"]:
        return str(parts[0]["text"])
    return parts if parts else ""


def wire_parts(content: Any, *, is_output: bool) -> list[dict[str, Any]]:
    """Canonical content as wire parts; `is_output`: the model's text."""
    if isinstance(content, str):
        return [_text(content, is_output)] if content else []
    if not isinstance(content, list):
        return []
    return [written(inner, is_output) for part in content for inner in _plain(part)]


def written(part: Any, is_output: bool) -> dict[str, Any]:
    """One wire part."""
    if not isinstance(part, dict):
        return _text(str(part), is_output)
    own = part.get(EXTRAS)
    if isinstance(own, dict) and "type" in own:
        return _updated(own, part)
    kind = part.get("type")
    if kind in ("image_url", "file"):
        return _media(part)
    if kind == "refusal":
        refusal = str(part.get("refusal") or "")
        return {"type": "refusal", "refusal": refusal} if is_output else _text(refusal, False)
    if kind in _TEXTS or kind is None:
        return _text(str(part.get("text") or ""), is_output)
    if kind == "input_image":
        return {key: value for key, value in part.items() if key not in ("cache_control", "anthropic")}
    return _text(text_of_block(part), is_output)


def _media(part: Part) -> dict[str, Any]:
    """An image or a file as a wire part."""
    if part["type"] == "image_url":
        image = part.get("image_url")
        image = image if isinstance(image, dict) else {"url": image}
        detail = {"detail": image["detail"]} if "detail" in image else {}
        return {"type": "input_image", "image_url": image.get("url"), **detail}
    file = object_of(named_file(part).get("file"))
    return {"type": "input_file", **{key: file[key] for key in _FILE_KEYS if key in file}}


def _plain(part: Any) -> Iterator[Any]:
    """The parts for one part; a part in this wire format stays unchanged."""
    if isinstance(part, dict) and isinstance(part.get(EXTRAS), dict):
        yield part
    else:
        yield from flattened(part)


def _text(text: str, is_output: bool) -> dict[str, Any]:
    return {"type": "output_text" if is_output else "input_text", "text": text}


def _read(wire: dict[str, Any]) -> tuple[Part, dict[str, Any]]:
    """The canonical part, and the wire fields to store if it lacks some."""
    kind, rest = wire.get("type"), dict(wire)
    if kind in _TEXTS and isinstance(wire.get("text"), str):
        rest.pop("text")
        return {"type": "text", "text": wire["text"]}, rest
    if kind == "refusal" and isinstance(wire.get("refusal"), str):
        return {"type": "refusal", "refusal": wire["refusal"]}, rest
    if kind == "input_image" and isinstance(wire.get("image_url"), str):
        detail = {"detail": wire["detail"]} if isinstance(wire.get("detail"), str) else {}
        return {"type": "image_url", "image_url": {"url": wire["image_url"], **detail}}, rest
    if kind == "input_file":
        file = {key: wire[key] for key in _FILE_KEYS if isinstance(wire.get(key), str)}
        return {"type": "file", "file": file}, rest
    return {"type": "text", "text": f"[{kind or 'untyped'} part]"}, rest


def _updated(own: dict[str, Any], part: Part) -> dict[str, Any]:
    """A wire part with the current text."""
    if own.get("type") in _TEXTS:
        return {**own, "text": str(part.get("text") or "")}
    return dict(own)
