"""Tools and `tool_choice`: the Responses API ⇄ OpenAI chat's shape.

    {"type": "function", name, description, parameters, strict}   ⇄   {"type": "function", "function": {…}}
    {"type": "custom", …}                                         ⇄   a function with one text, `input`
    {"type": "namespace", name, tools}                            ⇄   its tools, each as `namespace__name`
    web_search, local_shell, mcp, …                               ⇄   unchanged; other dialects omit them

A tool that is not a plain function keeps its original definition under the key `responses`, so that it is encoded
unchanged. A namespace is written at the position of its first tool.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from plimsoll.dialects.request import Tool, ToolChoice
from plimsoll.dialects.responses.calls import FREE_TEXT, qualified
from plimsoll.dialects.responses.parts import EXTRAS
from plimsoll.messages.untyped import list_of

_CALLS = {
    "function": "function_call",
    "custom": "custom_tool_call",
}  # the items that call a tool of this type
_FUNCTION_KEYS = ("name", "description", "parameters", "strict")
_NOTHING: dict[str, Any] = {"type": "object", "properties": {}}


def decode_tools(tools: Iterable[Any]) -> tuple[Tool, ...]:
    """The canonical tools."""
    return tuple(decoded for tool in tools if isinstance(tool, dict) for decoded in _decoded(tool))


def encode_tools(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """The tools in wire format."""
    return [wire for tool in tools if (wire := _encoded(tool)) is not None]


def decode_choice(choice: Any) -> ToolChoice | None:
    """The canonical `tool_choice`."""
    if not isinstance(choice, dict):
        return choice if isinstance(choice, str) else None
    kind = choice.get("type")
    if kind in ("function", "custom"):
        return {"type": "function", "function": {"name": choice.get("name")}}
    if kind == "allowed_tools":
        named = [decode_choice(tool) for tool in (list_of(choice.get("tools")))]
        return {"type": kind, "allowed_tools": {"mode": choice.get("mode", "auto"), "tools": named}}
    return dict(choice)


def encode_choice(choice: ToolChoice | None, tools: Iterable[dict[str, Any]]) -> Any:
    """The `tool_choice` of a request with these tools."""
    if not isinstance(choice, dict):
        return choice
    if choice.get("type") == "function":
        name = choice.get("function", {}).get("name")
        kinds = (str(tool.get("type")) for tool in tools if tool.get("name") == name)
        return {"type": next(kinds, "function"), "name": name}
    if choice.get("type") == "allowed_tools" and isinstance(choice.get("allowed_tools"), dict):
        allowed = choice["allowed_tools"]
        known = list(tools)
        named = [encode_choice(tool, known) for tool in allowed.get("tools") or ()]
        return {"type": "allowed_tools", "mode": allowed.get("mode"), "tools": named}
    return dict(choice)


def tool_names(tools: Iterable[Any]) -> dict[str, dict[str, Any]]:
    """For each canonical name, the type and namespace of a call item of that tool."""
    return dict(_names(tools, None))


def _names(tools: Iterable[Any], namespace: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for tool in tools:
        if not isinstance(tool, dict):
            continue
        kind, name = tool.get("type"), str(tool.get("name") or "")
        if kind == "namespace":
            yield from _names(tool.get("tools") or (), name)
        elif kind in _CALLS:
            own = {"namespace": namespace} if namespace else {}
            yield qualified(name, namespace), {"type": _CALLS[kind], **own}


def _decoded(tool: dict[str, Any]) -> Iterator[Tool]:
    kind = tool.get("type")
    if kind == "function":
        yield _function(tool)
    elif kind == "custom":
        yield {"type": "function", "function": _free_text(tool), EXTRAS: tool}
    elif kind == "namespace" and isinstance(tool.get("tools"), list) and tool["tools"]:
        inner = [item for item in tool["tools"] if isinstance(item, dict)]
        for index, entry in enumerate(inner):
            named = {**entry, "name": qualified(str(entry.get("name")), tool.get("name"))}
            function = _free_text(named) if entry.get("type") == "custom" else _function_of(named)
            yield {"type": "function", "function": function, EXTRAS: {} if index else tool}
    else:
        yield dict(tool)


def _function(tool: dict[str, Any]) -> Tool:
    plain: Tool = {"type": "function", "function": _function_of(tool)}
    return plain if _encoded(plain) == tool else {**plain, EXTRAS: tool}


def _function_of(tool: dict[str, Any]) -> dict[str, Any]:
    return {key: tool[key] for key in _FUNCTION_KEYS if key in tool}


def _free_text(tool: dict[str, Any]) -> dict[str, Any]:
    """A custom tool as a function with its text as the argument."""
    wanted = tool.get("format")
    grammar = str(wanted.get("definition") or "") if isinstance(wanted, dict) else ""
    description = f"The text. It follows this grammar:\n{grammar}" if grammar else "The text."
    schema = {
        "type": "object",
        "properties": {FREE_TEXT: {"type": "string", "description": description}},
        "required": [FREE_TEXT],
        "additionalProperties": False,
    }
    return {
        "name": tool.get("name"),
        "description": str(tool.get("description") or ""),
        "parameters": schema,
    }


def _encoded(tool: Tool) -> dict[str, Any] | None:
    own = tool.get(EXTRAS)
    if isinstance(own, dict):
        return dict(own) or None
    function = tool.get("function")
    if tool.get("type") == "function" and isinstance(function, dict):
        wire = {"type": "function", **{key: function[key] for key in _FUNCTION_KEYS if key in function}}
        if wire.get("parameters") is None:
            wire["parameters"] = _NOTHING
        return wire
    if tool.get("type") == "custom" and isinstance(tool.get("custom"), dict):
        return {"type": "custom", **_custom(tool["custom"])}
    return {key: value for key, value in tool.items() if key not in ("anthropic", "gemini", "cache_control")}


def _custom(custom: dict[str, Any]) -> dict[str, Any]:
    """A custom tool in OpenAI chat's shape, which has a separate field for the grammar."""
    wanted = custom.get("format")
    if isinstance(wanted, dict) and isinstance(wanted.get("grammar"), dict):
        return {**custom, "format": {"type": "grammar", **wanted["grammar"]}}
    return dict(custom)
