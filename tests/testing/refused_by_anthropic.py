"""Requests that Anthropic refuses, and what it says about them."""

from scripted_clients import (
    ANTHROPIC_TOOL,
    HI,
)

MARK = {"cache_control": {"type": "ephemeral"}}
LONG_MARK = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
OLD = "claude-sonnet-4-5"


def text(words="hello", **more):
    return {"type": "text", "text": words, **more}


def use(call_id="toolu_1", name="terminal", arguments=None):
    return {"type": "tool_use", "id": call_id, "name": name, "input": {} if arguments is None else arguments}


def result(call_id="toolu_1", content="ok"):
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def user(*blocks):
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks):
    return {"role": "assistant", "content": list(blocks)}


ANTHROPIC = {
    "missing model": ({"model": None}, "model: Field required"),
    "missing max_tokens": ({"max_tokens": None}, "max_tokens: Field required"),
    "max_tokens of zero": ({"max_tokens": 0}, "max_tokens: Input should be greater than or equal to 1"),
    "missing messages": ({"messages": None}, "messages: Field required"),
    "empty messages": ({"messages": []}, "messages: at least one message is required"),
    "opens with the assistant": (
        {"messages": [{"role": "assistant", "content": "hi"}, *HI]},
        'messages: first message must use the "user" role',
    ),
    "unknown role": (
        {"messages": [{"role": "tool", "content": "hi"}]},
        "messages.0.role: Input should be 'user' or 'assistant'",
    ),
    "system role on an older model": (
        {"model": OLD, "messages": [*HI, {"role": "system", "content": "be brief"}]},
        'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" '
        "as an input message role.",
    ),
    "empty user message": (
        {"messages": [{"role": "user", "content": ""}]},
        "messages.0: user messages must have non-empty content",
    ),
    "empty assistant message": (
        {"messages": [*HI, {"role": "assistant", "content": ""}, *HI]},
        "messages.1: all messages must have non-empty content except for the optional final assistant message",
    ),
    "empty text block": (
        {"messages": [user(text(""), text())]},
        "messages: text content blocks must be non-empty",
    ),
    "empty text block in a result": (
        {"messages": [*HI, assistant(use()), user(result(content=[text("")]))]},
        "messages: text content blocks must be non-empty",
    ),
    "white space alone": (
        {"messages": [user(text("  \n"))]},
        "messages: text content blocks must contain non-whitespace text",
    ),
    "empty system block": ({"system": [text("")]}, "system: text content blocks must be non-empty"),
    "prefill on a newer model": (
        {"messages": [*HI, {"role": "assistant", "content": "Sure"}]},
        "This model does not support assistant message prefill. The conversation must end with a user message.",
    ),
    "prefill that ends in white space": (
        {"model": OLD, "messages": [*HI, {"role": "assistant", "content": "Sure "}]},
        "messages: final assistant content cannot end with trailing whitespace",
    ),
    "orphaned result": (
        {"messages": [user(result())]},
        "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. Each `tool_result` "
        "block must have a corresponding `tool_use` block in the previous message.",
    ),
    "missing result": (
        {"messages": [*HI, assistant(use(), use("toolu_2")), user(result())]},
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_2. Each "
        "`tool_use` block must have a corresponding `tool_result` block in the next message.",
    ),
    "result after a text": (
        {"messages": [*HI, assistant(use()), user(text(), result())]},
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. Each "
        "`tool_use` block must have a corresponding `tool_result` block in the next message.",
    ),
    "two results": (
        {"messages": [*HI, assistant(use()), user(result(), result())]},
        "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with id: "
        "toolu_1",
    ),
    "one id for two calls": (
        {"messages": [*HI, assistant(use()), user(result()), assistant(use()), user(result())]},
        "messages.3.content.0: `tool_use` ids must be unique",
    ),
    "illegal call id": (
        {"messages": [*HI, assistant(use("call:1")), user(result("call:1"))]},
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    "illegal name of a call": (
        {"messages": [*HI, assistant(use(name="my tool")), user(result())]},
        "messages.1.content.0.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ),
    "arguments that are no object": (
        {"messages": [*HI, assistant(use(arguments="{}")), user(result())]},
        "messages.1.content.0.tool_use.input: Input should be an object",
    ),
    "illegal tool name": (
        {"tools": [{**ANTHROPIC_TOOL, "name": "my.tool"}]},
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ),
    "tool without schema": (
        {"tools": [{"name": "terminal"}]},
        "tools.0.custom.input_schema: Field required",
    ),
    "two tools of one name": (
        {"tools": [ANTHROPIC_TOOL, ANTHROPIC_TOOL]},
        "tools: Tool names must be unique.",
    ),
    "unknown tool choice": (
        {"tools": [ANTHROPIC_TOOL], "tool_choice": {"type": "required"}},
        "tool_choice: Input tag 'required' found using 'type' does not match any of the expected tags: 'auto', "
        "'any', 'tool', 'none'",
    ),
    "tool choice as a word": (
        {"tools": [ANTHROPIC_TOOL], "tool_choice": "auto"},
        "tool_choice: Input should be an object",
    ),
    "choice of an unknown tool": (
        {"tools": [ANTHROPIC_TOOL], "tool_choice": {"type": "tool", "name": "browser"}},
        "Tool 'browser' not found in provided tools",
    ),
    "tool choice without tools": (
        {"tool_choice": {"type": "auto"}},
        "tool_choice may only be specified while providing tools.",
    ),
    "forced tool while thinking": (
        {
            "model": OLD,
            "max_tokens": 4000,
            "tools": [ANTHROPIC_TOOL],
            "tool_choice": {"type": "any"},
            "thinking": {"type": "enabled", "budget_tokens": 2000},
        },
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
    "marker on an empty text": (
        {"messages": [user(text("", **MARK))]},
        "messages.0.content.0.text: cache_control cannot be set for empty text blocks",
    ),
    "marker on thinking": (
        {"messages": [*HI, assistant({"type": "thinking", "thinking": "", "signature": "x", **MARK}), *HI]},
        "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
    ),
    "five markers": (
        {"system": [text(**MARK)], "messages": [user(*[text(**MARK)] * 4)]},
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "five markers, one of them automatic": (
        {**MARK, "messages": [user(*[text(**MARK)] * 4)]},
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "an hour after five minutes": (
        {"system": [text(**MARK)], "messages": [user(text(**LONG_MARK))]},
        "messages.0.content.0.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' "
        "cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`.",
    ),
    "unknown lifetime": (
        {"system": [text(cache_control={"type": "ephemeral", "ttl": "2h"})]},
        "system.0.cache_control.ephemeral.ttl: Input should be '5m' or '1h'",
    ),
    "forged signature": (
        {"messages": [*HI, assistant({"type": "thinking", "thinking": "a", "signature": "x"}, text()), *HI]},
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    "unsigned thinking": (
        {"messages": [*HI, assistant({"type": "thinking", "thinking": "a"}, text()), *HI]},
        "messages.1.content.0.thinking.signature: Field required",
    ),
    "temperature on a model that takes none": (
        {"model": "claude-opus-4-8", "temperature": 0.5},
        "`temperature` is deprecated for this model.",
    ),
    "thinking budget on a model that takes none": (
        {
            "model": "claude-opus-4-8",
            "max_tokens": 4000,
            "thinking": {"type": "enabled", "budget_tokens": 2000},
        },
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
        '"output_config.effort" to control thinking behavior.',
    ),
    "too small a thinking budget": (
        {"model": OLD, "thinking": {"type": "enabled", "budget_tokens": 100}},
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    ),
    "a budget as large as the limit": (
        {"model": OLD, "max_tokens": 2000, "thinking": {"type": "enabled", "budget_tokens": 2000}},
        "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at "
        "https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size",
    ),
    "a top-level hour after five minutes": (
        {"messages": [user(text(**MARK))], **LONG_MARK},
        "cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note "
        "that blocks are processed in the following order: `tools`, `system`, `messages`.",
    ),
    "a top-level lifetime that does not exist": (
        {"cache_control": {"type": "ephemeral", "ttl": "2h"}},
        "cache_control.ephemeral.ttl: Input should be '5m' or '1h'",
    ),
    "a marker inside a result": (
        {
            "tools": [ANTHROPIC_TOOL],
            "messages": [*HI, assistant(use()), user(result(content=[text(**MARK)]))],
        },
        "messages.2.content.0.tool_result.content.0.text.cache_control: Extra inputs are not permitted",
    ),
    "a system message followed by the user's words": (
        {
            "model": "claude-opus-4-8",
            "messages": [user(text()), {"role": "system", "content": "note"}, user(text())],
        },
        'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" '
        "as an input message role.",
    ),
    "more output than the model has": (
        {"model": OLD, "max_tokens": 100_000},
        f"max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for {OLD}",
    ),
}
