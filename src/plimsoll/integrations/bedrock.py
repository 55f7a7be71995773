"""Messages in the form of Amazon Bedrock's Converse API: content blocks, tool results in user messages."""

import base64
import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from plimsoll.dialects.blocks.assistant import content_from
from plimsoll.integrations.canonical import call_of, image_part, message_of, result_of, text_part
from plimsoll.integrations.codec import HostGroup, WrittenMessage
from plimsoll.messages import Message, Part, arguments_of, call_name, parts_of, text_of, tool_calls

_MEDIA = frozenset({"image", "document", "video"})


class BedrockCodec:
    """Messages in Bedrock's form. Tool results are blocks of user messages."""

    def decode(self, messages: Sequence[Any]) -> list[HostGroup]:
        """A user message may be several tool results and a request."""
        return [HostGroup(1, list(_canonical(one["role"], one["content"]))) for one in messages]

    def encode(self, written: Sequence[WrittenMessage[Any]]) -> list[Any]:
        """Neighbouring messages of one role become one message, as Bedrock requires."""
        runs = groupby(written, key=lambda one: one.message.get("role") == "assistant")
        return [
            {
                "role": "assistant" if is_assistant else "user",
                "content": [block for one in run for block in _blocks(one)],
            }
            for is_assistant, run in runs
        ]


def alternating(messages: Sequence[Any], given: Sequence[Any]) -> list[Any]:
    """The messages of a view, where what a compaction wrote shares one message with a neighbour of its role.

    Bedrock wants roles to alternate, and a summary may follow a tool result, which is the user's here.
    """
    own = {id(one) for one in given}
    joined: list[Any] = []
    is_own = True
    for one in messages:
        if joined and joined[-1]["role"] == one["role"] and not (is_own and id(one) in own):
            joined[-1] = {**joined[-1], "content": [*joined[-1]["content"], *one["content"]]}
            is_own = False
        else:
            joined.append(one)
            is_own = id(one) in own
    return joined


def _canonical(role: str, blocks: Sequence[Any]) -> Iterator[Message]:
    results = [block["toolResult"] for block in blocks if "toolResult" in block]
    uses = [block["toolUse"] for block in blocks if "toolUse" in block]
    for one in results:
        yield result_of(one["toolUseId"], bedrock_parts(one["content"]), failed=one.get("status") == "error")
    said = bedrock_parts(blocks)
    if said or uses or not results:
        yield message_of(role, said, [call_of(one["toolUseId"], one["name"], one["input"]) for one in uses])


def bedrock_parts(blocks: Sequence[Any]) -> list[Part]:
    """Texts and images; other blocks stay on the host's message."""
    parts = []
    for block in blocks:
        if "text" in block:
            parts.append(text_part(block["text"]))
        elif "json" in block:
            parts.append(text_part(json.dumps(block["json"], ensure_ascii=False)))
        elif "image" in block and "bytes" in block["image"]["source"]:
            data = base64.b64encode(block["image"]["source"]["bytes"]).decode()
            parts.append(image_part(f"data:image/{block['image']['format']};base64,{data}"))
    return parts


def _blocks(written: WrittenMessage[Any]) -> list[Any]:
    """The blocks of one message; those that a compaction left as they were are the host's own."""
    message = written.message
    before = [block for one in written.originals for block in one["content"]]
    if message.get("role") == "tool":
        return [{"toolResult": _result(message, before)}]
    texts = [{"text": part["text"]} for part in parts_of(message) if part.get("text")]
    uses = [
        {"toolUse": {"toolUseId": call["id"], "name": call_name(call), "input": arguments_of(call)}}
        for call in tool_calls(message)
    ]
    media = [] if uses else [block for block in before if not _MEDIA.isdisjoint(block)]
    return [*texts, *media, *uses]


def _result(message: Message, before: Sequence[Any]) -> dict[str, Any]:
    call_id = message["tool_call_id"]
    own = [one for block in before if (one := block.get("toolResult", {})).get("toolUseId") == call_id]
    if own and content_from(bedrock_parts(own[0]["content"])) == message["content"]:
        kept: dict[str, Any] = own[0]
        return kept
    status = own[0].get("status", "success") if own else "success"
    return {"toolUseId": call_id, "status": status, "content": [{"text": text_of(message)}]}
