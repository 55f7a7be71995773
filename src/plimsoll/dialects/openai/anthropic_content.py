"""Converts Anthropic-only content for OpenAI's wire to text.

document of text           ->   its title and context, then the text
search_result              ->   title, source, text
is_error                   ->   "Error: " before the result
any other block            ->   "[web_search_tool_result block left out]"
"""

from collections.abc import Iterator
from typing import Any

from plimsoll.dialects.blocks.parts import part_from_block
from plimsoll.messages import Part
from plimsoll.messages.untyped import list_of, object_of

ERROR_MARK = "Error: "
_NAMELESS = "document.pdf"  # OpenAI requires a name for every file


def flattened(part: Any) -> Iterator[Any]:
    """The parts for one part: a document's context, then its blocks."""
    if not isinstance(part, dict):
        yield part
        return
    context = object_of(part.get("anthropic") if part.get("type") == "file" else part).get("context")
    if part.get("type") in ("file", "document") and isinstance(context, str) and context:
        yield {"type": "text", "text": context}
    source = part.get("source")
    if part.get("type") == "document" and isinstance(source, dict) and source.get("type") == "content":
        content = source.get("content")
        if isinstance(part.get("title"), str):
            yield {"type": "text", "text": part["title"]}
        if isinstance(content, str):
            yield {"type": "text", "text": content}
        else:
            yield from filter(None, map(part_from_block, list_of(content)))
        return
    yield part


def text_of_block(block: Part) -> str:
    """A block without an equivalent here, as text."""
    source, title = block.get("source"), block.get("title")
    if block.get("type") == "document" and isinstance(source, dict) and source.get("type") == "text":
        return "\n".join(filter(None, [title, str(source.get("data") or "")]))
    if block.get("type") == "search_result":
        content = block.get("content")
        texts = [str(part.get("text") or "") for part in content or () if isinstance(part, dict)]
        return "\n".join(filter(None, [title, source if isinstance(source, str) else None, *texts]))
    return f"[{block['type']} block left out]"


def named_file(part: Part) -> Part:
    """A file part with a name."""
    file = part.get("file")
    if not isinstance(file, dict) or file.get("filename") or "file_data" not in file:
        return part
    return {**part, "file": {"filename": _NAMELESS, **file}}


def with_error_mark(text: str) -> str:
    """The text of a failed result with "Error: " before it, unless it starts with that word."""
    return text if text.lstrip().lower().startswith("error") else (ERROR_MARK + text).rstrip()
