"""Canonical tools and `tool_choice` ⇄ `tools` and `toolConfig`.

    {"type": "function", "function": {…}}      ⇄   functionDeclarations, all in one entry
    any other Google tool, unchanged           ⇄   itself (googleSearch, codeExecution, …)
    auto · required · none                     ⇄   mode AUTO · ANY · NONE
    one function, allowed_tools                ⇄   mode ANY or AUTO with allowedFunctionNames

Schemas are JSON Schema (`parametersJsonSchema`); Google's `parameters`, with upper-case types, are accepted too.
"""

from collections.abc import Iterable
from typing import Any

from plimsoll.dialects.gemini.spelling import camel_cased
from plimsoll.dialects.request import Tool, ToolChoice, function_names
from plimsoll.dialects.schemas import json_schema
from plimsoll.messages.untyped import object_of

_MODES = {"AUTO": "auto", "VALIDATED": "auto", "ANY": "required", "NONE": "none"}
_WORDS = {"auto": "AUTO", "required": "ANY", "none": "NONE"}
_DECLARED = frozenset({"name", "description", "parameters", "parametersJsonSchema"})
_EMPTY = {"type": "object", "properties": {}}


def encode_tools(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """The `tools` of a request: the functions in one entry, then Google's own."""
    declared: list[dict[str, Any]] = []
    own: list[dict[str, Any]] = []
    for tool in tools:
        function = tool.get("function")
        if tool.get("type") == "function" and isinstance(function, dict):
            declared.append(_declaration(function, tool.get("gemini")))
        elif "type" not in tool:
            own.append(dict(tool))
    return [*([{"functionDeclarations": declared}] if declared else []), *own]


def decode_tools(tools: Any) -> tuple[Tool, ...]:
    """The canonical tools."""
    found: list[Tool] = []
    for entry in camel_cased(tools) if isinstance(tools, list) else ():
        if not isinstance(entry, dict):
            continue
        declared = entry.get("functionDeclarations")
        found += (
            [_tool(item) for item in declared if isinstance(item, dict)] if isinstance(declared, list) else []
        )
        if rest := {name: value for name, value in entry.items() if name != "functionDeclarations"}:
            found.append(rest)
    return tuple(found)


def encode_choice(choice: ToolChoice | None) -> dict[str, Any] | None:
    """The `functionCallingConfig` of a request; None leaves it to the model."""
    if isinstance(choice, dict):
        allowed = choice.get("allowed_tools")
        if isinstance(allowed, dict):
            mode = "ANY" if allowed.get("mode") == "required" else "VALIDATED"
            return {"mode": mode, "allowedFunctionNames": function_names(allowed.get("tools") or ())}
        return {"mode": "ANY", "allowedFunctionNames": function_names([choice])}
    return None if choice is None else {"mode": _WORDS.get(choice, "AUTO")}


def decode_choice(config: Any) -> ToolChoice | None:
    """The canonical `tool_choice`."""
    if not isinstance(config, dict) or str(config.get("mode")) not in _MODES:
        return None
    names, word = config.get("allowedFunctionNames"), _MODES[config["mode"]]
    names = [str(name) for name in names] if isinstance(names, list) else []
    if not names or word == "none":
        return word
    functions = [{"type": "function", "function": {"name": name}} for name in names]
    if len(names) == 1 and word == "required":
        return functions[0]
    return {"type": "allowed_tools", "allowed_tools": {"mode": word, "tools": functions}}


def _declaration(function: dict[str, Any], extras: Any) -> dict[str, Any]:
    declared: dict[str, Any] = {"name": function.get("name")}
    if function.get("description") is not None:
        declared["description"] = function["description"]
    parameters = function.get("parameters")
    if isinstance(parameters, dict) and parameters:
        declared["parametersJsonSchema"] = parameters
    return {**declared, **object_of(extras)}


def _tool(declared: dict[str, Any]) -> Tool:
    function: dict[str, Any] = {"name": str(declared.get("name") or "")}
    if declared.get("description") is not None:
        function["description"] = declared["description"]
    exact = declared.get("parametersJsonSchema")
    function["parameters"] = exact or json_schema(declared.get("parameters")) or dict(_EMPTY)
    rest = {name: value for name, value in declared.items() if name not in _DECLARED and value is not None}
    return {"type": "function", "function": function, **({"gemini": rest} if rest else {})}
