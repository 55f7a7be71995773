"""OpenAI's rules for requests, with its error messages; for Claude models, those of OpenRouter and Anthropic."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from plimsoll.dialects.openai.request import limit_key
from plimsoll.messages import Violation, answered_id, call_ids, tool_calls, validate
from plimsoll.messages.untyped import object_of
from plimsoll.testing.scripted_server.rules.anthropic_markers import marker_refusals
from plimsoll.testing.scripted_server.rules.checked_request import CheckedRequest
from plimsoll.testing.scripted_server.rules.images import openai_images
from plimsoll.testing.scripted_server.rules.refusal import Refusal, bad

_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_LONGEST_NAME = 64
_ROLES = ("system", "assistant", "user", "function", "tool", "developer")
_LONGEST_ID = 40
_CHOICES = ("none", "auto", "required")


def shape_refusals(body: dict[str, Any]) -> Iterator[Refusal]:
    """The errors in the basic shape of a body, checked before it is decoded."""
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield bad("you must provide a model parameter")
    messages = body.get("messages")
    if messages is None:
        yield bad("Missing required parameter: 'messages'.", "messages", "missing_required_parameter")
    elif not isinstance(messages, list):
        yield bad(
            f"Invalid type for 'messages': expected an array of objects, but got {_a(messages)} instead.",
            "messages",
            "invalid_type",
        )
    elif not messages:
        yield _empty_array("messages")
    else:
        for index, message in enumerate(messages):
            yield from _role(f"messages[{index}]", message)


def refusals(checked: CheckedRequest) -> Iterator[Refusal]:
    """The errors that reject a request."""
    yield from _messages(checked)
    yield from _tools(checked.body)
    yield from _tool_choice(checked.body)
    yield from _limits(checked)
    yield from _reasoning(checked)
    if checked.card.family == "claude":
        for refusal in marker_refusals(_as_provider_sees(checked.body)):
            yield replace(refusal, said_by="provider")
    yield from _overflow(checked)


def _role(place: str, message: Any) -> Iterator[Refusal]:
    if not isinstance(message, dict):
        yield bad(
            f"Invalid type for '{place}': expected an object, but got {_a(message)} instead.",
            place,
            "invalid_type",
        )
    elif message.get("role") is None:
        yield bad(
            f"Missing required parameter: '{place}.role'.", f"{place}.role", "missing_required_parameter"
        )
    elif message["role"] not in _ROLES:
        yield _one_of(message["role"], _ROLES, f"{place}.role")


def _messages(checked: CheckedRequest) -> Iterator[Refusal]:
    messages = checked.body["messages"]
    for violation in validate(messages, "openai"):
        yield _worded(violation, messages)
    if checked.card.family == "gpt":  # other servers with this wire format accept any id
        yield from _calls(messages)
        yield from openai_images(messages)
    for index, message in enumerate(messages):
        content = message.get("content")
        kinds = [part.get("type") for part in content or () if isinstance(part, dict)]
        if message["role"] != "user" and isinstance(content, list) and "image_url" in kinds:
            yield bad(
                f"Invalid 'messages[{index}]'. Image URLs are only allowed for messages with role 'user', but this "
                f"message with role '{message['role']}' contains an image URL.",
                f"messages[{index}]",
                "invalid_value",
            )


def _calls(messages: list[dict[str, Any]]) -> Iterator[Refusal]:
    """Ids and names of calls in the history."""
    for index, message in enumerate(messages):
        for number, call in enumerate(tool_calls(message)):
            place = f"messages[{index}].tool_calls[{number}]"
            name, call_id = str(_function_name(call)), str(call.get("id"))
            if len(call_id) > _LONGEST_ID:
                yield _too_long(f"{place}.id", call_id, _LONGEST_ID)
            if len(name) > _LONGEST_NAME:
                yield _too_long(f"{place}.function.name", name, _LONGEST_NAME)
            elif not _NAME.fullmatch(name):
                yield _illegal(f"{place}.function.name")


def _worded(violation: Violation, messages: list[dict[str, Any]]) -> Refusal:
    index, message = violation.index, messages[violation.index]
    if violation.code == "orphan_result":
        before: dict[str, Any] = next((m for m in reversed(messages[:index]) if m.get("role") != "tool"), {})
        if tool_calls(before):
            return bad(
                f"Invalid parameter: 'tool_call_id' of '{answered_id(message)}' not found in 'tool_calls' of "
                "previous message.",
                f"messages.[{index}].tool_call_id",
            )
        return bad(
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
            "'tool_calls'.",
            f"messages.[{index}].role",
        )
    if violation.code == "unanswered_call":
        answered = _following_answers(messages, index)
        missing = ", ".join(call for call in call_ids(message) if call not in answered)
        return bad(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {missing}",
            f"messages.[{index + 1 + len(answered)}].role",
        )
    if violation.code == "no_content" and message.get("content") == []:
        return _empty_array(f"messages[{index}].content")
    if violation.code == "no_content":
        return bad(
            "Invalid value for 'content': expected a string, got null.", f"messages.[{index}].content", None
        )
    if violation.code == "bad_tool_calls":
        return _empty_array(f"messages[{index}].tool_calls")
    if violation.code == "bad_arguments":
        place = f"messages[{index}].tool_calls[0].function.arguments"
        return bad(
            f"Invalid type for '{place}': expected a string, but got an object instead.",
            place,
            "invalid_type",
        )
    return bad(f"Invalid 'messages[{index}]': {violation.detail}.", f"messages[{index}]", "invalid_value")


def _following_answers(messages: list[dict[str, Any]], index: int) -> set[str]:
    answered: set[str] = set()
    for message in messages[index + 1 :]:
        if message.get("role") != "tool":
            break
        answered.add(str(message.get("tool_call_id")))
    return answered


def _tools(body: dict[str, Any]) -> Iterator[Refusal]:
    tools = body.get("tools")
    if tools == []:
        yield _empty_array("tools")
    for index, name in enumerate(_tool_names(tools)):
        place = f"tools[{index}].function.name"
        if not isinstance(name, str):
            yield bad(f"Missing required parameter: '{place}'.", place, "missing_required_parameter")
        elif not _NAME.fullmatch(name):
            yield _illegal(place)
        elif len(name) > _LONGEST_NAME:
            yield _too_long(place, name, _LONGEST_NAME)


def _tool_choice(body: dict[str, Any]) -> Iterator[Refusal]:
    choice = body.get("tool_choice")
    if choice is None:
        return
    if not body.get("tools"):
        yield bad(
            "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
            "tool_choice",
        )
    elif isinstance(choice, str) and choice not in _CHOICES:
        yield _one_of(choice, _CHOICES, "tool_choice")
    elif isinstance(choice, dict) and _function_name(choice) not in _tool_names(body["tools"]):
        yield bad(f"Tool choice '{_function_name(choice)}' not found in 'tools' parameter.", "tool_choice")


def _tool_names(tools: Any) -> list[Any]:
    return [_function_name(tool) for tool in tools] if isinstance(tools, list) else []


def _function_name(tool: Any) -> Any:
    return object_of(object_of(tool).get("function")).get("name")


def _limits(checked: CheckedRequest) -> Iterator[Refusal]:
    body, card = checked.body, checked.card
    if body.get("stream_options") is not None and not body.get("stream"):
        yield bad(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.", "stream_options"
        )
    for name in ("max_completion_tokens", "max_tokens"):
        limit = body.get(name)
        if limit is None:
            continue
        if not isinstance(limit, int):
            text = f"Invalid type for '{name}': expected an integer, but got {type(limit).__name__} instead."
            yield bad(text, name, "invalid_type")
            continue
        if name == "max_tokens" and limit_key(checked.request.model) != name:
            yield bad(
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                "'max_completion_tokens' instead.",
                name,
                "unsupported_parameter",
            )
        if limit < 1:
            yield bad(
                f"Invalid '{name}': integer below minimum value. Expected a value >= 1, but got {limit} instead.",
                name,
                "integer_below_min_value",
            )
        if limit > card.output_cap:
            yield bad(
                f"{name} is too large: {limit}. This model supports at most {card.output_cap} completion tokens, "
                f"whereas you provided {limit}.",
                name,
                "invalid_value",
            )


def _reasoning(checked: CheckedRequest) -> Iterator[Refusal]:
    """Fields that only reasoning models, or only other models, accept."""
    body, card = checked.body, checked.card
    if card.family != "gpt":
        return
    effort = body.get("reasoning_effort")
    if effort is not None and not card.efforts:
        yield bad("Unrecognized request argument supplied: reasoning_effort", "reasoning_effort")
    elif effort is not None and effort not in card.efforts:
        text = ", ".join(f"'{word}'" for word in card.efforts)
        yield bad(
            f"Unsupported value: 'reasoning_effort' does not support '{effort}' with this model. Supported values "
            f"are: {text}.",
            "reasoning_effort",
            "unsupported_value",
        )
    if card.sampling:
        return
    for name in ("temperature", "top_p"):
        value = body.get(name)
        if value not in (None, 1) and effort != "none":
            yield bad(
                f"Unsupported value: '{name}' does not support {value} with this model. Only the default (1) value "
                f"is supported.",
                name,
                "unsupported_value",
            )
    if body.get("stop") is not None:
        yield bad(
            "Unsupported parameter: 'stop' is not supported with this model.", "stop", "unsupported_parameter"
        )


def _overflow(checked: CheckedRequest) -> Iterator[Refusal]:
    card, prompt, tools = checked.card, checked.prompt_tokens, checked.tools_tokens
    limit = checked.request.max_tokens or 0
    if card.family == "claude":
        if prompt + limit > card.window:
            of_tools = f", {tools} of tool input" if tools else ""
            refusal = bad(
                f"This endpoint's maximum context length is {card.window} tokens. However, you requested about "
                f"{prompt + limit} tokens ({prompt - tools} of text input{of_tools}, {limit} in the output). Please "
                f'reduce the length of either one, or use the "middle-out" transform to compress your prompt '
                f"automatically."
            )
            yield replace(refusal, said_by="router")
        return
    if prompt > card.prompt_limit:
        if card.prompt_limit < card.window:
            text = (
                f"Input tokens exceed the configured limit of {card.prompt_limit} tokens. Your messages resulted in "
                f"{prompt} tokens. Please reduce the length of the messages."
            )
        else:
            parts = f" ({prompt - tools} in the messages, {tools} in the functions)" if tools else ""
            text = (
                f"This model's maximum context length is {card.window} tokens. However, your messages resulted in "
                f"{prompt} tokens{parts}. Please reduce the length of the messages{' or functions' if tools else ''}."
            )
        yield bad(text, "messages", "context_length_exceeded")
    elif prompt + limit > card.window:
        yield bad(
            f"This model's maximum context length is {card.window} tokens. However, you requested "
            f"{prompt + limit} tokens ({prompt} in the messages, {limit} in the completion). Please reduce the "
            f"length of the messages or completion.",
            "messages",
            "context_length_exceeded",
        )


def _as_provider_sees(body: dict[str, Any]) -> dict[str, Any]:
    """The body with the system messages in `system`, for Anthropic's marker rules."""
    return {"tools": body.get("tools"), "messages": body["messages"]}


def _empty_array(place: str) -> Refusal:
    return bad(
        f"Invalid '{place}': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        place,
        "empty_array",
    )


def _illegal(place: str) -> Refusal:
    return bad(
        f"Invalid '{place}': string does not match pattern. Expected a string that matches the pattern "
        f"'^[a-zA-Z0-9_-]+$'.",
        place,
        "invalid_value",
    )


def _too_long(place: str, value: str, longest: int) -> Refusal:
    return bad(
        f"Invalid '{place}': string too long. Expected a string with maximum length {longest}, but got a string with "
        f"length {len(value)} instead.",
        place,
        "string_above_max_length",
    )


def _one_of(value: Any, allowed: tuple[str, ...], place: str) -> Refusal:
    spelt = [f"'{word}'" for word in allowed]
    listed = f"{', '.join(spelt[:-1])}, and {spelt[-1]}"
    return bad(f"Invalid value: '{value}'. Supported values are: {listed}.", place, "invalid_value")


def _a(value: Any) -> str:
    """The type of a value, in the provider's terms."""
    if isinstance(value, str):
        return "a string"
    if isinstance(value, dict):
        return "an object"
    return "null" if value is None else "an array" if isinstance(value, list) else "a number"
