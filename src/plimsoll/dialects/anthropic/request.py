"""Canonical request ⇄ the body of `POST /v1/messages`.

Fields that are not in `ChatRequest` pass through unchanged, and only in this
dialect. Keys have a fixed order, so that equal requests are equal bytes.
"""

from typing import Any

from plimsoll.dialects.anthropic.conversation import (
    decode_anthropic_conversation,
    encode_anthropic_conversation,
)
from plimsoll.dialects.anthropic.rules import AnthropicRules, rules_for
from plimsoll.dialects.anthropic.tools import decode_choice, decode_tools, encode_choice, encode_tools
from plimsoll.dialects.message_lists import checked_conversation
from plimsoll.dialects.request import ChatRequest, Thinking, stop_sequences
from plimsoll.messages.untyped import object_of

# Every request requires a limit; a caller that knows the model sets a better one.
DEFAULT_MAX_TOKENS = 8_192
_NAMED = frozenset(
    {"model", "messages", "system", "tools", "max_tokens", "temperature", "top_p", "stop_sequences"}
    | {"tool_choice", "stream", "thinking"}
)
_MODES = ("enabled", "adaptive", "disabled")


def encode_request(request: ChatRequest, rules: AnthropicRules | None = None) -> dict[str, Any]:
    """Encode a request, with only fields that the model (or `rules`) accepts."""
    rules = rules or rules_for(request.model)
    system, messages = encode_anthropic_conversation(request.messages, rules)
    thinking = request.thinking or Thinking()
    extra = request.extra_for("anthropic")
    if not rules.sampling:
        extra.pop("top_k", None)
    fields = {
        "model": request.model,
        "max_tokens": DEFAULT_MAX_TOKENS if request.max_tokens is None else request.max_tokens,
        **_tool_fields(request),
        "system": system,
        "messages": messages,
        **(_sampling_fields(request) if rules.sampling else {}),
        "stop_sequences": list(request.stop) or None,
        "thinking": _encode_thinking(thinking, rules),
        "output_config": _output_config(thinking, rules, extra.pop("output_config", None)),
        "stream": request.stream or None,
    }
    body = {key: value for key, value in fields.items() if value is not None}
    return body | {key: value for key, value in extra.items() if key not in _NAMED}


def decode_request(body: dict[str, Any]) -> ChatRequest:
    """Decode a client's request."""
    messages = checked_conversation(body)
    choice, parallel = decode_choice(body.get("tool_choice"))
    extra = {key: value for key, value in body.items() if key not in _NAMED}
    output = extra.pop("output_config", None)
    output = dict(output) if isinstance(output, dict) else {}
    effort = output.pop("effort", None)
    if output:
        extra["output_config"] = output
    return ChatRequest(
        model=str(body.get("model") or ""),
        messages=tuple(decode_anthropic_conversation(body.get("system"), messages)),
        tools=decode_tools(body.get("tools")),
        max_tokens=body.get("max_tokens"),
        temperature=body.get("temperature"),
        top_p=body.get("top_p"),
        stop=stop_sequences(body.get("stop_sequences")),
        tool_choice=choice,
        parallel_tool_calls=parallel,
        stream=bool(body.get("stream")),
        thinking=_decode_thinking(body.get("thinking"), effort),
        extra={"anthropic": extra} if extra else {},
    )


def _tool_fields(request: ChatRequest) -> dict[str, Any]:
    tools = encode_tools(request.tools)
    if not tools:
        return {}
    return {"tools": tools, "tool_choice": encode_choice(request.tool_choice, request.parallel_tool_calls)}


def _sampling_fields(request: ChatRequest) -> dict[str, float | None]:
    # Other dialects allow up to 2; Anthropic rejects more than 1.
    temperature = None if request.temperature is None else min(request.temperature, 1.0)
    return {"temperature": temperature, "top_p": request.top_p}


def _encode_thinking(thinking: Thinking, rules: AnthropicRules) -> dict[str, Any] | None:
    if thinking.mode is None:
        return None
    wire: dict[str, Any] = {"type": thinking.mode}
    if thinking.mode == "enabled" and not rules.budget:
        wire["type"] = "adaptive"
    elif thinking.budget_tokens is not None:
        wire["budget_tokens"] = thinking.budget_tokens
    if thinking.display is not None:
        wire["display"] = thinking.display
    return wire


def _output_config(thinking: Thinking, rules: AnthropicRules, rest: Any) -> dict[str, Any] | None:
    config = dict(rest) if isinstance(rest, dict) else {}
    if thinking.effort is not None and rules.effort:
        # OpenAI's lowest effort is called low here.
        config = {"effort": "low" if thinking.effort == "minimal" else thinking.effort, **config}
    return config or None


def _decode_thinking(thinking: Any, effort: Any) -> Thinking | None:
    wire = object_of(thinking)
    mode = wire.get("type")
    decoded = Thinking(
        mode=mode if mode in _MODES else None,
        budget_tokens=wire.get("budget_tokens"),
        effort=effort if isinstance(effort, str) else None,
        display=wire.get("display"),
    )
    return None if decoded == Thinking() else decoded
