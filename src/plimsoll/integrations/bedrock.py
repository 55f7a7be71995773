"""Messages in the format of Amazon Bedrock's Converse API: content blocks, tool results in user messages."""

import base64
import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from plimsoll.dialects.blocks.assistant import content_from
from plimsoll.integrations.canonical import (
    CALL,
    call_of,
    image_part,
    is_unchanged_thinking,
    message_of,
    redacted_thought,
    result_of,
    text_part,
    thought,
    with_blocks,
)
from plimsoll.integrations.codec import HostGroup, WrittenMessage
from plimsoll.messages import Message, Part, arguments_of, call_name, parts_of, text_of, tool_calls


class BedrockCodec:
    """Messages in Bedrock's format. Tool results are blocks of user messages."""

    def decode(self, messages: Sequence[Any]) -> list[HostGroup]:
        """A user message may be several tool results and a request."""
        return [HostGroup(1, list(_canonical(message["role"], message["content"]))) for message in messages]

    def encode(self, written: Sequence[WrittenMessage[Any]]) -> list[Any]:
        """Neighbouring messages of one role become one message, as Bedrock requires."""
        runs = groupby(written, key=lambda item: item.message.get("role") == "assistant")
        return [
            {
                "role": "assistant" if is_assistant else "user",
                "content": [block for item in run for block in _blocks(item)],
            }
            for is_assistant, run in runs
        ]


def alternating(messages: Sequence[Any], originals: Sequence[Any]) -> list[Any]:
    """The messages of a view; new messages are merged with a neighbour of the same role.

    Bedrock requires alternating roles, and a summary may follow a tool result, which has the user role here.
    """
    own = {id(item) for item in originals}
    joined: list[Any] = []
    is_own = True
    for message in messages:
        if joined and joined[-1]["role"] == message["role"] and not (is_own and id(message) in own):
            joined[-1] = {**joined[-1], "content": [*joined[-1]["content"], *message["content"]]}
            is_own = False
        else:
            joined.append(message)
            is_own = id(message) in own
    return joined


def _canonical(role: str, blocks: Sequence[Any]) -> Iterator[Message]:
    results = [block["toolResult"] for block in blocks if "toolResult" in block]
    uses = [block["toolUse"] for block in blocks if "toolUse" in block]
    for result in results:
        yield result_of(
            result["toolUseId"], bedrock_parts(result["content"]), failed=result.get("status") == "error"
        )
    content = bedrock_parts(blocks)
    if content or uses or not results:
        calls = [call_of(use["toolUseId"], use["name"], use["input"]) for use in uses]
        yield message_of(role, content, calls, [found for block in blocks if (found := _thought(block))])


def _thought(block: Any) -> dict[str, Any] | None:
    """The signed thinking of a block; unsigned reasoning stays on the host's message."""
    reasoning = block.get("reasoningContent") or {}
    if data := reasoning.get("redactedContent"):
        return redacted_thought(base64.b64encode(data).decode() if isinstance(data, bytes) else str(data))
    text = reasoning.get("reasoningText") or {}
    return thought(text.get("text") or "", text["signature"]) if text.get("signature") else None


def bedrock_parts(blocks: Sequence[Any]) -> list[Part]:
    """Texts and images; other blocks stay on the host's message."""
    return [part for block in blocks if (part := _part(block))]


def _part(block: Any) -> Part | None:
    if "text" in block:
        return text_part(block["text"])
    if "json" in block:
        return text_part(json.dumps(block["json"], ensure_ascii=False))
    if "image" in block and "bytes" in block["image"]["source"]:
        data = base64.b64encode(block["image"]["source"]["bytes"]).decode()
        return image_part(f"data:image/{block['image']['format']};base64,{data}")
    return None


def _kind(block: Any) -> str:
    part = _part(block)
    return part["type"] if part else CALL if "toolUse" in block else ""


def _blocks(written: WrittenMessage[Any]) -> list[Any]:
    """The blocks of one message; unchanged ones are the host's own."""
    message = written.message
    before = [block for original in written.originals for block in original["content"]]
    if message.get("role") == "tool":
        return [{"toolResult": _result(message, before)}]
    parts = parts_of(message)
    uses = [
        {"toolUse": {"toolUseId": call["id"], "name": call_name(call), "input": arguments_of(call)}}
        for call in tool_calls(message)
    ]
    new: dict[str, list[Any]] = {
        "text": [{"text": part["text"]} for part in parts if part.get("text")],
        "image_url": [block for block in before if "image" in block and _part(block) in parts],
        CALL: uses,
    }
    own = [
        item for item in before if "toolResult" not in item and is_unchanged_thinking(message, _thought(item))
    ]
    return with_blocks(own, _kind, new)


def _result(message: Message, before: Sequence[Any]) -> dict[str, Any]:
    call_id = message["tool_call_id"]
    own = [found for block in before if (found := block.get("toolResult", {})).get("toolUseId") == call_id]
    if own and content_from(bedrock_parts(own[0]["content"])) == message["content"]:
        kept: dict[str, Any] = own[0]
        return kept
    status = own[0].get("status", "success") if own else "success"
    return {"toolUseId": call_id, "status": status, "content": [{"text": text_of(message)}]}
