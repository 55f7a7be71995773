"""The scripted server as OpenAI, or as a router to Claude. Error messages are theirs if publicly known."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from plimsoll.dialects import OPENAI, Dialect, Reply, SseEvent, anthropic
from plimsoll.dialects.openai import encode_error
from plimsoll.dialects.sse import json_event
from plimsoll.testing.scripted_server.provider import ScriptedProvider
from plimsoll.testing.scripted_server.rules import openai as rules
from plimsoll.testing.scripted_server.rules.checked_request import CheckedRequest
from plimsoll.testing.scripted_server.rules.refusal import Refusal

_REFUSAL_BY_STATUS: dict[int, tuple[str, str, str | None]] = {
    400: ("invalid_request_error", "The request is invalid.", None),
    401: (
        "invalid_request_error",
        "Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys.",
        "invalid_api_key",
    ),
    402: ("insufficient_quota", "Insufficient credits.", None),
    403: ("invalid_request_error", "You are not allowed to sample from this model.", None),
    404: ("invalid_request_error", "The requested resource does not exist.", None),
    413: ("server_error", "Maximum content size limit exceeded.", None),
    429: (
        "tokens",
        "Rate limit reached for the model in organization org-scripted on tokens per min (TPM): Limit 30000, "
        "Used 29000, Requested 5000. Please try again in 1s.",
        "rate_limit_exceeded",
    ),
    500: (
        "server_error",
        "The server had an error while processing your request. Sorry about that!",
        None,
    ),
    503: (
        "server_error",
        "The server is currently overloaded with other requests. Sorry about that! You can retry your request.",
        None,
    ),
    529: ("overloaded_error", "Overloaded", None),
}


class OpenAiProvider(ScriptedProvider):
    """OpenAI's API. A Claude model answers as it does through OpenRouter."""

    dialect: ClassVar[Dialect] = OPENAI
    reply_prefix = "chatcmpl-"

    def headers(self, request_id: str) -> dict[str, str]:
        return {"x-request-id": request_id, "openai-version": "2020-10-01", "openai-processing-ms": "1"}

    def key_of(self, headers: Mapping[str, str]) -> str:
        return headers.get("x-api-key") or super().key_of(headers)

    def key_refusal(self, key: str) -> Refusal:
        if not key:
            return Refusal(
                401,
                "invalid_request_error",
                "You didn't provide an API key. You need to provide your API key in an Authorization header using "
                "Bearer auth (i.e. Authorization: Bearer YOUR_KEY).",
            )
        shown = f"{key[:3]}{'*' * 8}{key[-2:]}"
        return Refusal(
            401,
            "invalid_request_error",
            f"Incorrect API key provided: {shown}. You can find your API key at "
            f"https://platform.openai.com/account/api-keys.",
            code="invalid_api_key",
        )

    def not_json(self, error: Exception) -> str:
        return (
            "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP "
            "library correctly. The OpenAI API expects a JSON payload, but what was sent was not valid JSON.)"
        )

    def shape_refusals(self, body: dict[str, Any], counts_only: bool) -> Iterator[Refusal]:
        return rules.shape_refusals(body)

    def refusals(self, checked: CheckedRequest) -> Iterator[Refusal]:
        return rules.refusals(checked)

    def usual_refusal(self, status: int) -> Refusal:
        kind, message, code = _REFUSAL_BY_STATUS.get(
            status, ("server_error", "The server had an error.", None)
        )
        return Refusal(status, kind, message, code=code)

    def quota_refusal(self) -> Refusal:
        return Refusal(
            429,
            "insufficient_quota",
            "You exceeded your current quota, please check your plan and billing details.",
            code="insufficient_quota",
        )

    def unknown_model(self, name: str) -> Refusal:
        text = f"The model `{name}` does not exist or you do not have access to it."
        return Refusal(404, "invalid_request_error", text, code="model_not_found")

    def too_large(self, size: int, limit: int) -> Refusal:
        text = f"Maximum content size limit ({limit}) exceeded ({size} bytes read)"
        return Refusal(413, self.usual_refusal(413).kind, text)

    def error_body(self, refusal: Refusal, request_id: str) -> dict[str, Any]:
        if refusal.said_by == "router":
            return {"error": {"message": refusal.message, "code": refusal.status}}
        if refusal.said_by == "provider":
            body = {**anthropic.encode_error(refusal.kind, refusal.message), "request_id": request_id}
            metadata = {"raw": json.dumps(body), "provider_name": "Anthropic"}
            return {
                "error": {"message": "Provider returned error", "code": refusal.status, "metadata": metadata}
            }
        return {
            "error": {
                "message": refusal.message,
                "type": refusal.kind,
                "param": refusal.param,
                "code": refusal.code,
            }
        }

    def failure_event(self, kind: str, message: str) -> SseEvent:
        return json_event(encode_error(kind, message))

    def reply_body(self, reply: Reply) -> dict[str, Any]:
        body = super().reply_body(reply)
        choice = body["choices"][0]
        choice["message"].setdefault("refusal", None)
        return {**body, "choices": [{**choice, "logprobs": None}], "service_tier": "default"}
