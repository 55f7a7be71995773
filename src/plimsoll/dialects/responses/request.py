"""Canonical request ⇄ the body of `POST /v1/responses`.

    instructions                                    a system message
    input[developer], input[system] at the start    system messages
    input[additional_tools]                         tools

Fields that `ChatRequest` does not name pass through unchanged, and only to upstreams of this dialect.
"""

from collections.abc import Sequence
from typing import Any

from plimsoll.dialects.efforts import effort_of, nearest_effort, thinking_of
from plimsoll.dialects.message_lists import require_part_types
from plimsoll.dialects.openai.rules import OpenAiRules, rules_for
from plimsoll.dialects.request import ChatRequest, Thinking
from plimsoll.dialects.responses.compaction_items import TRIGGER
from plimsoll.dialects.responses.items import GROUP, grouped, is_message, items_of, message_of, ungrouped
from plimsoll.dialects.responses.parts import EXTRAS
from plimsoll.dialects.responses.tools import decode_choice, decode_tools, encode_choice, encode_tools
from plimsoll.errors import InvalidConversation
from plimsoll.messages import SYSTEM_ROLES, Message, text_of
from plimsoll.messages.untyped import list_of

Body = dict[str, Any]
Item = dict[str, Any]
ADDED_TOOLS = "additional_tools"
_MIN_LIMIT = 16  # tokens; the API rejects a lower output limit
_NAMED = frozenset(
    {"model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "stream"}
    | {"max_output_tokens", "temperature", "top_p"}
)


def input_items(body: Body) -> list[Item]:
    """The items of a request. Raises `InvalidConversation` if they are malformed."""
    items = body.get("input")
    if isinstance(items, str):
        return [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": items}]}]
    if not isinstance(items, list):
        raise InvalidConversation(f"input must be a text or a list of items, not {type(items).__name__}")
    for index, item in enumerate(items):
        if not isinstance(item, dict) or not isinstance(item.get("type", item.get("role")), str):
            raise InvalidConversation(f"input[{index}]: every item is an object with a type")
        for field in ("content", "output", "summary"):
            require_part_types(item.get(field), f"input[{index}]")
    return items


def split(body: Body) -> tuple[list[Item], list[dict[str, Any]]]:
    """The items of the system prompt at the start, and the wire messages after them."""
    items = input_items(body)
    if items and items[-1].get("type") == TRIGGER:
        items = items[:-1]
    start = next((n for n, item in enumerate(items) if not _is_lead(item)), len(items))
    return items[:start], grouped(items[start:])


def lead_of(body: Body, lead: Sequence[Item]) -> tuple[Message, ...]:
    """The system prompt in canonical form."""
    messages: list[Message] = []
    instructions = body.get("instructions")
    if isinstance(instructions, str) and instructions:
        messages.append({"role": "system", "content": instructions, EXTRAS: {"is_instructions": True}})
    messages += [message_of([item], 0) for item in lead if is_message(item)]
    return tuple(messages)


def tools_of(body: Body) -> list[dict[str, Any]]:
    """All tools of a request, in `tools` and in items."""
    tools = body.get("tools")
    listed = list(tools) if isinstance(tools, list) else []
    for item in list_of(body.get("input")):
        if isinstance(item, dict) and item.get("type") == ADDED_TOOLS and isinstance(item.get("tools"), list):
            listed += item["tools"]
    return [tool for tool in listed if isinstance(tool, dict)]


def decode_request(body: Body) -> ChatRequest:
    """Decode a client's request."""
    lead, items = split(body)
    extra = {key: value for key, value in body.items() if key not in _NAMED}
    reasoning = extra.pop("reasoning", None)
    reasoning = dict(reasoning) if isinstance(reasoning, dict) else {}
    effort = reasoning.pop("effort", None)
    if reasoning:
        extra["reasoning"] = reasoning
    limit = body.get("max_output_tokens")
    return ChatRequest(
        model=str(body.get("model") or ""),
        messages=(*lead_of(body, lead), *(message_of(items, index) for index in range(len(items)))),
        tools=decode_tools(tools_of(body)),
        max_tokens=limit,
        temperature=body.get("temperature"),
        top_p=body.get("top_p"),
        tool_choice=decode_choice(body.get("tool_choice")),
        parallel_tool_calls=body.get("parallel_tool_calls"),
        stream=bool(body.get("stream")),
        thinking=thinking_of(effort),
        extra={"responses": extra} if extra else {},
    )


def encode_request(request: ChatRequest, rules: OpenAiRules | None = None) -> Body:
    """Encode a request, with only fields that the model (or `rules`) accepts."""
    rules = rules or rules_for(request.model)
    extra = request.extra_for("responses")
    reasoning = _reasoning(request.thinking, rules, extra.pop("reasoning", None))
    samples = rules.sampling or reasoning.get("effort") == "none"
    tools = encode_tools(request.tools)
    instructions, items = encode_messages(request.messages)
    limit = request.max_tokens
    body: Body = {"model": request.model}
    optional = {
        "instructions": instructions,
        "input": items,
        "tools": tools or None,
        "tool_choice": encode_choice(request.tool_choice, tools) if tools else None,
        "parallel_tool_calls": request.parallel_tool_calls if tools else None,
        "max_output_tokens": None if limit is None else max(_MIN_LIMIT, limit),
        "temperature": request.temperature if samples else None,
        "top_p": request.top_p if samples else None,
        "reasoning": reasoning or None,
        "stream": True if request.stream else None,
    }
    body |= {key: value for key, value in optional.items() if value is not None}
    return body | {key: value for key, value in extra.items() if key not in _NAMED}


def encode_messages(messages: Sequence[Message]) -> tuple[str | None, list[Item]]:
    """The `instructions` and the `input` of a conversation."""
    first = messages[0] if messages else {}
    own = first.get(EXTRAS)
    has_instructions = isinstance(own, dict) and bool(own.get("is_instructions"))
    others = messages[1:] if has_instructions else messages
    return (text_of(first) if has_instructions else None), [item for m in others for item in items_of(m)]


def with_items(body: Body, lead: Sequence[Item], messages: Sequence[dict[str, Any]]) -> Body:
    """The body with these items."""
    return {**body, "input": [*lead, *ungrouped(messages)]}


def _is_lead(item: Item) -> bool:
    if item.get("type") == ADDED_TOOLS:
        return True
    return GROUP not in item and is_message(item) and item["role"] in SYSTEM_ROLES


def _reasoning(thinking: Thinking | None, rules: OpenAiRules, rest: Any) -> dict[str, Any]:
    """The `reasoning` of a request, with an effort that the model accepts."""
    effort = effort_of(thinking)
    if effort is not None and rules.efforts is not None:
        effort = nearest_effort(effort, rules.efforts)
    return {**({"effort": effort} if effort is not None else {}), **(rest or {})}
