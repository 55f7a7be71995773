"""Requests that OpenAI refuses, and what it says about them."""

from scripted_clients import (
    HI,
    OPENAI_TOOL,
)


def called(call_id="call_1"):
    function = {"name": "terminal", "arguments": "{}"}
    calls = [{"id": call_id, "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def answered(call_id="call_1"):
    return {"role": "tool", "tool_call_id": call_id, "content": "ok"}


OPENAI = {
    "missing model": ({"model": None}, "you must provide a model parameter", None, None),
    "missing messages": (
        {"messages": None},
        "Missing required parameter: 'messages'.",
        "messages",
        "missing_required_parameter",
    ),
    "empty messages": (
        {"messages": []},
        "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        "messages",
        "empty_array",
    ),
    "unknown role": (
        {"messages": [{"role": "robot", "content": "hi"}]},
        "Invalid value: 'robot'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and "
        "'developer'.",
        "messages[0].role",
        "invalid_value",
    ),
    "no content": (
        {"messages": [{"role": "user", "content": None}]},
        "Invalid value for 'content': expected a string, got null.",
        "messages.[0].content",
        None,
    ),
    "empty content": (
        {"messages": [{"role": "user", "content": []}]},
        "Invalid 'messages[0].content': empty array. Expected an array with minimum length 1, but got an empty array "
        "instead.",
        "messages[0].content",
        "empty_array",
    ),
    "orphaned result": (
        {"messages": [*HI, answered()]},
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
        "messages.[1].role",
        None,
    ),
    "result for another call": (
        {"messages": [*HI, called(), answered(), answered("call_9")]},
        "Invalid parameter: 'tool_call_id' of 'call_9' not found in 'tool_calls' of previous message.",
        "messages.[3].tool_call_id",
        None,
    ),
    "missing result": (
        {"messages": [*HI, called(), *HI]},
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        "The following tool_call_ids did not have response messages: call_1",
        "messages.[2].role",
        None,
    ),
    "arguments that are no text": (
        {
            "messages": [
                *HI,
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "call_1", "type": "function", "function": {"name": "x", "arguments": {}}}
                    ],
                },
                answered(),
            ]
        },
        "Invalid type for 'messages[1].tool_calls[0].function.arguments': expected a string, but got an "
        "object instead.",
        "messages[1].tool_calls[0].function.arguments",
        "invalid_type",
    ),
    "no tools in the list": (
        {"tools": []},
        "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        "tools",
        "empty_array",
    ),
    "illegal tool name": (
        {"tools": [{"type": "function", "function": {"name": "my.tool"}}]},
        "Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches the pattern "
        "'^[a-zA-Z0-9_-]+$'.",
        "tools[0].function.name",
        "invalid_value",
    ),
    "long tool name": (
        {"tools": [{"type": "function", "function": {"name": "x" * 65}}]},
        "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64, but got a "
        "string with length 65 instead.",
        "tools[0].function.name",
        "string_above_max_length",
    ),
    "unknown tool choice": (
        {"tools": [OPENAI_TOOL], "tool_choice": "any"},
        "Invalid value: 'any'. Supported values are: 'none', 'auto', and 'required'.",
        "tool_choice",
        "invalid_value",
    ),
    "choice of an unknown tool": (
        {"tools": [OPENAI_TOOL], "tool_choice": {"type": "function", "function": {"name": "browser"}}},
        "Tool choice 'browser' not found in 'tools' parameter.",
        "tool_choice",
        None,
    ),
    "tool choice without tools": (
        {"tool_choice": "auto"},
        "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
        "tool_choice",
        None,
    ),
    "stream options without a stream": (
        {"stream_options": {"include_usage": True}},
        "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        "stream_options",
        None,
    ),
    "max_tokens on a reasoning model": (
        {"model": "gpt-5", "max_tokens": 100},
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "max_tokens",
        "unsupported_parameter",
    ),
    "more output than the model has": (
        {"max_tokens": 20480},
        "max_tokens is too large: 20480. This model supports at most 16384 completion tokens, whereas you provided "
        "20480.",
        "max_tokens",
        "invalid_value",
    ),
    "max_tokens of zero": (
        {"max_tokens": 0},
        "Invalid 'max_tokens': integer below minimum value. Expected a value >= 1, but got 0 instead.",
        "max_tokens",
        "integer_below_min_value",
    ),
}
