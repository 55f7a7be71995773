"""Detects the format of a record from its content, never from a file's name.

    {"messages": […]} or […]           a conversation
    {"role": …, "content": …}          one message of a conversation
    {"type": …, "payload": {…}}        a line of a Codex rollout (older ones: the payload alone)
    {"type": "user", "message": {…}}   a line of a Claude Code session

The first record of a file decides for the whole file.
"""

from collections.abc import Sequence
from typing import Any, Literal

Kind = Literal["conversation", "message", "claude-code", "codex"]

_ANTHROPIC_BLOCKS = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "document"}
)
_RESPONSES_PARTS = frozenset({"input_text", "output_text", "input_image"})
_RESPONSES_ITEMS = frozenset(
    {"reasoning", "function_call", "function_call_output", "local_shell_call", "custom_tool_call"}
    | {"custom_tool_call_output", "web_search_call", "ghost_snapshot"}
)
# Roles and keys that Anthropic's messages do not have; one of them settles the question.
_OPENAI_ROLES = frozenset({"tool", "function"})
_OPENAI_KEYS = ("tool_calls", "tool_call_id", "function_call")


def kind_of(record: Any) -> Kind | None:
    """The format of a record; None if Plimsoll does not support it."""
    if isinstance(record, list):
        return "conversation"
    if not isinstance(record, dict):
        return None
    if isinstance(record.get("messages"), list):
        return "conversation"
    if _is_codex(record):
        return "codex"
    if "role" in record:
        return "message"
    return "claude-code" if isinstance(record.get("type"), str) else None


def _is_codex(record: dict[str, Any]) -> bool:
    kind = record.get("type")
    if str(kind) in _RESPONSES_ITEMS or isinstance(record.get("payload"), dict) or "record_type" in record:
        return True
    if kind == "message":
        return any(str(block.get("type")) in _RESPONSES_PARTS for block in _blocks(record))
    return kind is None and "role" not in record and "id" in record and "timestamp" in record


def is_anthropic(messages: Sequence[Any], wrapper: dict[str, Any]) -> bool:
    """Whether a conversation is Anthropic's: its content blocks say so, or a `system` beside the messages."""
    readable = [message for message in messages if isinstance(message, dict)]
    if any(str(m.get("role")) in _OPENAI_ROLES or any(m.get(key) for key in _OPENAI_KEYS) for m in readable):
        return False
    if any(_is_anthropic_block(block) for message in readable for block in _blocks(message)):
        return True
    inline = any(str(message.get("role")) in ("system", "developer") for message in readable)
    return wrapper.get("system") is not None and not inline


def _is_anthropic_block(block: dict[str, Any]) -> bool:
    return str(block.get("type")) in _ANTHROPIC_BLOCKS or (block.get("type") == "image" and "source" in block)


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
