"""Tools and `tool_choice`: OpenAI's shape ⇄ Anthropic's.

    {"type": "function", "function": {name, description, parameters}}  ⇄  {name, description, input_schema}
    auto · none · required · {"type": "function", …}                   ⇄  auto · none · any · tool
    parallel_tool_calls: false                                         ⇄  disable_parallel_tool_use: true

Anthropic's server tools (web search, code execution, …) are in the canonical list
unchanged; OpenAI's dialect omits them.
"""

from collections.abc import Iterable
from typing import Any

from plimsoll.dialects.blocks.parts import part_with_extras, with_extras
from plimsoll.dialects.request import Tool, ToolChoice
from plimsoll.messages.untyped import object_of

_TOOL_KEYS = {"type", "name", "description", "input_schema", "strict"}
_TO_WIRE = {"auto": "auto", "none": "none", "required": "any"}
_FROM_WIRE = {wire: choice for choice, wire in _TO_WIRE.items()}


def encode_tools(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """The `tools` of a request, in the order given."""
    return [wire for tool in tools if (wire := _encode_tool(tool)) is not None]


def decode_tools(tools: Any) -> tuple[Tool, ...]:
    """The canonical tools."""
    return (
        tuple(_decode_tool(tool) for tool in tools if isinstance(tool, dict))
        if isinstance(tools, list)
        else ()
    )


def encode_choice(choice: ToolChoice | None, parallel: bool | None) -> dict[str, Any] | None:
    """The `tool_choice` of a request; None leaves it to the model."""
    if isinstance(choice, dict):
        named = object_of(choice.get("function")).get("name")
        wire = {"type": "tool", "name": named} if named else {"type": "auto"}
    elif choice is None and parallel is not False:
        return None
    else:
        wire = {"type": _TO_WIRE.get(choice or "auto", "auto")}
    # Without tools, nothing runs in parallel, and Anthropic rejects the field.
    return (
        {**wire, "disable_parallel_tool_use": True} if parallel is False and wire["type"] != "none" else wire
    )


def decode_choice(choice: Any) -> tuple[ToolChoice | None, bool | None]:
    """The canonical `tool_choice` and `parallel_tool_calls`."""
    if not isinstance(choice, dict):
        return None, None
    parallel = False if choice.get("disable_parallel_tool_use") else None
    if choice.get("type") == "tool":
        return {"type": "function", "function": {"name": str(choice.get("name") or "")}}, parallel
    return _FROM_WIRE.get(str(choice.get("type")), "auto"), parallel


def _encode_tool(tool: Tool) -> dict[str, Any] | None:
    function = tool.get("function")
    if tool.get("type") == "function" and isinstance(function, dict):
        wire: dict[str, Any] = {"name": function.get("name")}
        if function.get("description") is not None:
            wire["description"] = function["description"]
        wire["input_schema"] = function.get("parameters") or {"type": "object", "properties": {}}
        if function.get("strict") is not None:
            wire["strict"] = function["strict"]
        return with_extras(wire, tool)
    # OpenAI's custom tools take free text, which has no equivalent here.
    return None if "custom" in tool else dict(tool)


def _decode_tool(tool: dict[str, Any]) -> Tool:
    if tool.get("type") not in (None, "custom"):
        return dict(tool)
    function: dict[str, Any] = {"name": str(tool.get("name") or "")}
    if tool.get("description") is not None:
        function["description"] = tool["description"]
    function["parameters"] = tool.get("input_schema") or {"type": "object", "properties": {}}
    if tool.get("strict") is not None:
        function["strict"] = tool["strict"]
    return part_with_extras({"type": "function", "function": function}, tool, _TOOL_KEYS)
