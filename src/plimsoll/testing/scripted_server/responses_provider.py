"""The scripted server as OpenAI's Responses API. Error messages are OpenAI's if they are publicly known."""

import time
from collections.abc import Iterator
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from plimsoll.dialects import RESPONSES, ChatRequest, Reply, SseEvent
from plimsoll.dialects.blocks.assistant import thinking_of
from plimsoll.dialects.responses.compaction_items import ENCRYPTED_PREFIX
from plimsoll.dialects.responses.reply import encode_reply
from plimsoll.dialects.responses.stream_encoder import ResponsesStreamEncoder
from plimsoll.dialects.responses.stream_errors import error_object
from plimsoll.dialects.sse import json_event
from plimsoll.testing.scripted_server.openai_provider import OpenAiProvider
from plimsoll.testing.scripted_server.replies import steps_of
from plimsoll.testing.scripted_server.rules import responses as rules
from plimsoll.testing.scripted_server.rules.checked_request import CheckedRequest
from plimsoll.testing.scripted_server.rules.refusal import Refusal


class ResponsesProvider(OpenAiProvider):
    """The Responses API. It stores no responses, so a request that continues one fails."""

    dialect = RESPONSES
    reply_prefix = "resp_"

    def __init__(self) -> None:
        self._required: dict[str, str] = {}  # the reasoning item that each item depends on

    def shape_refusals(self, body: dict[str, Any], counts_only: bool) -> Iterator[Refusal]:
        return rules.shape_refusals(body)

    def refusals(self, checked: CheckedRequest) -> Iterator[Refusal]:
        return rules.refusals(checked, self._required, ENCRYPTED_PREFIX)

    def failure_event(self, kind: str, message: str) -> SseEvent:
        failed = {"status": "failed", "error": error_object(kind, message), "output": []}
        return json_event({"type": "response.failed", "response": failed}, "response.failed")

    def reply_body(self, reply: Reply) -> dict[str, Any]:
        body = encode_reply(_signed(reply), {}, int(time.time()), _sealed)
        self._remember(body["output"])
        return body

    def events(self, reply: Reply, request: ChatRequest) -> list[SseEvent]:
        encoder = ResponsesStreamEncoder({}, int(time.time()), _sealed)
        steps = steps_of(_signed(reply))
        events = [event for step in steps for event in encoder.encode(step)] + encoder.finish()
        ended = events[-1].decoded() or {}
        self._remember(ended.get("response", {}).get("output", []))
        return events

    def _remember(self, output: list[dict[str, Any]]) -> None:
        """Record which items follow a reasoning item and are invalid without it."""
        reasoning = ""
        for item in output:
            if item["type"] == "reasoning":
                reasoning = item["id"]
            elif reasoning:
                self._required[item["id"]] = reasoning


def _signed(reply: Reply) -> Reply:
    """The reply with signed thinking, because OpenAI encrypts all thinking."""
    blocks = thinking_of(reply.message)
    if not blocks:
        return reply
    mark = blake2b(reply.id.encode(), digest_size=8).hexdigest()
    signed = [{**block, "signature": block.get("signature") or mark} for block in blocks]
    message = {key: value for key, value in reply.message.items() if key != "reasoning_content"}
    return replace(reply, message={**message, "thinking_blocks": signed})


def _sealed(blocks: list[dict[str, Any]]) -> str:
    text = "".join(str(block.get("signature") or block.get("data")) for block in blocks)
    return ENCRYPTED_PREFIX + blake2b(text.encode(), digest_size=24).hexdigest()
