"""The rules of OpenAI's Responses API, with its error messages."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from plimsoll.dialects.responses.calls import is_call
from plimsoll.dialects.responses.compaction_items import is_compaction
from plimsoll.dialects.responses.items import is_of_answer
from plimsoll.dialects.responses.outputs import is_output
from plimsoll.dialects.responses.request import input_items
from plimsoll.errors import InvalidConversation
from plimsoll.messages.untyped import list_of, object_of
from plimsoll.testing.scripted_server.rules.checked_request import CheckedRequest
from plimsoll.testing.scripted_server.rules.images import openai_images
from plimsoll.testing.scripted_server.rules.refusal import Refusal, bad

Item = dict[str, Any]
_MIN_LIMIT = 16
_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_ROLES = ("assistant", "system", "developer", "user")
_CALLS = ("function_call", "custom_tool_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_PREFIXES = {"message": "msg_", "reasoning": "rs_", "function_call": "fc_", "custom_tool_call": "ctc_"}


def shape_refusals(body: dict[str, Any]) -> Iterator[Refusal]:
    """The errors in the basic shape of a body, checked before it is decoded."""
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield bad("Missing required parameter: 'model'.", "model", "missing_required_parameter")
    if body.get("previous_response_id"):
        text = f"Previous response with id '{body['previous_response_id']}' not found."
        yield bad(text, "previous_response_id", "previous_response_not_found")
    if body.get("input") is None:
        yield bad("Missing required parameter: 'input'.", "input", "missing_required_parameter")
        return
    try:
        items = input_items(body)
    except InvalidConversation as error:
        yield bad(f"Invalid type for 'input': {error}.", "input", "invalid_type")
        return
    if not items:
        yield bad("Invalid 'input': empty array.", "input", "empty_array")


def refusals(checked: CheckedRequest, required: Mapping[str, str], seal: str) -> Iterator[Refusal]:
    """The errors that reject a request. `required` maps an item to the reasoning item it depends on."""
    items = input_items(checked.body)
    yield from _items(items)
    yield from openai_images(items)
    yield from _pairs(items)
    yield from _reasoning_items(items, required)
    yield from _encrypted(items, seal)
    yield from _limits(checked)
    yield from _effort(checked)
    if checked.prompt_tokens + (checked.request.max_tokens or 0) > checked.card.window:
        text = "Your input exceeds the context window of this model. Please adjust your input and try again."
        yield bad(text, "input", "context_length_exceeded")


def _items(items: list[Item]) -> Iterator[Refusal]:
    """Ids, names and contents of single items."""
    seen: set[str] = set()
    for index, item in enumerate(items):
        kind, item_id, place = str(item.get("type", "message")), item.get("id"), f"input[{index}]"
        if isinstance(item_id, str):
            prefix = _PREFIXES.get(kind, "")
            if not item_id.startswith(prefix):
                text = f"Invalid '{place}.id': '{item_id}'. Expected an ID that begins with '{prefix.rstrip('_')}'."
                yield bad(text, f"{place}.id", "invalid_value")
            if item_id in seen:
                text = "Remove duplicate items from your input and try again."
                yield bad(f"Duplicate item found with id {item_id}. {text}", "input")
            seen.add(item_id)
        if kind == "function_call" and not _NAME.fullmatch(str(item.get("name"))):
            text = "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
            yield bad(f"Invalid '{place}.name': {text}", f"{place}.name", "invalid_value")
        if kind == "function_call" and not isinstance(item.get("arguments"), str):
            text = f"Invalid type for '{place}.arguments': expected a string, but got an object instead."
            yield bad(text, f"{place}.arguments", "invalid_type")
        if kind in _CALLS or kind in _OUTPUTS:
            yield from _call_fields(item, place, kind in _OUTPUTS)
        if kind == "message":
            yield from _message(item, place)


def _call_fields(item: Item, place: str, is_answer: bool) -> Iterator[Refusal]:
    """The fields that calls and their outputs must have."""
    if item.get("call_id") is None:
        text = f"Missing required parameter: '{place}.call_id'."
        yield bad(text, f"{place}.call_id", "missing_required_parameter")
    elif not item["call_id"]:
        text = "empty string. Expected a string with minimum length 1, but got an empty string instead."
        yield bad(f"Invalid '{place}.call_id': {text}", f"{place}.call_id", "empty_string")
    if is_answer and item.get("output") is None:
        text = f"Missing required parameter: '{place}.output'."
        yield bad(text, f"{place}.output", "missing_required_parameter")
    elif is_answer and not isinstance(item["output"], str | list):
        text = "expected one of a string or array of objects, but got an object instead."
        yield bad(f"Invalid type for '{place}.output': {text}", f"{place}.output", "invalid_type")


def _message(item: Item, place: str) -> Iterator[Refusal]:
    role, content = item.get("role"), item.get("content")
    if role not in _ROLES:
        text = (
            f"Invalid value: '{role}'. Supported values are: 'assistant', 'system', 'developer', and 'user'."
        )
        yield bad(text, f"{place}.role", "invalid_value")
    if content is None or content == []:
        yield bad(
            f"Missing required parameter: '{place}.content'.",
            f"{place}.content",
            "missing_required_parameter",
        )
    refused = ("input_text", "input_image") if role == "assistant" else ("output_text",)
    for part_index, part in enumerate(list_of(content)):
        if isinstance(part, dict) and part.get("type") in refused:
            text = f"Invalid value: '{part['type']}'. Supported values are: {_accepted_parts(role)}."
            yield bad(text, f"{place}.content[{part_index}]", "invalid_value")


def _accepted_parts(role: Any) -> str:
    return (
        "'output_text' and 'refusal'"
        if role == "assistant"
        else "'input_text', 'input_image', and 'input_file'"
    )


def _pairs(items: list[Item]) -> Iterator[Refusal]:
    called: set[str] = set()
    answered = {str(item.get("call_id", item.get("id"))) for item in items if is_output(item)}
    for item in items:
        if is_call(item):
            called.add(item["call_id"])
            if item["call_id"] not in answered:
                yield bad(f"No tool output found for function call {item['call_id']}.", "input")
        elif is_output(item):
            call_id = str(item.get("call_id", item.get("id")))
            if call_id not in called:
                text = f"No tool call found for function call output with call_id {call_id}."
                yield bad(text, "input")


def _reasoning_items(items: list[Item], required: Mapping[str, str]) -> Iterator[Refusal]:
    present = {str(item.get("id")) for item in items if item.get("type") == "reasoning"}
    for index, item in enumerate(items):
        follower = items[index + 1] if index + 1 < len(items) else {}
        if item.get("type") == "reasoning" and not is_of_answer(follower):
            yield bad(
                f"Item '{item.get('id')}' of type 'reasoning' was provided without its required following item.",
                "input",
            )
        needed = required.get(str(item.get("id")))
        if needed is not None and needed not in present:
            yield bad(
                f"Item '{item['id']}' of type '{item.get('type')}' was provided without its required 'reasoning' "
                f"item: '{needed}'.",
                "input",
            )


def _encrypted(items: list[Item], seal: str) -> Iterator[Refusal]:
    for item in items:
        content = item.get("encrypted_content")
        is_bound = item.get("type") == "reasoning" or is_compaction(item)
        if is_bound and isinstance(content, str) and not content.startswith(seal):
            text = f"The encrypted content for item {item.get('id')} could not be verified."
            yield bad(text, None, "invalid_encrypted_content")


def _limits(checked: CheckedRequest) -> Iterator[Refusal]:
    limit = checked.body.get("max_output_tokens")
    if isinstance(limit, int) and limit < _MIN_LIMIT:
        yield bad(
            f"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= {_MIN_LIMIT}, but got "
            f"{limit} instead.",
            "max_output_tokens",
            "integer_below_min_value",
        )
    for name in ("messages", "max_tokens", "max_completion_tokens", "stop", "response_format"):
        if name in checked.body:
            yield bad(f"Unknown parameter: '{name}'.", name, "unknown_parameter")


def _effort(checked: CheckedRequest) -> Iterator[Refusal]:
    card, reasoning = checked.card, checked.body.get("reasoning")
    effort = object_of(reasoning).get("effort")
    if card.family != "gpt":
        return
    if effort is not None and effort not in (card.efforts or ()):
        text = f"Unsupported value: '{effort}' is not supported with the '{card.name}' model."
        yield bad(text, "reasoning.effort", "unsupported_value")
    if card.sampling or effort == "none":
        return
    for name in ("temperature", "top_p"):
        if checked.body.get(name) not in (None, 1):
            text = f"Unsupported parameter: '{name}' is not supported with this model."
            yield bad(text, name, "unsupported_parameter")
