"""Anthropic's rules for requests, with its error messages.

The rules check the wire body, because decoding repairs many errors. The first
error is the response; a request without errors is accepted.
"""

import re
from collections.abc import Iterator
from typing import Any

from plimsoll.dialects.anthropic import rules_for
from plimsoll.messages import validate
from plimsoll.messages.untyped import objects_in
from plimsoll.testing.scripted_server.rules.anthropic_history import history_refusals
from plimsoll.testing.scripted_server.rules.anthropic_markers import marker_refusals
from plimsoll.testing.scripted_server.rules.checked_request import CheckedRequest
from plimsoll.testing.scripted_server.rules.refusal import Refusal, bad

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_NAME_RULE = "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"
_CHOICES = ("auto", "any", "tool", "none")
_THINKING_DOCS = "https://docs.claude.com/en/docs/build-with-claude/extended-thinking"
_MIN_BUDGET = 1024
# From these models on, a reply is truncated if the prompt leaves too little room for `max_tokens`.
_STOPS_AT_WINDOW = re.compile(r"(?:opus|sonnet|haiku|fable|mythos)[-.]?(?:4[-.][5-9]|[5-9])(?!\d)")


def shape_refusals(body: dict[str, Any], counts_only: bool) -> Iterator[Refusal]:
    """The errors in the basic shape of a body, checked before it is decoded."""
    if not isinstance(body.get("model"), str):
        yield bad("model: Field required")
    limit = body.get("max_tokens")
    if not counts_only:
        if limit is None:
            yield bad("max_tokens: Field required")
        elif isinstance(limit, bool) or not isinstance(limit, int):
            yield bad("max_tokens: Input should be a valid integer")
        elif limit < 1:
            yield bad("max_tokens: Input should be greater than or equal to 1")
    messages = body.get("messages")
    if messages is None:
        yield bad("messages: Field required")
    elif not isinstance(messages, list):
        yield bad("messages: Input should be a valid array")
    elif not messages:
        yield bad("messages: at least one message is required")
    else:
        for index, message in enumerate(messages):
            if not isinstance(message, dict):
                yield bad(f"messages.{index}: Input should be an object")
            elif message.get("role") not in ("user", "assistant", "system"):
                yield bad(f"messages.{index}.role: Input should be 'user' or 'assistant'")
            elif not isinstance(message.get("content"), str | list):
                yield bad(f"messages.{index}.content: Input should be a valid string or a valid array")


def refusals(checked: CheckedRequest) -> Iterator[Refusal]:
    """The errors that reject a request."""
    yield from marker_refusals(checked.body)
    yield from history_refusals(checked)
    yield from _tools(checked)
    yield from _tool_choice(checked)
    yield from _sampling(checked)
    yield from _thinking(checked)
    yield from _left_over(checked)
    yield from _sizes(checked)


def _tools(checked: CheckedRequest) -> Iterator[Refusal]:
    tools = objects_in(checked.body.get("tools"))
    for index, tool in enumerate(tools):
        if tool.get("type") not in (None, "custom"):
            continue  # a server tool
        if not _NAME.fullmatch(str(tool.get("name"))):
            yield bad(f"tools.{index}.custom.name: {_NAME_RULE}")
        if not isinstance(tool.get("input_schema"), dict):
            yield bad(f"tools.{index}.custom.input_schema: Field required")
    names = [tool.get("name") for tool in tools]
    if len(set(map(str, names))) < len(names):
        yield bad("tools: Tool names must be unique.")


def _tool_choice(checked: CheckedRequest) -> Iterator[Refusal]:
    choice = checked.body.get("tool_choice")
    names = [tool.get("name") for tool in objects_in(checked.body.get("tools"))]
    if choice is None:
        return
    if not isinstance(choice, dict):
        yield bad("tool_choice: Input should be an object")
    elif choice.get("type") not in _CHOICES:
        expected = ", ".join(f"'{tag}'" for tag in _CHOICES)
        yield bad(
            f"tool_choice: Input tag '{choice.get('type')}' found using 'type' does not match any of the expected "
            f"tags: {expected}"
        )
    elif not names:
        yield bad("tool_choice may only be specified while providing tools.")
    elif choice["type"] == "tool" and choice.get("name") not in names:
        yield bad(f"Tool '{choice.get('name')}' not found in provided tools")
    elif choice["type"] in ("any", "tool") and _thinks(checked):
        yield bad("Thinking may not be enabled when tool_choice forces tool use.")


def _thinks(checked: CheckedRequest) -> bool:
    thinking = checked.request.thinking
    return checked.card.preserved_thinking or bool(thinking and thinking.mode in ("enabled", "adaptive"))


def _sampling(checked: CheckedRequest) -> Iterator[Refusal]:
    body, rules = checked.body, rules_for(checked.request.model)
    for name in ("temperature", "top_p", "top_k"):
        if body.get(name) is not None and not rules.sampling:
            yield bad(f"`{name}` is deprecated for this model.")
    temperature = body.get("temperature")
    if isinstance(temperature, int | float) and not 0 <= temperature <= 1:
        yield bad("temperature: range: 0..1")


def _thinking(checked: CheckedRequest) -> Iterator[Refusal]:
    thinking = checked.request.thinking
    if thinking is None or thinking.mode is None:
        return
    if thinking.mode == "disabled" and checked.card.preserved_thinking:
        yield bad('"thinking.type.disabled" is not supported for this model.')
    if thinking.mode != "enabled":
        return
    if not rules_for(checked.request.model).budget:
        yield bad(
            '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
            '"output_config.effort" to control thinking behavior.'
        )
    budget, limit = thinking.budget_tokens, checked.request.max_tokens
    if budget is None:
        yield bad("thinking.enabled.budget_tokens: Field required")
    elif budget < _MIN_BUDGET:
        yield bad("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
    elif limit is not None and limit <= budget:
        yield bad(
            "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
            f"{_THINKING_DOCS}#max-tokens-and-context-window-size"
        )


def _left_over(checked: CheckedRequest) -> Iterator[Refusal]:
    """The errors that only Plimsoll's validator finds.

    Any object is a valid input here; a wrapper for invalid JSON arguments is decoded to those arguments.
    """
    for violation in validate(checked.request.messages, "anthropic"):
        if violation.code == "bad_arguments":
            continue
        yield bad(f"messages.{violation.index}: {violation.detail}")


def _sizes(checked: CheckedRequest) -> Iterator[Refusal]:
    card, limit, prompt = checked.card, checked.request.max_tokens, checked.prompt_tokens
    if checked.counts_only:
        return
    if limit is not None and limit > card.output_cap:
        yield bad(
            f"max_tokens: {limit} > {card.output_cap}, which is the maximum allowed number of output tokens for "
            f"{checked.request.model}"
        )
    if prompt > card.prompt_limit:
        yield bad(f"prompt is too long: {prompt} tokens > {card.prompt_limit} maximum")
    if limit is not None and prompt + limit > card.window and not _STOPS_AT_WINDOW.search(card.name):
        yield bad(
            f"input length and `max_tokens` exceed context limit: {prompt} + {limit} > {card.window}, decrease "
            f"input length or `max_tokens` and try again"
        )
