"""A chat completion ⇄ the canonical reply, and error bodies.

A client gets all thinking as `reasoning_content`, and signed blocks also as
`thinking_blocks`: if it sends them back, the model's thinking stays valid.
"""

from collections.abc import Callable, Mapping
from typing import Any

from plimsoll.dialects.blocks.tool_ids import new_call_id
from plimsoll.dialects.finish import finish_from_openai
from plimsoll.dialects.openai.messages import all_reasoning, encode_messages
from plimsoll.dialects.reply import Reply
from plimsoll.dialects.usage import usage_from_openai, usage_to_openai
from plimsoll.errors import MalformedReply
from plimsoll.messages import Message, texts_of, tool_calls

_NAMED = frozenset({"id", "object", "created", "model", "choices", "usage"})


def encode_reply(reply: Reply, created: int = 0, legacy: bool = False) -> dict[str, Any]:
    """The body of a chat completion; `created` is the time in seconds.

    `legacy`: the client uses the legacy `function_call` protocol.
    """
    message, reason = _shown(reply.message), str(reply.finish_reason) if reply.finish_reason else None
    if legacy and (calls := message.pop("tool_calls", None)):
        message["function_call"] = calls[0]["function"]
        reason = "function_call"
    body: dict[str, Any] = {
        "id": reply.id,
        "object": "chat.completion",
        "created": created,
        "model": reply.model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
    }
    if reply.usage:
        body["usage"] = usage_to_openai(reply.usage)
    return {**body, **reply.extra.get("openai", {})}


def decode_reply(body: Any, make_id: Callable[[], str] = new_call_id) -> Reply:
    """Decode a provider's completion; `make_id` creates the ids of calls without one."""
    try:
        choice = body["choices"][0]
        message = canonical(choice["message"], make_id)
        native = choice.get("finish_reason")
    except (AttributeError, LookupError, TypeError):
        raise MalformedReply(f"the provider's reply has no message: {str(body)[:200]}") from None
    reason = finish_from_openai(native)
    if reason == "stop" and tool_calls(message):
        reason = "tool_calls"  # several local servers report `stop` after a call
    extra = {key: value for key, value in body.items() if key not in _NAMED}
    return Reply(
        message=message,
        finish_reason=reason,
        usage=usage_from_openai(body.get("usage")),
        id=str(body.get("id") or ""),
        model=str(body.get("model") or ""),
        native_finish_reason=native if isinstance(native, str) else None,
        extra={"openai": extra} if extra else {},
    )


def encode_error(kind: str, message: str) -> dict[str, Any]:
    """The body of a failed request."""
    return {"error": {"message": message, "type": kind, "param": None, "code": kind}}


def canonical(message: Mapping[str, Any], make_id: Callable[[], str] = new_call_id) -> Message:
    """A provider's message in canonical form, without empty fields."""
    kept = {key: value for key, value in message.items() if value not in (None, [], {}) and key != "role"}
    reasoning = kept.pop("reasoning", None)
    if isinstance(reasoning, str) and reasoning:
        kept.setdefault("reasoning_content", reasoning)
    calls = kept.get("tool_calls")
    kept.setdefault("content", None if calls or kept.get("refusal") else "")
    if isinstance(calls, list):
        kept["tool_calls"] = [
            {**call, "id": call.get("id") or make_id()} if isinstance(call, dict) else call for call in calls
        ]
    else:
        kept.pop("tool_calls", None)
    return {"role": "assistant", **kept}


def _shown(message: Message) -> Message:
    wire = {"content": None, **encode_messages([message], markers=False)[0]}
    if isinstance(message.get("content"), list):
        # Clients expect text here; use the same text as in a streamed reply.
        wire["content"] = "".join(texts_of(message))
    if reasoning := all_reasoning(message):
        wire["reasoning_content"] = reasoning
    if message.get("thinking_blocks"):
        wire["thinking_blocks"] = message["thinking_blocks"]
    return {"role": "assistant", **wire}
