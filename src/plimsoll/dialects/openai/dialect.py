"""OpenAI's chat completions API as a dialect: `POST /v1/chat/completions`."""

from collections.abc import Callable, Sequence
from typing import Any

from plimsoll.caching import BlockChain, mark
from plimsoll.context.compressor.assemble import with_note
from plimsoll.dialects.addresses import base_path, with_path
from plimsoll.dialects.cache_markers import MARKER_BYTES, keep_rolling, unmarked
from plimsoll.dialects.dialect import Dialect
from plimsoll.dialects.efforts import effort_of
from plimsoll.dialects.interfaces import (
    Body,
    CacheMarking,
    MarkedBody,
    Rendered,
    ReplyDecoder,
    ReplyEncoder,
    WireMessage,
)
from plimsoll.dialects.message_lists import checked_messages, listed_messages, require_part_types
from plimsoll.dialects.openai.reply import decode_reply, encode_error, encode_reply
from plimsoll.dialects.openai.request import decode_request, encode_request
from plimsoll.dialects.openai.rules import rules_of
from plimsoll.dialects.openai.stream_decoder import OpenAiStreamDecoder
from plimsoll.dialects.openai.stream_encoder import OpenAiStreamEncoder
from plimsoll.dialects.openai.stream_usage import can_ask_for_usage, with_usage_asked, without_usage
from plimsoll.dialects.reply import Reply
from plimsoll.dialects.request import ChatRequest, Tool
from plimsoll.dialects.sse import SseEvent, json_event
from plimsoll.dialects.translation import for_openai, has_legacy_functions
from plimsoll.dialects.usage import Usage, usage_from_openai
from plimsoll.messages import SYSTEM_ROLES, Message
from plimsoll.models import ModelCard, card_for

_PATH = "/chat/completions"
_SINCE = 1_735_689_600  # the time of every listed model; clients require one
_KINDS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


class OpenAiDialect(Dialect):
    """The chat completions API, and the many servers that are compatible with it."""

    name = "openai"
    title = "OpenAI"
    provider = "openai"
    api_mode = "chat_completions"
    path_prefixes = ("/v1/chat",)
    answer_paths = (f"/v1{_PATH}",)
    beta_header = "anthropic-beta"  # routers to Claude models pass it on
    limit_fields = ("max_completion_tokens", "max_tokens")
    takes_effort = True
    takes_markers = True  # for Claude models through a router
    text_fields = ("content", "text", "arguments", "reasoning", "reasoning_content", "refusal")
    open_documents = True
    is_canonical = True
    has_end_mark = True

    def url(self, base_url: str, model: str, is_stream: bool) -> str:
        # People configure the host alone, and every compatible server has its API under /v1.
        return with_path(base_url, (base_path(base_url).removesuffix(_PATH) or "/v1") + _PATH)

    def models_url(self, base_url: str) -> str:
        return self.url(base_url, "", False).removesuffix(_PATH) + "/models"

    def serves_address(self, base_url: str) -> bool:
        # Providers with their own wire format, such as Google, offer this one under this path.
        return base_path(base_url).endswith("/openai")

    def local_url(self, root: str) -> str:
        return f"{root}/v1"

    def lead(self, body: Body) -> tuple[Message, ...]:
        return tuple(unmarked(message) for message in _lead(body))

    def messages(self, body: Body) -> list[WireMessage]:
        return checked_messages(body, len(_lead(body)))

    def with_messages(self, body: Body, messages: Sequence[WireMessage], *, has_note: bool = False) -> Body:
        lead = _lead(body)
        if lead and has_note:
            lead = [with_note(lead[0]), *lead[1:]]
        return {**body, "messages": [*lead, *messages]}

    def canonical(self, messages: Sequence[WireMessage], index: int) -> list[Message]:
        return [_plain(unmarked(messages[index]))]

    def written(self, messages: Sequence[Message], model: str) -> list[WireMessage]:
        return list(messages)

    def unmarked(self, message: WireMessage) -> WireMessage:
        return unmarked(message)

    def has_markers(self, raw: bytes) -> bool:
        return MARKER_BYTES in raw

    def mark(self, body: Body, rendered: Callable[[], Rendered], marking: CacheMarking) -> MarkedBody:
        chain, policy = BlockChain(body.get("tools") or ()), marking.policy
        marked = mark(
            body["messages"], policy, chain, marking.memory, now=marking.now, minimum=marking.minimum
        )
        return MarkedBody({**body, "messages": marked.messages}, marked.memory)

    def with_tool(self, body: Body, tool: Tool) -> Body | None:
        # Servers reject tools together with legacy functions.
        return None if has_legacy_functions(body) else super().with_tool(body, tool)

    def keep_rolling(self, body: Body, ttl: str) -> Body:
        return keep_rolling(body, ttl)

    def usage(self, raw: Any) -> Usage | None:
        return usage_from_openai(raw)

    def can_ask_for_usage(self, body: Body) -> bool:
        return can_ask_for_usage(body)

    def with_usage_asked(self, body: Body) -> Body:
        return with_usage_asked(body)

    def refuses_usage(self, refusal: bytes) -> bool:
        return b"stream_options" in refusal or b"include_usage" in refusal

    def without_usage(self, events: bytes) -> bytes:
        return without_usage(events)

    def decode_request(self, body: Body, path: str = "") -> ChatRequest:
        return decode_request(body)

    def encode_request(self, request: ChatRequest, card: ModelCard | None = None) -> Body:
        return encode_request(request, rules_of(card) if card else None)

    def decode_reply(self, body: Any) -> Reply:
        return decode_reply(body)

    def encode_reply(self, reply: Reply, request_body: Body, created: int) -> Body:
        return encode_reply(reply, created, has_legacy_functions(request_body))

    def decoder(self) -> ReplyDecoder:
        return OpenAiStreamDecoder()

    def encoder(self, request_body: Body, created: int, include_usage: bool = True) -> ReplyEncoder:
        legacy = has_legacy_functions(request_body)
        return OpenAiStreamEncoder(created=created, include_usage=include_usage, legacy=legacy)

    def adapted(self, request: ChatRequest) -> ChatRequest:
        return for_openai(request)

    def unwritten(self, request: ChatRequest, body: Body) -> list[str]:
        missing = super().unwritten(request, body)
        if len(request.stop) > len(body.get("stop") or ()):
            missing.append("stop")
        if effort_of(request.thinking) not in (None, "none") and "reasoning_effort" not in body:
            missing.append("thinking")
        return missing

    def field_name(self, field: str, request: ChatRequest) -> str:
        return "reasoning_effort" if field == "thinking" else field

    def models_body(self, names: Sequence[str]) -> Body:
        return {"object": "list", "data": [self.model_body(name) for name in names]}

    def model_body(self, name: str) -> Body:
        return {"id": name, "object": "model", "created": _SINCE, "owned_by": card_for(name).family}

    def error_kind(self, status: int) -> str:
        return _KINDS.get(status, "server_error" if status >= 500 else "invalid_request_error")

    def error_body(self, status: int, message: str, kind: str | None = None, code: str | None = None) -> Body:
        # Clients check `code`; `type` is the same for every error with a status.
        body = encode_error(self.error_kind(status), message)
        body["error"]["code"] = code
        return body

    def failure_event(self, status: int, message: str, begun: SseEvent | None = None) -> SseEvent:
        return json_event(self.error_body(status, message))


def _lead(body: Body) -> list[WireMessage]:
    """The system messages at the start of the list."""
    messages = listed_messages(body)
    roles = (str(m.get("role")) if isinstance(m, dict) else "" for m in messages)
    lead = messages[: next((n for n, role in enumerate(roles) if role not in SYSTEM_ROLES), len(messages))]
    for message in lead:
        require_part_types(message.get("content"), "the system prompt")
    return lead


def _plain(message: Message) -> Message:
    """The message with a single plain text part as a string, because clients write it both ways."""
    content = message.get("content")
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        only = content[0]
        if only.keys() == {"type", "text"} and only["type"] == "text" and isinstance(only["text"], str):
            return {**message, "content": only["text"]}
    return message
