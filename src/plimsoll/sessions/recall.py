"""The recall tool: the model reads back content that left its view, page by page."""

import json
from collections.abc import Callable
from typing import Any

from plimsoll.agent import Journal
from plimsoll.errors import UserError
from plimsoll.messages import text_of
from plimsoll.models import estimate_tokens
from plimsoll.tools import Definition, FunctionTool, ToolContext, ToolResult, failed

PAGE = 8_000  # characters
_SMALLEST_PAGE = 64  # characters
_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "handle": {"type": "string", "description": "The handle that a stub names, such as h:3f2a9c1b7d."},
        "offset": {
            "type": "integer",
            "minimum": 0,
            "description": "First character to read; 0 is the beginning.",
        },
    },
    "required": ["handle"],
    "additionalProperties": False,
}
_DESCRIPTION = (
    "Read back the full text behind a handle. Older tool results and long messages are shown shortened, with a "
    "handle; this returns the original, a page at a time (`next` is the offset of the following page)."
)


def recall_tool(journal: Journal, max_tokens: Callable[[], int]) -> FunctionTool:
    """The tool for one conversation; a page has at most `max_tokens()` tokens."""

    async def recall(arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        handle, offset = str(arguments["handle"]), int(arguments.get("offset", 0))
        try:
            message = await journal.recall(handle)
        except UserError as error:
            return failed(str(error))
        if message is None:
            return failed(f"no content in this conversation has the handle {handle!r}.")
        return ToolResult(page_of(text_of(message), offset, max_tokens(), context.output_limit))

    return FunctionTool(Definition("recall", _DESCRIPTION, _PARAMETERS), recall, is_safe_in_parallel=True)


def page_of(text: str, offset: int, max_tokens: int, max_characters: int) -> str:
    """The page that starts at `offset`, small enough not to be shortened itself."""
    size = PAGE
    while True:
        page = text[offset : offset + size]
        following = offset + len(page) if offset + len(page) < len(text) else None
        answer = json.dumps({"text": page, "characters": len(text), "next": following}, ensure_ascii=False)
        fits = len(answer) <= max_characters and estimate_tokens(answer) <= max_tokens
        if fits or size <= _SMALLEST_PAGE:
            return answer
        size = max(_SMALLEST_PAGE, min(size, len(page)) * 3 // 4)
