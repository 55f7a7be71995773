"""The outputs of calls ⇄ tool messages.

A string or a list of parts is the content, and the image of a screenshot. Any other output (of a shell) becomes JSON
text, and the original is stored with it; a message whose content has changed since is written with its new text.
"""

import json
from typing import Any

from plimsoll.dialects.openai.anthropic_content import with_error_mark
from plimsoll.dialects.responses.parts import EXTRAS, content_from, wire_parts
from plimsoll.messages import Message, parts_of, text_of

Item = dict[str, Any]
_SHELL = "shell_call_output"
_SCREENSHOT = "computer_call_output"
# In place of a screenshot that was removed: its item accepts only an image.
_EMPTY_PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAA"
    "C0lEQVR42mNgAAIAAAUAAen63NgAAAAASUVORK5CYII="
)
_MODERN = frozenset({"function_call_output", "custom_tool_call_output"})


def is_output(item: Item) -> bool:
    """Whether an item answers a call."""
    return str(item.get("type")).endswith("_output") and isinstance(_call_id(item), str)


def tool_message(item: Item) -> Message:
    """The canonical tool message."""
    output = item.get("output")
    message: Message = {"role": "tool", "tool_call_id": _call_id(item)}
    if _is_screenshot(item):
        rest = {key: value for key, value in item.items() if key not in ("call_id", "output")}
        facts = {key: value for key, value in item["output"].items() if key != "image_url"}
        image = {"type": "image_url", "image_url": {"url": item["output"]["image_url"]}}
        return {**message, "content": [image], EXTRAS: {"item": rest, "screenshot": facts}}
    is_content = item["type"] in _MODERN and isinstance(output, list)
    message["content"] = content_from(output) if is_content or isinstance(output, str) else _as_text(item)
    if output_item(message, {}) == item:
        return message
    if is_content or isinstance(output, str):
        rest = {key: value for key, value in item.items() if key not in ("call_id", "output")}
        own: dict[str, Any] = {"item": rest}
        if isinstance(output, list):
            own["is_list"] = True
        return {**message, EXTRAS: own}
    return {**message, EXTRAS: {"item": item, "told": message["content"]}}


def output_item(message: Message, own: dict[str, Any]) -> Item:
    """The item of a canonical tool message."""
    rest, content = own.get("item") or {"type": "function_call_output"}, message.get("content")
    if "told" in own and content == own["told"]:
        return dict(rest)
    answered = str(message.get("tool_call_id") or "")
    names = {} if "call_id" not in rest and rest.get("id") == answered else {"call_id": answered}
    if "told" in own:
        return {**rest, **names, "output": _shortened(rest, text_of(message))}
    if "screenshot" in own:
        return {**rest, **names, "output": {**own["screenshot"], "image_url": _image_in(message)}}
    if isinstance(content, str) and not own.get("is_list"):
        text = with_error_mark(content) if message.get("is_error") else content
        return {**rest, **names, "output": text}
    parts = wire_parts(parts_of(message), is_output=False)
    if message.get("is_error"):
        parts = [{"type": "input_text", "text": with_error_mark("")}, *parts]
    return {**rest, **names, "output": parts}


def _is_screenshot(item: Item) -> bool:
    output = item.get("output")
    is_object = item.get("type") == _SCREENSHOT and isinstance(output, dict)
    return is_object and isinstance(item["output"].get("image_url"), str)


def _image_in(message: Message) -> str:
    """The image of a screenshot's message."""
    images = [part["image_url"] for part in parts_of(message) if part.get("type") == "image_url"]
    return str(images[0]["url"]) if images else _EMPTY_PIXEL


def _call_id(item: Item) -> Any:
    return item.get("call_id", item.get("id"))


def _as_text(item: Item) -> str:
    shown = {key: value for key, value in item.items() if key not in ("type", "id", "call_id", "status")}
    return json.dumps(shown.get("output", shown), ensure_ascii=False)


def _shortened(item: Item, text: str) -> Any:
    """A shortened output for a tool that does not accept plain text, in the form of command output."""
    if item.get("type") != _SHELL:
        return text
    return [{"stdout": text, "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]
