"""Converts an MCP server's answer into a tool result.

text, resources   ──► text                 images ──► image parts
structured alone  ──► JSON, keys in order  links, sound, bytes ──► a line that describes it
"""

import json
from typing import Any

from plimsoll.messages import Part
from plimsoll.tools.tool import ToolResult

_SHOWN = ("image/png", "image/jpeg", "image/gif", "image/webp")


def result_of(answer: Any) -> ToolResult:
    """Convert the protocol's `CallToolResult`."""
    texts: list[str] = []
    parts: list[Part] = []
    for block in answer.content:
        text, part = _block(block)
        texts += [text] if text else []
        parts += [part] if part else []
    if not texts and answer.structured_content is not None:
        texts = [json.dumps(answer.structured_content, ensure_ascii=False, sort_keys=True)]
    text = "\n".join(texts)
    if answer.is_error:
        return ToolResult(
            text if text.startswith("Error") else f"Error: {text or 'no reason given'}", True, tuple(parts)
        )
    return ToolResult(text or f"({len(parts)} images)" if parts else text, parts=tuple(parts))


def _block(block: Any) -> tuple[str, Part | None]:
    if block.type == "text":
        return block.text, None
    if block.type == "image":
        return _picture(block.data, block.mime_type)
    if block.type == "resource_link":
        about = f": {block.description}" if block.description else ""
        return f"[{block.name}, {block.uri}{about}]", None
    if block.type == "resource":
        return _resource(block.resource)
    return f"[{block.type}, {getattr(block, 'mime_type', 'unknown type')}, not shown]", None


def _resource(resource: Any) -> tuple[str, Part | None]:
    text = getattr(resource, "text", None)
    if text is not None:
        return f"[{resource.uri}]\n{text}", None
    kind = resource.mime_type or "unknown type"
    if kind in _SHOWN:
        return _picture(resource.blob, kind)
    return f"[{resource.uri}, {kind}, {len(resource.blob) * 3 // 4:,} bytes, not shown]", None


def _picture(data: str, kind: str) -> tuple[str, Part | None]:
    if kind not in _SHOWN:
        return f"[{kind}, {len(data) * 3 // 4:,} bytes, not shown]", None
    return "", {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}
