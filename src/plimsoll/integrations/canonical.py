"""Builds canonical messages from the pieces that hosts keep: texts, images, calls, results."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from plimsoll.dialects.blocks.assistant import content_from
from plimsoll.messages import Message, Part


def text_part(text: str) -> Part:
    """A piece of text."""
    return {"type": "text", "text": text}


def image_part(url: str) -> Part:
    """An image by its address; a `data:` URL holds its bytes."""
    return {"type": "image_url", "image_url": {"url": url}}


def message_of(role: str, parts: Sequence[Part], calls: Sequence[Mapping[str, Any]] = ()) -> Message:
    """What somebody said, and the calls that go with it."""
    message: Message = {"role": role, "content": content_from(parts)}
    return {**message, "tool_calls": list(calls)} if calls else message


def call_of(call_id: str, name: str, arguments: Any) -> dict[str, Any]:
    """A tool call; arguments that the host keeps as text stay byte for byte."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def result_of(call_id: str, parts: Sequence[Part], *, name: str = "", failed: bool = False) -> Message:
    """The result of a call."""
    message: Message = {"role": "tool", "tool_call_id": call_id, "content": content_from(parts)}
    return {**message, **({"name": name} if name else {}), **({"is_error": True} if failed else {})}


def function_tool(name: str, description: str, parameters: Any) -> dict[str, Any]:
    """A tool in OpenAI function form."""
    function = {"name": name, "description": description, "parameters": parameters or {"type": "object"}}
    return {"type": "function", "function": function}
