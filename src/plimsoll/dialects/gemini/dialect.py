"""Google's Gemini API as a dialect: `POST /v1beta/models/{model}:generateContent` and its siblings.

Model and stream flag are in the path. A token count request contains `contents`, or a whole request in
`generateContentRequest`. Both spellings of a field are accepted, and a client's spelling stays unchanged.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from plimsoll.context.markers import NOTE, has_note
from plimsoll.dialects.addresses import base_path, path_segment, with_path
from plimsoll.dialects.answer_limits import fitted_budget, whole_number
from plimsoll.dialects.dialect import Dialect
from plimsoll.dialects.gemini.conversation import encode_contents, messages_at, system_message
from plimsoll.dialects.gemini.errors import encode_error, error_fields, status_word
from plimsoll.dialects.gemini.reply import decode_reply, encode_reply
from plimsoll.dialects.gemini.request import MAX_STOPS, decode_request, encode_request
from plimsoll.dialects.gemini.rules import rules_for
from plimsoll.dialects.gemini.spelling import camel_cased, field, spelt
from plimsoll.dialects.gemini.stream_decoder import GeminiStreamDecoder
from plimsoll.dialects.gemini.stream_encoder import GeminiStreamEncoder
from plimsoll.dialects.gemini.tools import decode_tools
from plimsoll.dialects.interfaces import Body, ReplyDecoder, ReplyEncoder, WireMessage
from plimsoll.dialects.mapping import Findings, examine
from plimsoll.dialects.message_lists import listed_messages
from plimsoll.dialects.reply import Reply
from plimsoll.dialects.request import ChatRequest, Tool
from plimsoll.dialects.sse import SseEvent, json_event
from plimsoll.dialects.translation import for_gemini
from plimsoll.dialects.usage import Usage, usage_from_gemini
from plimsoll.errors import InvalidConversation
from plimsoll.messages import Message
from plimsoll.messages.untyped import list_of, object_of, objects_in
from plimsoll.models import ModelCard, card_for

_VERSIONS = ("/v1beta", "/v1")  # API versions; SDKs use either
_STREAM = ":streamGenerateContent"
_COUNTED = "generateContentRequest"
_READABLE = ("image/", "text/", "application/pdf")
_ANSWERS = ("text/plain", "application/json")
_FIELD_NAMES = {
    "max_tokens": "generationConfig.maxOutputTokens",
    "temperature": "generationConfig.temperature",
    "top_p": "generationConfig.topP",
    "stop": "generationConfig.stopSequences",
    "thinking": "generationConfig.thinkingConfig",
}


class GeminiDialect(Dialect):
    """The generateContent API."""

    name = "gemini"
    title = "Google"
    provider = "gemini"
    api_mode = "gemini"
    path_prefixes = ("/v1beta/", "/upload/v1beta/")
    answer_paths = tuple(
        f"{version}/models/{{model:path}}{method}"
        for version in _VERSIONS
        for method in (":generateContent", _STREAM)
    )
    count_paths = tuple(f"{version}/models/{{model:path}}:countTokens" for version in _VERSIONS)
    models_paths = tuple(f"{version}/models" for version in _VERSIONS)
    own_headers = ("x-goog-api-client", "x-goog-api-key")
    key_header = "x-goog-api-key"
    key_prefix = ""
    key_parameter = "key"
    takes_bearer = False  # Bearer is for OAuth tokens
    messages_field = "contents"
    limit_fields = ("maxOutputTokens",)
    usage_field = "usageMetadata"
    text_fields = ("text", "args")
    takes_comments = False

    def url(self, base_url: str, model: str, is_stream: bool) -> str:
        if not model:
            return base_url
        method = f"{_STREAM}?alt=sse" if is_stream else ":generateContent"
        return self._model_url(base_url, model) + method

    def models_url(self, base_url: str) -> str:
        # People configure the host alone, or with the version that their SDK adds.
        return with_path(base_url, (base_path(base_url).removesuffix("/models") or _VERSIONS[0]) + "/models")

    def count_url(self, base_url: str, model: str) -> str:
        return f"{self._model_url(base_url, model)}:countTokens"

    def serves_address(self, base_url: str) -> bool:
        return base_path(base_url).endswith(_VERSIONS[0])

    def model_of(self, body: Body, path: str) -> str:
        return (self.path_values(path) or {}).get("model", "").removeprefix("models/")

    def with_model(self, body: Body, model: str) -> Body:
        return body

    def is_stream(self, body: Body, path: str) -> bool:
        return path.endswith(_STREAM)

    def is_array_stream(self, path: str, query: bytes) -> bool:
        return path.endswith(_STREAM) and b"alt=sse" not in query.split(b"&")

    def lead(self, body: Body) -> tuple[Message, ...]:
        message = system_message(field(_inner_request(body), "systemInstruction"))
        return (message,) if message else ()

    def messages(self, body: Body) -> list[WireMessage]:
        contents = listed_messages(_inner_request(body), "contents")
        for index, content in enumerate(contents):
            if not isinstance(content, dict) or not isinstance(content.get("parts", []), list):
                raise InvalidConversation(f"contents[{index}] must be an object with a list of parts")
        return contents

    def with_messages(self, body: Body, messages: Sequence[WireMessage], *, has_note: bool = False) -> Body:
        inner = _inner_request(body)
        changed = {**inner, "contents": list(messages)}
        if has_note:
            name = spelt(inner, "systemInstruction")
            changed[name] = _with_note(inner.get(name))
        return changed if inner is body else {**body, spelt(body, _COUNTED): changed}

    def canonical(self, messages: Sequence[WireMessage], index: int) -> list[Message]:
        return messages_at(messages, index)

    def written(self, messages: Sequence[Message], model: str) -> list[WireMessage]:
        # A system message keeps its position here, so none may become the system prompt.
        opening: list[Message] = [{"role": "user", "content": "."}]
        return encode_contents([*opening, *messages], rules_for(model), rewritten=True)[1][1:]

    def rough_messages(self, body: Body) -> list[Message]:
        try:
            contents = self.messages(body)
            messages = [message for index in range(len(contents)) for message in messages_at(contents, index)]
        except (InvalidConversation, AttributeError, TypeError, ValueError):
            return [{"role": "user", "content": json.dumps(body, default=str)}]
        return [*self.lead(body), *messages]

    def tools(self, body: Body) -> list[Tool]:
        return objects_in(_inner_request(body).get("tools"))

    def with_tool(self, body: Body, tool: Tool) -> Body | None:
        if field(body, "cachedContent"):
            return None  # its tools are in the cached content, so the request must not have any
        inner = _inner_request(body)
        changed = super().with_tool(inner, tool)
        return changed if inner is body else {**body, spelt(body, _COUNTED): changed}

    def canonical_tools(self, tools: Sequence[Tool]) -> list[Tool]:
        return list(decode_tools(list(tools)))

    def limits(self, body: Body) -> dict[str, int]:
        count = whole_number(field(_config(body), "maxOutputTokens"))
        return {"maxOutputTokens": count} if count else {}

    def with_limits(self, body: Body, limits: Mapping[str, int]) -> Body:
        config, requested = dict(_config(body)), self.limits(body).get("maxOutputTokens", 0)
        limit = limits["maxOutputTokens"]
        config[spelt(config, "maxOutputTokens")] = limit
        thinking = field(config, "thinkingConfig")
        budget = whole_number(field(thinking, "thinkingBudget"))
        if budget and requested:
            less = fitted_budget(budget, requested, limit) or 0
            config[spelt(config, "thinkingConfig")] = {**thinking, spelt(thinking, "thinkingBudget"): less}
        return {**body, spelt(body, "generationConfig"): config}

    def choices(self, body: Body) -> int:
        return whole_number(field(_config(body), "candidateCount")) or 1

    def usage(self, raw: Any) -> Usage | None:
        return usage_from_gemini(raw)

    def decode_request(self, body: Body, path: str = "") -> ChatRequest:
        return decode_request(_inner_request(body), self.model_of(body, path), self.is_stream(body, path))

    def encode_request(self, request: ChatRequest, card: ModelCard | None = None) -> Body:
        return encode_request(request)

    def decode_reply(self, body: Any) -> Reply:
        return decode_reply(body)

    def encode_reply(self, reply: Reply, request_body: Body, created: int) -> Body:
        return encode_reply(reply)

    def decoder(self) -> ReplyDecoder:
        return GeminiStreamDecoder()

    def encoder(self, request_body: Body, created: int, include_usage: bool = True) -> ReplyEncoder:
        return GeminiStreamEncoder()

    def untranslatable(self, body: Body, upstream: str) -> Findings:
        inner = camel_cased(_inner_request(body))
        findings = examine(self.name, inner, upstream)
        # Other providers accept images, PDFs and text in a conversation.
        if not all(mime.startswith(_READABLE) for mime in _media_types(inner)):
            findings.refused["contents.parts.inlineData"] = None
        if field(_config(inner), "responseMimeType") not in (None, *_ANSWERS):
            findings.dropped["generationConfig.responseMimeType"] = None
        return findings

    def adapted(self, request: ChatRequest) -> ChatRequest:
        return for_gemini(request)

    def unwritten(self, request: ChatRequest, body: Body) -> list[str]:
        config = body.get("generationConfig", {})
        missing = ["stop"] if len(request.stop) > MAX_STOPS else []
        if request.thinking is not None and "thinkingConfig" not in config:
            missing.append("thinking")
        if request.parallel_tool_calls is False:
            missing.append("parallel_tool_calls")
        return missing

    def field_name(self, field: str, request: ChatRequest) -> str:
        return _FIELD_NAMES.get(field, field)

    def document(self, messages: Sequence[Message], wrapper: Body, is_object: bool) -> Any:
        system, contents = encode_contents(messages)
        if not is_object and system is None:
            return contents
        value = {
            name: item for name, item in wrapper.items() if name not in ("messages", "systemInstruction")
        }
        return {**({"systemInstruction": system} if system else {}), **value, "contents": contents}

    def models_body(self, names: Sequence[str]) -> Body:
        return {"models": [self.model_body(name) for name in names]}

    def model_body(self, name: str) -> Body:
        card = card_for(name)
        return {
            "name": f"models/{name}",
            "displayName": name,
            "inputTokenLimit": card.prompt_limit,
            "outputTokenLimit": card.output_cap,
            "supportedGenerationMethods": ["generateContent", "countTokens"],
        }

    def model_names(self, listed: Any) -> list[str]:
        models = list_of(listed.get("models", [listed]) if isinstance(listed, dict) else ())
        names = (model.get("name") for model in models if isinstance(model, dict))
        return [str(name).removeprefix("models/") for name in names if name]

    def counted(self, tokens: int) -> Body:
        return {"totalTokens": tokens}

    def error_kind(self, status: int) -> str:
        return status_word(status)

    def error_body(self, status: int, message: str, kind: str | None = None, code: str | None = None) -> Body:
        return encode_error(status, message)

    def failure_event(self, status: int, message: str, begun: SseEvent | None = None) -> SseEvent:
        return json_event(encode_error(status, message))

    def error_fields(self, body: Any) -> Any:
        return error_fields(body)

    def _model_url(self, base_url: str, model: str) -> str:
        return f"{self.models_url(base_url)}/{path_segment(model.removeprefix('models/'))}"


def _inner_request(body: Body) -> Body:
    """The request, which a token count body may contain in a field."""
    inner = field(body, _COUNTED)
    return inner if isinstance(inner, dict) else body


def _config(body: Body) -> dict[str, Any]:
    return object_of(field(body, "generationConfig"))


def _media_types(body: Body) -> Iterator[str]:
    """The types of the inline data in a conversation."""
    for content in list_of(body.get("contents")):
        for part in list_of(object_of(content).get("parts")):
            data = object_of(part).get("inlineData")
            if isinstance(data, dict):
                yield str(data.get("mimeType") or "")


def _with_note(system: Any) -> dict[str, Any]:
    """The system instruction with the compaction note as its last part, once."""
    whole: dict[str, Any] = system if isinstance(system, dict) else {"parts": [{"text": str(system or "")}]}
    parts = whole.get("parts")
    parts = parts if isinstance(parts, list) else [parts] if parts else []
    message = system_message({"parts": parts})
    if message is not None and has_note(message):
        return whole
    return {**whole, "parts": [*parts, {"text": NOTE}]}
