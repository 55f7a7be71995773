"""Translates a client's request for an upstream of another dialect: the corresponding fields.

    OpenAI                                        Anthropic                        Google (generationConfig)
    response_format                           ⇄   output_config.format         ⇄   responseJsonSchema
    reasoning_effort                          ⇄   output_config.effort,        ⇄   thinkingConfig
                                                  thinking.budget_tokens
    functions, function_call, allowed_tools   →   tools, tool_choice           →   tools, toolConfig
    user                                      →   metadata.user_id

All other fields are the same in the canonical request. `mapping.toml` lists every field, including those without an
equivalent. `Dialect.unwritten` returns the fields that the model does not accept, from the encoded body.
"""

from dataclasses import replace
from hashlib import sha256
from typing import Any

from plimsoll.dialects.answer_format import answer_format
from plimsoll.dialects.anthropic.rules import rules_for
from plimsoll.dialects.blocks.assistant import THINKING_TYPES, is_signed
from plimsoll.dialects.efforts import BUDGETS, MIN_BUDGET
from plimsoll.dialects.request import ChatRequest, Thinking, Tool, ToolChoice, function_names
from plimsoll.dialects.schemas import closed
from plimsoll.errors import InvalidConversation
from plimsoll.messages import SYSTEM_ROLES, Message
from plimsoll.messages.untyped import object_of

JSON_INSTRUCTION = "Answer with one JSON object and nothing else: no code fence, no text before or after it."
MAX_STOPS = 4  # OpenAI's limit
_LONGEST_USER = 256  # characters; Anthropic's limit


def for_anthropic(request: ChatRequest) -> ChatRequest:
    """A request from another dialect, for Anthropic's messages API."""
    extra = request.extra_for("openai")
    tools, choice = _tools(request.tools, request.tool_choice, extra)
    own: dict[str, Any] = {}
    messages = request.messages
    wanted = answer_format(request) or {}
    if wanted.get("type") == "json_schema":
        own["output_config"] = {"format": _anthropic_format(request.model, wanted.get("json_schema"))}
    elif wanted.get("type") == "json_object":
        messages = _instructed(messages)
    user = request.stated("safety_identifier", "user")
    if isinstance(user, str):
        fits = len(user) <= _LONGEST_USER
        own["metadata"] = {"user_id": user if fits else sha256(user.encode("utf-8", "replace")).hexdigest()}
    return replace(
        request,
        messages=messages,
        tools=tuple(tool for tool in tools if tool.get("type") == "function"),
        tool_choice=choice,
        parallel_tool_calls=False if extra.get("functions") else request.parallel_tool_calls,
        thinking=_with_budget(request),
        extra={"anthropic": own} if own else {},
    )


def for_openai(request: ChatRequest) -> ChatRequest:
    """A request from another dialect, for OpenAI's chat completions."""
    own: dict[str, Any] = {}
    wanted = answer_format(request)
    if wanted is not None:
        own["response_format"] = wanted
    return replace(request, stop=request.stop[:MAX_STOPS], extra={"openai": own} if own else {})


def for_gemini(request: ChatRequest) -> ChatRequest:
    """A request from another dialect, for Google's generateContent."""
    tools, choice = _tools(request.tools, request.tool_choice, request.extra_for("openai"))
    wanted, config = answer_format(request) or {}, dict[str, Any]()
    if wanted.get("type") in ("json_object", "json_schema"):
        config["responseMimeType"] = "application/json"
    if isinstance(schema := wanted.get("json_schema"), dict):
        config["responseJsonSchema"] = schema.get("schema") or {"type": "object", "properties": {}}
    thinking = request.thinking
    if thinking is not None and thinking.mode != "disabled" and thinking.display is None:
        thinking = replace(thinking, display="summarized")
    extra = {"gemini": {"generationConfig": config}} if config else {}
    return replace(request, tools=tools, tool_choice=choice, thinking=thinking, extra=extra)


def has_legacy_functions(body: dict[str, Any]) -> bool:
    """Whether an OpenAI client uses the legacy `functions` protocol, and expects replies in it."""
    return bool(body.get("functions")) and not body.get("tools")


def with_modern_tools(request: ChatRequest) -> ChatRequest:
    """The request with OpenAI's legacy functions as tools."""
    if not request.stated("functions"):
        return request
    tools, choice = _tools(request.tools, request.tool_choice, request.extra_for("openai"))
    return replace(request, tools=tools, tool_choice=choice, parallel_tool_calls=False)


def _tools(
    tools: tuple[Tool, ...], choice: ToolChoice | None, extra: dict[str, Any]
) -> tuple[tuple[Tool, ...], ToolChoice | None]:
    functions = extra.get("functions")
    if isinstance(functions, list) and functions and not tools:
        tools = tuple(
            {"type": "function", "function": function} for function in functions if isinstance(function, dict)
        )
        called = extra.get("function_call")
        if isinstance(called, dict):
            return tools, {"type": "function", "function": {"name": called.get("name")}}
        return tools, called if isinstance(called, str) else choice
    if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        allowed = object_of(choice.get("allowed_tools"))
        names = set(function_names(allowed.get("tools") or ()))
        kept = tuple(tool for tool in tools if names & set(function_names([tool])))
        return kept, "required" if allowed.get("mode") == "required" else "auto"
    return tools, choice


def _anthropic_format(model: str, wanted: Any) -> dict[str, Any]:
    if not rules_for(model).structured:
        raise InvalidConversation(
            f"response_format: {model} has no structured output. Use a newer Claude model, or leave it out."
        )
    wanted = object_of(wanted)
    schema = closed(wanted.get("schema") or {"type": "object", "properties": {}})
    if isinstance(schema, dict) and isinstance(wanted.get("description"), str):
        schema = {"description": wanted["description"], **schema}
    return {"type": "json_schema", "schema": schema}


def _instructed(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The conversation with the instruction after its system prompt."""
    start = next((n for n, m in enumerate(messages) if m.get("role") not in SYSTEM_ROLES), len(messages))
    return (*messages[:start], {"role": "system", "content": JSON_INSTRUCTION}, *messages[start:])


def _with_budget(request: ChatRequest) -> Thinking | None:
    """The thinking with a budget, for a model that does not accept an effort."""
    thinking, rules = request.thinking, rules_for(request.model)
    if not rules.thinks:
        return None
    if thinking is None or thinking.effort is None or rules.effort:
        return thinking
    # The budget counts towards the output limit, which must leave room for the reply.
    budget = min(BUDGETS.get(thinking.effort, 0), (request.max_tokens or 0) // 2)
    fits = budget >= MIN_BUDGET and not _lacks_thinking(request.messages)
    # Anthropic rejects thinking together with a forced tool or a custom temperature.
    is_free = not isinstance(request.tool_choice, dict) and request.tool_choice != "required"
    if not fits or not is_free or request.temperature not in (None, 1) or request.top_p is not None:
        return thinking
    return replace(thinking, mode="enabled", budget_tokens=budget)


def _lacks_thinking(messages: tuple[Message, ...]) -> bool:
    """Whether results answer calls whose thinking the client did not return; then no thinking is accepted."""
    turn = next((m for m in reversed(messages) if m.get("role") not in ("tool", "function")), {})
    if turn.get("role") != "assistant":
        return False
    blocks = turn.get("thinking_blocks")
    signed = [b for b in blocks if b.get("type") in THINKING_TYPES] if isinstance(blocks, list) else []
    return not any(map(is_signed, signed))
