"""Calls of tools that the client runs ⇄ canonical tool calls.

    function_call       name and arguments unchanged
    custom_tool_call    the free text is the argument `input`
    local_shell_call, shell_call, apply_patch_call, computer_call, tool_search_call, …
                        the type is the tool name, and the action is its arguments

A tool in a namespace is called `namespace__name`. Every other dialect sees an ordinary function call.
"""

import json
from typing import Any

from plimsoll.messages import arguments_of, arguments_text, call_name

Item = dict[str, Any]
_ITEM_FIELDS = frozenset({"type", "id", "call_id", "status"})
SEPARATOR = "__"
FREE_TEXT = "input"  # the argument with the text of a custom tool


def is_call(item: Item) -> bool:
    """Whether an item is a call that the client answers with an output."""
    return str(item.get("type")).endswith("_call") and isinstance(item.get("call_id"), str)


def qualified(name: str, namespace: Any) -> str:
    """The name of a tool, with its namespace."""
    return f"{namespace}{SEPARATOR}{name}" if isinstance(namespace, str) and namespace else name


def call_from(item: Item) -> tuple[dict[str, Any], Item]:
    """The canonical call, and the item's other fields."""
    kind, rest = item["type"], dict(item)
    call_id = rest.pop("call_id")
    if kind == "function_call" and isinstance(item.get("arguments"), str):
        name, arguments = str(rest.pop("name", "")), rest.pop("arguments")
        return _call(call_id, qualified(name, item.get("namespace")), arguments), rest
    if kind == "custom_tool_call" and isinstance(item.get("input"), str):
        name, text = str(rest.pop("name", "")), rest.pop("input")
        named = qualified(name, item.get("namespace"))
        return _call(call_id, named, json.dumps({FREE_TEXT: text}, ensure_ascii=False)), rest
    fields = {key: value for key, value in item.items() if key not in _ITEM_FIELDS}
    rest = {key: value for key, value in rest.items() if key in _ITEM_FIELDS}
    return _call(call_id, kind.removesuffix("_call"), json.dumps(fields, ensure_ascii=False)), rest


def call_item(call: dict[str, Any], rest: Item) -> Item:
    """The item of a canonical call; `rest` contains its other fields."""
    kind = rest.get("type", "function_call")
    base = {"type": kind, **rest, "call_id": str(call.get("id") or "")}
    name = call_name(call)
    if isinstance(rest.get("namespace"), str):
        name = name.removeprefix(rest["namespace"] + SEPARATOR)
    if kind == "function_call":
        return {**base, "name": name, "arguments": arguments_text(call) or "{}"}
    arguments = arguments_of(call)
    if kind == "custom_tool_call":
        text = arguments.get(FREE_TEXT)
        free = text if isinstance(text, str) else arguments_text(call)
        return {**base, "name": name, FREE_TEXT: free}
    return {**base, **arguments}


def _call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
