"""OpenAI's Responses API as a dialect: `POST /v1/responses`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from plimsoll.context.markers import NOTE, has_note
from plimsoll.dialects.addresses import base_path, with_path
from plimsoll.dialects.answer_format import answer_format, responses_format
from plimsoll.dialects.answer_limits import whole_number
from plimsoll.dialects.dialect import Dialect
from plimsoll.dialects.efforts import effort_of
from plimsoll.dialects.interfaces import Body, ReplyDecoder, ReplyEncoder, WireMessage
from plimsoll.dialects.openai.dialect import OpenAiDialect
from plimsoll.dialects.openai.rules import rules_of
from plimsoll.dialects.reply import Reply
from plimsoll.dialects.request import ChatRequest, Tool
from plimsoll.dialects.responses.compacted_reply import COMPACT_PATH, ResponsesCompactionReply
from plimsoll.dialects.responses.compaction_items import as_message, asks_for_compaction, is_readable
from plimsoll.dialects.responses.items import grouped, items_of, message_of
from plimsoll.dialects.responses.reply import decode_reply, encode_reply, envelope
from plimsoll.dialects.responses.request import (
    ADDED_TOOLS,
    decode_request,
    encode_messages,
    encode_request,
    lead_of,
    split,
    tools_of,
    with_items,
)
from plimsoll.dialects.responses.signed_thinking import is_encoded_thinking
from plimsoll.dialects.responses.stream_decoder import ResponsesStreamDecoder
from plimsoll.dialects.responses.stream_encoder import ResponsesStreamEncoder
from plimsoll.dialects.responses.stream_errors import error_object
from plimsoll.dialects.responses.tools import decode_tools
from plimsoll.dialects.sse import SseEvent, json_event
from plimsoll.dialects.translation import with_modern_tools
from plimsoll.dialects.usage import Usage, usage_from_openai
from plimsoll.errors import MalformedReply
from plimsoll.messages import Message
from plimsoll.messages.untyped import object_of
from plimsoll.models import ModelCard

_PATH = "/responses"
_CODES = {401: "invalid_api_key", 404: "not_found", 413: "request_too_large", 429: "rate_limit_exceeded"}
# Fields of OpenAI chat that have the same name and meaning here.
_SHARED = (
    "metadata",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "user",
)
# An earlier response, a conversation, and a response that outlives its request.
_ACCOUNT_FIELDS = ("previous_response_id", "conversation", "background")


class ResponsesDialect(Dialect):
    """The Responses API."""

    name = "responses"
    title = "OpenAI Responses"
    provider = "openai"
    api_mode = "responses"
    path_prefixes = ("/v1/responses",)
    answer_paths = (f"/v1{_PATH}", COMPACT_PATH)
    count_paths = (f"/v1{_PATH}/input_tokens",)
    session_headers = ("thread-id", "session-id", "session_id")  # sent by Codex
    keeps_replies = True
    reply_events = (
        "response.output_item.done",
        "response.completed",
        "response.incomplete",
        "response.failed",
    )
    messages_field = "input"
    limit_fields = ("max_output_tokens",)
    takes_effort = True
    text_fields = ("text", "delta", "arguments", "input", "refusal")
    open_documents = True
    opening_events = frozenset({"response.created", "response.queued", "response.in_progress"})

    def url(self, base_url: str, model: str, is_stream: bool) -> str:
        return with_path(base_url, (base_path(base_url).removesuffix(_PATH) or "/v1") + _PATH)

    def models_url(self, base_url: str) -> str:
        return self.url(base_url, "", False).removesuffix(_PATH) + "/models"

    def count_url(self, base_url: str, model: str) -> str:
        return f"{self.url(base_url, model, False)}/input_tokens"

    def serves_address(self, base_url: str) -> bool:
        return base_path(base_url).endswith(_PATH)

    def local_url(self, root: str) -> str:
        return f"{root}/v1"

    # A request's body

    def is_stored(self, body: Body) -> bool:
        return body.get("store") is not False

    def continues(self, body: Body) -> str:
        return str(body.get("previous_response_id") or "")

    def account_field(self, body: Body) -> str:
        return next((name for name in _ACCOUNT_FIELDS if body.get(name)), "")

    def expanded(self, body: Body, earlier: Sequence[WireMessage]) -> Body:
        lead, items = split(body)
        whole = with_items(body, lead, [*earlier, *items])
        if asks_for_compaction(body):
            whole["input"].append(body["input"][-1])
        del whole["previous_response_id"]
        return whole

    def lead(self, body: Body) -> tuple[Message, ...]:
        return lead_of(body, split(body)[0])

    def messages(self, body: Body) -> list[WireMessage]:
        return split(body)[1]

    def with_messages(self, body: Body, messages: Sequence[WireMessage], *, has_note: bool = False) -> Body:
        lead, _ = split(body)
        if has_note and not _has_note(body, lead):
            note = {"type": "input_text", "text": NOTE}
            lead = [*lead, {"type": "message", "role": "developer", "content": [note]}]
        return with_items(body, lead, messages)

    def canonical(self, messages: Sequence[WireMessage], index: int) -> list[Message]:
        return [message_of(messages, index)]

    def written(self, messages: Sequence[Message], model: str) -> list[WireMessage]:
        return grouped(item for message in messages for item in items_of(message))

    def outgoing(self, body: Body) -> Body:
        items = body.get("input")
        if not isinstance(items, list) or not any(
            is_readable(item) or is_encoded_thinking(item) for item in items
        ):
            return body
        kept = [
            as_message(item) if is_readable(item) else item for item in items if not is_encoded_thinking(item)
        ]
        return {**body, "input": kept}

    def rough_messages(self, body: Body) -> list[Message]:
        items = body.get("input")
        content = items if isinstance(items, str | list) else ""
        return [
            {"role": "system", "content": body.get("instructions") or ""},
            {"role": "user", "content": content},
        ]

    def tools(self, body: Body) -> list[Tool]:
        return tools_of(body)

    def canonical_tools(self, tools: Sequence[Tool]) -> list[Tool]:
        return list(decode_tools(tools))

    def without_tool(self, reply: Body, name: str) -> Body:
        inner = reply.get("response")
        if isinstance(inner, dict):
            return {**reply, "response": self.without_tool(inner, name)}
        tools = reply.get("tools")
        if not isinstance(tools, list):
            return reply
        return {
            **reply,
            "tools": [tool for tool in tools if not isinstance(tool, dict) or tool.get("name") != name],
        }

    def edits_history(self, body: Body) -> bool:
        return bool(body.get("context_management")) or body.get("truncation") == "auto"

    def without_history_edits(self, body: Body) -> Body:
        return {key: value for key, value in body.items() if key not in ("context_management", "truncation")}

    # Compaction for the client

    def compaction_reply(self, body: Body, path: str) -> ResponsesCompactionReply | None:
        is_wanted = path == COMPACT_PATH or asks_for_compaction(body)
        return ResponsesCompactionReply(body, path) if is_wanted else None

    # Usage

    def usage(self, raw: Any) -> Usage | None:
        return usage_from_openai(raw)

    def usage_of_event(self, event: Body) -> tuple[Body, bool] | None:
        usage = object_of(event.get("response")).get("usage")
        return (usage, True) if isinstance(usage, dict) and usage else None

    # Translation

    def decode_request(self, body: Body, path: str = "") -> ChatRequest:
        return decode_request(body)

    def encode_request(self, request: ChatRequest, card: ModelCard | None = None) -> Body:
        return encode_request(request, rules_of(card) if card else None)

    def decode_reply(self, body: Any) -> Reply:
        return decode_reply(body)

    def encode_reply(self, reply: Reply, request_body: Body, created: int) -> Body:
        return encode_reply(reply, request_body, created)

    def decoder(self) -> ReplyDecoder:
        return ResponsesStreamDecoder()

    def encoder(self, request_body: Body, created: int, include_usage: bool = True) -> ReplyEncoder:
        return ResponsesStreamEncoder(request_body, created)

    def adapted(self, request: ChatRequest) -> ChatRequest:
        own: dict[str, Any] = {"store": False}  # no later request continues the response by its id
        text: dict[str, Any] = {}
        if (wanted := answer_format(request)) is not None:
            text["format"] = responses_format(wanted)
        if isinstance(verbosity := request.stated("verbosity"), str):
            text["verbosity"] = verbosity
        if text:
            own["text"] = text
        shared = request.extra.get("openai", {})
        own |= {name: shared[name] for name in _SHARED if shared.get(name) is not None}
        return replace(with_modern_tools(request), extra={"responses": own})

    def unwritten(self, request: ChatRequest, body: Body) -> list[str]:
        missing = super().unwritten(request, body)
        if request.stop:
            missing.append("stop")
        if effort_of(request.thinking) not in (None, "none") and "effort" not in (
            body.get("reasoning") or {}
        ):
            missing.append("thinking")
        return missing

    def field_name(self, field: str, request: ChatRequest) -> str:
        return "reasoning.effort" if field == "thinking" else field

    def document(self, messages: Sequence[Message], wrapper: Body, is_object: bool) -> Any:
        instructions, items = encode_messages(messages)
        if instructions is None and not is_object:
            return items
        request_input = wrapper.get("input")
        added = (
            [item for item in request_input if _adds_tools(item)] if isinstance(request_input, list) else []
        )
        rest = {key: value for key, value in wrapper.items() if key not in ("messages", "instructions")}
        lead = {} if instructions is None else {"instructions": instructions}
        return {**lead, **rest, "input": [*added, *items]}

    # Models and errors, as in OpenAI chat

    def models_body(self, names: Sequence[str]) -> Body:
        return _CHAT.models_body(names)

    def model_body(self, name: str) -> Body:
        return _CHAT.model_body(name)

    def error_kind(self, status: int) -> str:
        return _CHAT.error_kind(status)

    def error_body(self, status: int, message: str, kind: str | None = None, code: str | None = None) -> Body:
        return _CHAT.error_body(status, message, kind, code)

    def failure_event(self, status: int, message: str, begun: SseEvent | None = None) -> SseEvent:
        code = _CODES.get(status, "server_error" if status >= 500 else "invalid_prompt")
        return _failed(code, message, _response_in(begun))

    def error_in(self, event: Body) -> Body | None:
        response = event.get("response")
        if event.get("type") != "response.failed" or not isinstance(response, dict):
            return None
        return {"error": response.get("error")}

    def overflow_event(self, message: str) -> SseEvent:
        # OpenAI reports it in the stream, and Codex compacts only if it is reported there.
        return _failed("context_length_exceeded", message)


_CHAT = OpenAiDialect()


def _has_note(body: Body, lead: Sequence[WireMessage]) -> bool:
    return any(map(has_note, lead_of(body, lead)))


def _adds_tools(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == ADDED_TOOLS


def _response_in(event: SseEvent | None) -> Body:
    """The response that an event describes; empty if it describes none."""
    try:
        response = ((event.decoded() if event else None) or {}).get("response")
    except MalformedReply:
        response = None
    return object_of(response)


def _failed(code: str, message: str, begun: Body | None = None) -> SseEvent:
    """The failure of a response; OpenAI's SDK rejects one with another id than that of the response that began."""
    known = begun or {}
    response = envelope(
        str(known.get("id") or ""),
        str(known.get("model") or ""),
        known,
        whole_number(known.get("created_at")),
        [],
        None,
        None,
        status="failed",
        error=error_object(code, message),
    )
    return json_event(
        {"type": "response.failed", "sequence_number": 0, "response": response}, "response.failed"
    )
