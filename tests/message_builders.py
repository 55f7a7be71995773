"""Messages in OpenAI's chat form, for every test that needs some."""

from typing import Any


def user(text: Any = "Go on.", **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def assistant(text: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def calls(*ids: str, text: str | None = None, name: str = "tide", arguments: str = "{}") -> dict[str, Any]:
    """A message with one tool call for each id."""
    function = {"name": name, "arguments": arguments}
    return assistant(text, tool_calls=[{"id": id, "type": "function", "function": function} for id in ids])


def result(call_id: str, text: Any = "fine", **more: Any) -> dict[str, Any]:
    """The result of a tool call."""
    return {"role": "tool", "tool_call_id": call_id, "content": text, **more}
