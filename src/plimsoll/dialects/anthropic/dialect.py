"""Anthropic's messages API as a dialect: `POST /v1/messages`."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from plimsoll.context.markers import NOTE, has_note
from plimsoll.dialects.addresses import base_path, with_path
from plimsoll.dialects.anthropic.conversation import (
    decode_anthropic_conversation,
    encode_anthropic_conversation,
)
from plimsoll.dialects.anthropic.markers import mark_body
from plimsoll.dialects.anthropic.reply import decode_reply, encode_error, encode_reply
from plimsoll.dialects.anthropic.request import decode_request, encode_request
from plimsoll.dialects.anthropic.rules import rules_for
from plimsoll.dialects.anthropic.stream_decoder import AnthropicStreamDecoder
from plimsoll.dialects.anthropic.stream_encoder import AnthropicStreamEncoder
from plimsoll.dialects.anthropic.tools import decode_tools
from plimsoll.dialects.cache_markers import MARKER_BYTES, keep_rolling, unmarked
from plimsoll.dialects.dialect import Dialect
from plimsoll.dialects.interfaces import (
    Body,
    CacheMarking,
    MarkedBody,
    Rendered,
    ReplyDecoder,
    ReplyEncoder,
    WireMessage,
)
from plimsoll.dialects.message_lists import checked_conversation
from plimsoll.dialects.reply import Reply
from plimsoll.dialects.request import ChatRequest, Tool
from plimsoll.dialects.sse import SseEvent, json_event
from plimsoll.dialects.translation import for_anthropic
from plimsoll.dialects.usage import Usage, usage_from_anthropic
from plimsoll.messages import SYSTEM_ROLES, Message, text_of
from plimsoll.messages.untyped import list_of, object_of
from plimsoll.models import ModelCard

_PATH = "/v1/messages"
_SINCE = "2025-01-01T00:00:00Z"  # the date of every listed model; clients require one
# History edits that the provider makes. Clearing thinking changes nothing else.
_SERVER_EDITS = ("clear_tool_uses", "compact")
_KINDS = {
    400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
    404: "not_found_error", 405: "invalid_request_error", 408: "timeout_error", 413: "request_too_large",
    429: "rate_limit_error", 503: "overloaded_error", 504: "timeout_error", 529: "overloaded_error",
}  # fmt: skip


class AnthropicDialect(Dialect):
    """The messages API."""

    name = "anthropic"
    title = "Anthropic"
    provider = "anthropic"
    api_mode = "anthropic_messages"
    validation = "anthropic"
    path_prefixes = (_PATH,)
    answer_paths = (_PATH,)
    count_paths = (f"{_PATH}/count_tokens",)
    own_headers = ("anthropic-version",)
    beta_header = "anthropic-beta"
    key_header = "x-api-key"
    key_prefix = ""
    needs_limit = True
    takes_markers = True
    native_markers = True
    text_fields = ("content", "text", "partial_json", "thinking")

    def url(self, base_url: str, model: str, is_stream: bool) -> str:
        return with_path(base_url, base_path(base_url).removesuffix(_PATH).removesuffix("/v1") + _PATH)

    def models_url(self, base_url: str) -> str:
        return self.url(base_url, "", False).removesuffix("/messages") + "/models"

    def serves_address(self, base_url: str) -> bool:
        # Several providers also offer this wire format, under this path.
        return base_path(base_url).endswith(("/anthropic", _PATH))

    def edits_history(self, body: Body) -> bool:
        return any(
            str(edit.get("type")).startswith(_SERVER_EDITS)
            for edit in list_of(object_of(body.get("context_management")).get("edits"))
            if isinstance(edit, dict)
        )

    def without_history_edits(self, body: Body) -> Body:
        return {key: value for key, value in body.items() if key != "context_management"}

    def lead(self, body: Body) -> tuple[Message, ...]:
        return tuple(unmarked(m) for m in decode_anthropic_conversation(body.get("system"), ()))

    def messages(self, body: Body) -> list[WireMessage]:
        return checked_conversation(body)

    def with_messages(self, body: Body, messages: Sequence[WireMessage], *, has_note: bool = False) -> Body:
        changed = {**body, "messages": list(messages)}
        return {**changed, "system": system_with_note(body.get("system"))} if has_note else changed

    def canonical(self, messages: Sequence[WireMessage], index: int) -> list[Message]:
        message = unmarked(messages[index])
        if index and message.get("role") == "user":
            # Results have tool names, which come from the preceding calls.
            before = unmarked(messages[index - 1])
            known = len(decode_anthropic_conversation(None, [before]))
            return decode_anthropic_conversation(None, [before, message])[known:]
        return decode_anthropic_conversation(None, [message])

    def written(self, messages: Sequence[Message], model: str) -> list[WireMessage]:
        turns = [_as_user(m) if m.get("role") in SYSTEM_ROLES else m for m in messages]
        return encode_anthropic_conversation(turns, rules_for(model))[1] if turns else []

    def settled(self, messages: Sequence[WireMessage], opening: int) -> list[WireMessage]:
        return list(_settled(messages, opening))

    def unmarked(self, message: WireMessage) -> WireMessage:
        return unmarked(message)

    def canonical_tools(self, tools: Sequence[Tool]) -> list[Tool]:
        return list(decode_tools(list(tools)))

    def has_markers(self, raw: bytes) -> bool:
        return MARKER_BYTES in raw

    def mark(self, body: Body, rendered: Callable[[], Rendered], marking: CacheMarking) -> MarkedBody:
        return mark_body(body, rendered(), marking)

    def keep_rolling(self, body: Body, ttl: str) -> Body:
        return keep_rolling(body, ttl)

    def usage(self, raw: Any) -> Usage | None:
        return usage_from_anthropic(raw)

    def usage_of_event(self, event: Body) -> tuple[Body, bool] | None:
        usage = event.get("usage") or object_of(event.get("message")).get("usage")
        return (usage, event.get("type") != "message_start") if isinstance(usage, dict) else None

    def decode_request(self, body: Body, path: str = "") -> ChatRequest:
        return decode_request(body)

    def encode_request(self, request: ChatRequest, card: ModelCard | None = None) -> Body:
        return encode_request(request)

    def decode_reply(self, body: Any) -> Reply:
        return decode_reply(body)

    def encode_reply(self, reply: Reply, request_body: Body, created: int) -> Body:
        return encode_reply(reply)

    def decoder(self) -> ReplyDecoder:
        return AnthropicStreamDecoder()

    def encoder(self, request_body: Body, created: int, include_usage: bool = True) -> ReplyEncoder:
        return AnthropicStreamEncoder()

    def adapted(self, request: ChatRequest) -> ChatRequest:
        return for_anthropic(request)

    def unwritten(self, request: ChatRequest, body: Body) -> list[str]:
        missing = super().unwritten(request, body)
        effort = request.thinking.effort if request.thinking else None
        if effort and "thinking" not in body and "effort" not in (body.get("output_config") or {}):
            missing.append("thinking")
        return missing

    def field_name(self, field: str, request: ChatRequest) -> str:
        if field == "thinking":
            has_word = request.thinking is not None and request.thinking.effort is not None
            return "output_config.effort" if has_word else "thinking"
        return "stop_sequences" if field == "stop" else field

    def document(self, messages: Sequence[Message], wrapper: Body, is_object: bool) -> Any:
        blocks, encoded = encode_anthropic_conversation(messages)
        if not blocks and not is_object:
            return encoded
        value = {**wrapper, "messages": encoded}
        if not blocks:
            value.pop("system", None)
            return value
        was = wrapper.get("system")
        plain = len(blocks) == 1 and set(blocks[0]) == {"type", "text"} and isinstance(was, str)
        system = blocks[0]["text"] if plain else blocks
        return {**value, "system": system} if was is not None else {"system": system, **value}

    def models_body(self, names: Sequence[str]) -> Body:
        first, last = (names[0], names[-1]) if names else (None, None)
        listed = [self.model_body(name) for name in names]
        return {"data": listed, "has_more": False, "first_id": first, "last_id": last}

    def model_body(self, name: str) -> Body:
        return {"type": "model", "id": name, "display_name": name, "created_at": _SINCE}

    def error_kind(self, status: int) -> str:
        return _KINDS.get(status, "api_error" if status >= 500 else "invalid_request_error")

    def error_body(self, status: int, message: str, kind: str | None = None, code: str | None = None) -> Body:
        return encode_error(kind or self.error_kind(status), message)

    def failure_event(self, status: int, message: str, begun: SseEvent | None = None) -> SseEvent:
        return json_event(self.error_body(status, message), "error")


def system_with_note(system: Any) -> list[dict[str, Any]]:
    """Anthropic's `system` with the compaction note as its last block, once."""
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else []
    blocks = system if isinstance(system, list) else blocks
    return blocks if has_note({"content": blocks}) else [*blocks, {"type": "text", "text": NOTE}]


def _settled(messages: Sequence[WireMessage], opening: int) -> Iterator[WireMessage]:
    """Move every system message of the opening to a legal position: the end of a turn."""
    for index, message in enumerate(messages):
        if index <= opening and message.get("role") in SYSTEM_ROLES:
            before = messages[index - 1].get("role") if index else None
            after = messages[index + 1].get("role") if index + 1 < len(messages) else "assistant"
            if (before, after) != ("user", "assistant"):
                yield {"role": "user", "content": [{"type": "text", "text": _as_user(message)["content"]}]}
                continue
        yield message


def _as_user(message: Message) -> Message:
    return {"role": "user", "content": f"<system-message>\n{text_of(message)}\n</system-message>"}
