"""Anthropic's message ⇄ the canonical reply, and error bodies."""

from typing import Any

from plimsoll.dialects.blocks.assistant import blocks_from, entries_from, entries_of, message_from
from plimsoll.dialects.blocks.tool_ids import CallIds
from plimsoll.dialects.finish import finish_from_anthropic, finish_to_anthropic
from plimsoll.dialects.reply import Reply
from plimsoll.dialects.usage import usage_from_anthropic, usage_to_anthropic
from plimsoll.errors import MalformedReply

_NAMED = frozenset({"id", "type", "role", "model", "content", "stop_reason", "usage"})


def encode_reply(reply: Reply) -> dict[str, Any]:
    """The body of a message."""
    body: dict[str, Any] = {
        "id": reply.id,
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": blocks_from(entries_of(reply.message), CallIds(), unsigned_thinking=True),
        "stop_reason": finish_to_anthropic(reply.finish_reason, reply.native_finish_reason),
        "stop_sequence": None,
        "usage": usage_to_anthropic(reply.usage),
    }
    return {**body, **reply.extra.get("anthropic", {})}


def decode_reply(body: Any) -> Reply:
    """Decode a provider's message."""
    if not isinstance(body, dict) or not isinstance(body.get("content"), list):
        raise MalformedReply(f"the provider's reply has no content: {str(body)[:200]}")
    native = body.get("stop_reason")
    extra = {key: value for key, value in body.items() if key not in _NAMED and value is not None}
    return Reply(
        message=message_from(entries_from(body["content"])),
        finish_reason=finish_from_anthropic(native),
        usage=usage_from_anthropic(body.get("usage")),
        id=str(body.get("id") or ""),
        model=str(body.get("model") or ""),
        native_finish_reason=native if isinstance(native, str) else None,
        extra={"anthropic": extra} if extra else {},
    )


def encode_error(kind: str, message: str) -> dict[str, Any]:
    """The body of a failed request."""
    return {"type": "error", "error": {"type": kind, "message": message}}
