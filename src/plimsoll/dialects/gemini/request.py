"""Canonical request ⇄ the body of `:generateContent`. Model and stream flag are in the path.

Fields that are not in `ChatRequest` pass through unchanged, and only in this dialect. Keys have a fixed order: equal
requests are equal bytes.
"""

from typing import Any

from plimsoll.dialects.efforts import BUDGETS, MIN_BUDGET, nearest_effort
from plimsoll.dialects.gemini.conversation import decode_contents, encode_contents
from plimsoll.dialects.gemini.rules import GeminiRules, rules_for
from plimsoll.dialects.gemini.spelling import camel_cased
from plimsoll.dialects.gemini.tools import decode_choice, decode_tools, encode_choice, encode_tools
from plimsoll.dialects.request import ChatRequest, Thinking, stop_sequences
from plimsoll.errors import InvalidConversation

MAX_STOPS = 5  # Google's limit
LEVELS = ("minimal", "low", "medium", "high")
_NAMED = frozenset({"contents", "systemInstruction", "tools", "model"})
_MAX_THINKING = 24_576  # tokens; the maximum that all models of the 2.5 family accept


def encode_request(request: ChatRequest, rules: GeminiRules | None = None) -> dict[str, Any]:
    """Encode a request, with only fields that the model (or `rules`) accepts."""
    rules = rules or rules_for(request.model)
    system, contents = encode_contents(request.messages, rules)
    extra = request.extra_for("gemini")
    tools = encode_tools(request.tools)
    config = {
        "maxOutputTokens": request.max_tokens,
        "temperature": request.temperature,
        "topP": request.top_p,
        "stopSequences": list(request.stop[:MAX_STOPS]) or None,
        "thinkingConfig": _encode_thinking(request.thinking, rules),
    }
    config = {name: value for name, value in config.items() if value is not None}
    config |= _object(extra.pop("generationConfig", None))
    choice = encode_choice(request.tool_choice) if tools else None
    tool_config = _object(extra.pop("toolConfig", None))
    if choice is not None:
        tool_config = {"functionCallingConfig": choice, **tool_config}
    optional = {
        "systemInstruction": system,
        "tools": tools or None,
        "toolConfig": tool_config or None,
        "contents": contents,
        "generationConfig": config or None,
    }
    body = {name: value for name, value in optional.items() if value is not None}
    return body | {name: value for name, value in extra.items() if name not in body}


def decode_request(body: dict[str, Any], model: str = "", stream: bool = False) -> ChatRequest:
    """Decode a client's request."""
    contents = body.get("contents")
    if not isinstance(contents, list):
        raise InvalidConversation(f"contents must be a list, not {type(contents).__name__}")
    messages = decode_contents(body.get("systemInstruction", body.get("system_instruction")), contents)
    body = camel_cased({name: value for name, value in body.items() if name != "contents"})
    config = _object(body.pop("generationConfig", None))
    tool_config = _object(body.pop("toolConfig", None))
    choice = decode_choice(tool_config.get("functionCallingConfig"))
    if choice is not None:
        tool_config.pop("functionCallingConfig")
    thinking = _decode_thinking(config.pop("thinkingConfig", None))
    stops = config.pop("stopSequences", None)
    values = {name: config.pop(name, None) for name in ("maxOutputTokens", "temperature", "topP")}
    extra = {name: value for name, value in body.items() if name not in _NAMED}
    extra |= {"generationConfig": config} if config else {}
    extra |= {"toolConfig": tool_config} if tool_config else {}
    return ChatRequest(
        model=model,
        messages=tuple(messages),
        tools=decode_tools(body.get("tools")),
        max_tokens=values["maxOutputTokens"],
        temperature=values["temperature"],
        top_p=values["topP"],
        stop=stop_sequences(stops),
        tool_choice=choice,
        stream=stream,
        thinking=thinking,
        extra={"gemini": extra} if extra else {},
    )


def _encode_thinking(thinking: Thinking | None, rules: GeminiRules) -> dict[str, Any] | None:
    if thinking is None or not rules.thinks:
        return None
    config: dict[str, Any] = {}
    if thinking.display is not None:
        config["includeThoughts"] = thinking.display != "omitted"
    if thinking.effort is not None and rules.levels:
        level = nearest_effort(thinking.effort, LEVELS)
        return {**config, "thinkingLevel": level.upper()} if level else config or None
    budget = thinking.budget_tokens
    if budget is None and thinking.effort is not None:
        budget = min(BUDGETS.get(thinking.effort, MIN_BUDGET), _MAX_THINKING)
    if budget is None and thinking.mode is not None:
        budget = 0 if thinking.mode == "disabled" else -1
    return config if budget is None else {**config, "thinkingBudget": budget}


def _decode_thinking(config: Any) -> Thinking | None:
    if not isinstance(config, dict):
        return None
    shown, level, budget = (
        config.get(name) for name in ("includeThoughts", "thinkingLevel", "thinkingBudget")
    )
    display = None if shown is None else "summarized" if shown else "omitted"
    if isinstance(level, str) and level.lower() in LEVELS:
        return Thinking(effort=level.lower(), display=display)
    if not isinstance(budget, int) or isinstance(budget, bool):
        return Thinking(display=display) if display else None
    if budget == 0:
        return Thinking(mode="disabled", display=display)
    if budget < 0:
        return Thinking(mode="adaptive", display=display)
    return Thinking(mode="enabled", budget_tokens=budget, display=display)


def _object(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}
