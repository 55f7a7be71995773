"""The tool by which the model reads back what left its view, page by page to the last character."""

import json
from typing import Any

from plimsoll.agent import Journal
from plimsoll.messages import text_of
from plimsoll.tools import Definition, FunctionTool, ToolContext, ToolResult

PAGE = 8_000
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


def recall_tool(journal: Journal) -> FunctionTool:
    """The tool for one conversation."""

    async def recall(arguments: dict[str, Any], _context: ToolContext) -> ToolResult:
        handle, offset = str(arguments["handle"]), int(arguments.get("offset", 0))
        message = await journal.recall(handle)
        if message is None:
            return ToolResult(
                f"Error: nothing in this conversation has the handle {handle!r}.", is_error=True
            )
        text = text_of(message)
        page = text[offset : offset + PAGE]
        following = offset + len(page) if offset + len(page) < len(text) else None
        return ToolResult(
            json.dumps({"text": page, "characters": len(text), "next": following}, ensure_ascii=False)
        )

    return FunctionTool(Definition("recall", _DESCRIPTION, _PARAMETERS), recall, is_safe_in_parallel=True)
