"""A response ⇄ the canonical reply, and the envelope around its items."""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

from plimsoll.dialects.finish import FinishReason
from plimsoll.dialects.openai.messages import all_reasoning
from plimsoll.dialects.reply import Reply
from plimsoll.dialects.responses.items import assistant_message, items_of
from plimsoll.dialects.responses.parts import EXTRAS
from plimsoll.dialects.responses.request import tools_of
from plimsoll.dialects.responses.signed_thinking import encoded_thinking
from plimsoll.dialects.responses.tools import tool_names
from plimsoll.dialects.usage import Usage, usage_from_openai
from plimsoll.errors import MalformedReply
from plimsoll.messages import Message, call_name, tool_calls
from plimsoll.messages.untyped import object_of

Item = dict[str, Any]
Seal = Callable[[list[dict[str, Any]]], str]
_PREFIXES = {
    "message": "msg_",
    "reasoning": "rs_",
    "function_call": "fc_",
    "custom_tool_call": "ctc_",
    "compaction": "cmp_",
}
# Fields of the request that a response repeats, and their defaults.
_REPEATED: dict[str, Any] = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "service_tier": "default",
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
}
_REASONS: dict[str, FinishReason] = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}
_INCOMPLETE: dict[FinishReason, str] = {"length": "max_output_tokens", "content_filter": "content_filter"}


def decode_reply(body: Any) -> Reply:
    """A provider's reply."""
    output = object_of(body).get("output")
    if not isinstance(body, dict) or not isinstance(output, list):
        raise MalformedReply(f"the provider's reply has no output: {str(body)[:200]}")
    return reply_from(body, [item for item in output if isinstance(item, dict)])


def reply_from(response: dict[str, Any], items: Sequence[Item]) -> Reply:
    """The reply with these items in this envelope."""
    message = assistant_message(items)
    status = str(response.get("status") or "completed")
    return Reply(
        message=message,
        finish_reason=finish_of(response, bool(tool_calls(message))),
        usage=usage_from_openai(response.get("usage")),
        id=str(response.get("id") or ""),
        model=str(response.get("model") or ""),
        native_finish_reason=status,
    )


def finish_of(response: dict[str, Any], has_calls: bool) -> FinishReason:
    """Why a response ended."""
    if response.get("status") == "incomplete":
        reason = object_of(response.get("incomplete_details")).get("reason")
        return _REASONS.get(str(reason), "length")
    return "tool_calls" if has_calls else "stop"


def encode_reply(
    reply: Reply, request_body: dict[str, Any], created: int, seal: Seal = encoded_thinking
) -> dict[str, Any]:
    """The body of a response to this request; `seal` encrypts signed thinking."""
    output = answer_items(reply.message, reply.id, request_body, seal)
    return envelope(reply.id, reply.model, request_body, created, output, reply.finish_reason, reply.usage)


def answer_items(
    message: Message, seed: str, request_body: dict[str, Any], seal: Seal = encoded_thinking
) -> list[Item]:
    """The output items of a reply; their ids derive from `seed`."""
    own = message.get(EXTRAS)
    if isinstance(own, dict) and own.get("order"):
        return items_of(message)
    items = [*reasoning_items(message, seal), *items_of(message)]
    kinds = tool_names(tools_of(request_body))
    calls = iter(tool_calls(message))
    finished: list[Item] = []
    for index, item in enumerate(items):
        if item["type"] == "function_call":
            item = called_item(item, next(calls), kinds)
        finished.append(with_id(item, seed, index))
    return finished


def called_item(item: Item, call: dict[str, Any], kinds: dict[str, dict[str, Any]]) -> Item:
    """A call in the form of the client's tool definition."""
    kind = kinds.get(call_name(call))
    if kind is None or kind == {"type": "function_call"}:
        return item
    return items_of(
        {"role": "assistant", "tool_calls": [call], EXTRAS: {"order": [{"of": "call", "item": kind}]}}
    )[0]


def reasoning_items(message: Message, seal: Seal) -> list[Item]:
    """The model's thinking as items, if it did not arrive as items."""
    blocks = message.get("thinking_blocks")
    text = all_reasoning(message)
    if not text and not blocks:
        return []
    summary = [{"type": "summary_text", "text": text}] if text else []
    item: Item = {"type": "reasoning", "summary": summary}
    if isinstance(blocks, list) and blocks:
        item["encrypted_content"] = seal(blocks)
    return [item]


def with_id(item: Item, seed: str, index: int) -> Item:
    """An output item with its id and its status."""
    kind = item["type"]
    made = {"id": item_id(kind, seed, index), **item}
    if kind in ("message", "function_call", "custom_tool_call"):
        made.setdefault("status", "completed")
    if kind == "message":
        made["content"] = [
            {**part, "annotations": part.get("annotations", []), "logprobs": part.get("logprobs", [])}
            if part.get("type") == "output_text"
            else part
            for part in made["content"]
        ]
    return made


def item_id(kind: str, seed: str, index: int) -> str:
    """The id of an item; deterministic for its position in a reply."""
    return _PREFIXES.get(kind, "item_") + blake2b(f"{seed}/{index}".encode(), digest_size=16).hexdigest()


def envelope(
    reply_id: str,
    model: str,
    request_body: dict[str, Any],
    created: int,
    output: Sequence[Item],
    finish: FinishReason | None,
    usage: Usage | None,
    *,
    status: str = "",
    error: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A response object."""
    incomplete = _INCOMPLETE.get(finish) if finish else None
    repeated = {
        name: request_body[name] if request_body.get(name) is not None else usual
        for name, usual in _REPEATED.items()
    }
    return {
        "id": reply_id,
        "object": "response",
        "created_at": created,
        "status": status or ("incomplete" if incomplete else "completed"),
        "background": False,
        "error": error,
        "incomplete_details": {"reason": incomplete} if incomplete else None,
        "model": model or str(request_body.get("model") or ""),
        "output": list(output),
        **repeated,
        "usage": usage_to_responses(usage) if usage else None,
    }


def usage_to_responses(usage: Usage) -> dict[str, Any]:
    """The `usage` object of a response; `input_tokens` includes cached tokens, and clients expect every field."""
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read_tokens or 0,
            "cache_write_tokens": usage.cache_write_tokens or 0,
        },
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
        "total_tokens": usage.total_tokens,
    }
