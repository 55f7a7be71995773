"""Canonical request ⇄ the body of `POST /chat/completions`.

Fields that are not in `ChatRequest` pass through unchanged, and only in this
dialect. Keys have a fixed order, so that equal requests are equal bytes.
"""

from typing import Any

from plimsoll.dialects.efforts import effort_of, nearest_effort, thinking_of
from plimsoll.dialects.message_lists import checked_messages
from plimsoll.dialects.openai.messages import (
    encode_messages,
    takes_markers,
    takes_signatures,
    without,
    without_signatures,
)
from plimsoll.dialects.openai.rules import REASONING, OpenAiRules, rules_for
from plimsoll.dialects.request import ChatRequest, Thinking, Tool, stop_sequences
from plimsoll.messages import Message

_OWN_TOOLS = frozenset({"function", "custom"})
_NAMED = frozenset(
    {"model", "messages", "tools", "max_tokens", "max_completion_tokens", "temperature", "top_p", "stop"}
    | {"tool_choice", "parallel_tool_calls", "stream", "stream_options", "reasoning_effort"}
)


def encode_request(request: ChatRequest, rules: OpenAiRules | None = None) -> dict[str, Any]:
    """Encode a request, with only fields that the model (or `rules`) accepts."""
    rules = rules or rules_for(request.model)
    markers = takes_markers(request.model)
    effort = _effort(request.thinking, rules)
    extra = request.extra_for("openai")
    options = extra.pop("stream_options", None) or {}
    fields = {
        "model": request.model,
        "messages": _messages(request, markers),
        **_tool_fields(request, markers),
        limit_key(request.model): request.max_tokens,
        **_sampling_fields(request, rules, effort),
        "reasoning_effort": effort,
        "stream": request.stream or None,
        "stream_options": _stream_options(request, options) if request.stream else None,
    }
    body = {key: value for key, value in fields.items() if value is not None}
    return body | {key: value for key, value in extra.items() if key not in _NAMED}


def _messages(request: ChatRequest, markers: bool) -> list[Message]:
    messages = encode_messages(request.messages, markers)
    return messages if takes_signatures(request.model) else list(map(without_signatures, messages))


def decode_request(body: dict[str, Any]) -> ChatRequest:
    """Decode a client's request."""
    limit = body.get("max_completion_tokens")
    options = body.get("stream_options")
    options = dict(options) if isinstance(options, dict) else {}
    include_usage = bool(options.pop("include_usage", False))
    extra = {key: value for key, value in body.items() if key not in _NAMED}
    if options:
        extra["stream_options"] = options
    return ChatRequest(
        model=str(body.get("model") or ""),
        messages=tuple(dict(message) for message in checked_messages(body)),
        tools=_tools(body.get("tools")),
        max_tokens=body.get("max_tokens") if limit is None else limit,
        temperature=body.get("temperature"),
        top_p=body.get("top_p"),
        stop=stop_sequences(body.get("stop")),
        tool_choice=body.get("tool_choice"),
        parallel_tool_calls=body.get("parallel_tool_calls"),
        stream=bool(body.get("stream")),
        include_usage=include_usage,
        thinking=thinking_of(body.get("reasoning_effort")),
        extra={"openai": extra} if extra else {},
    )


def limit_key(model: str) -> str:
    """The name of the output limit for a model."""
    return "max_completion_tokens" if REASONING.search(model.lower()) else "max_tokens"


def _tool_fields(request: ChatRequest, markers: bool) -> dict[str, Any]:
    tools = [without(tool, markers) for tool in request.tools if tool.get("type") in _OWN_TOOLS]
    if not tools:
        return {}
    parallel = request.parallel_tool_calls
    return {"tools": tools, "tool_choice": request.tool_choice, "parallel_tool_calls": parallel}


def _sampling_fields(request: ChatRequest, rules: OpenAiRules, effort: str | None) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    # Reasoning models have a fixed temperature, unless reasoning is disabled.
    if rules.sampling or effort == "none":
        fields |= {"temperature": request.temperature, "top_p": request.top_p}
    if rules.sampling:
        fields["stop"] = list(request.stop) or None
    return fields


def _stream_options(request: ChatRequest, options: dict[str, Any]) -> dict[str, Any] | None:
    usage = {"include_usage": True} if request.include_usage else {}
    return {**options, **usage} or None


def _tools(tools: Any) -> tuple[Tool, ...]:
    return tuple(dict(tool) for tool in tools if isinstance(tool, dict)) if isinstance(tools, list) else ()


def _effort(thinking: Thinking | None, rules: OpenAiRules) -> str | None:
    effort = effort_of(thinking)
    if effort is None or rules.efforts is None:
        return effort
    return nearest_effort(effort, rules.efforts)
