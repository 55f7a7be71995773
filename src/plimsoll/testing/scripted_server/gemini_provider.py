"""The scripted server as Google's Gemini API. Error messages are Google's if they are publicly known.

Models before Gemini 3 send no call ids. From Gemini 3 on, the first call of a reply has a signature.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from plimsoll.dialects import GEMINI, ChatRequest, Reply, SseEvent
from plimsoll.dialects.gemini.errors import code_of, encode_error
from plimsoll.dialects.gemini.rules import rules_for
from plimsoll.dialects.gemini.signatures import signed
from plimsoll.dialects.sse import json_event
from plimsoll.messages import tool_calls
from plimsoll.testing.scripted_server.provider import ScriptedProvider
from plimsoll.testing.scripted_server.rules import gemini as rules
from plimsoll.testing.scripted_server.rules.checked_request import CheckedRequest
from plimsoll.testing.scripted_server.rules.refusal import Refusal

_REFUSAL_BY_STATUS = {
    400: "Request contains an invalid argument.",
    401: "Request had invalid authentication credentials.",
    403: "The caller does not have permission",
    404: "Requested entity was not found.",
    413: "Request payload size exceeds the limit: 20971520 bytes.",
    429: "Resource has been exhausted (e.g. check quota).",
    500: "An internal error has occurred. Please retry or report in "
    "https://developers.generativeai.google/guide/troubleshooting",
    503: "The model is overloaded. Please try again later.",
    504: "Deadline expired before operation could complete.",
}
_ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"
_RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"


class GeminiProvider(ScriptedProvider):
    """Google's API for Gemini models."""

    dialect = GEMINI
    reply_prefix = ""
    breakdown_status = 503

    def headers(self, request_id: str) -> dict[str, str]:
        return {"server-timing": "gfet4t7; dur=1", "x-gemini-service-tier": "standard"}

    def key_refusal(self, key: str) -> Refusal:
        if key:
            text = "API key not valid. Please pass a valid API key."
            return Refusal(400, "INVALID_ARGUMENT", text, code="API_KEY_INVALID")
        return Refusal(
            403,
            "PERMISSION_DENIED",
            "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or "
            "other form of API consumer identity to call this API.",
        )

    def not_json(self, error: Exception) -> str:
        return f"Invalid JSON payload received. {error}"

    def shape_refusals(self, body: dict[str, Any], counts_only: bool) -> Iterator[Refusal]:
        return rules.shape_refusals(body, counts_only)

    def refusals(self, checked: CheckedRequest) -> Iterator[Refusal]:
        return rules.refusals(checked)

    def usual_refusal(self, status: int) -> Refusal:
        text = _REFUSAL_BY_STATUS.get(status) or _REFUSAL_BY_STATUS[503 if status >= 500 else 400]
        return Refusal(status, self.dialect.error_kind(status), text)

    def quota_refusal(self) -> Refusal:
        text = "You exceeded your current quota, please check your plan and billing details."
        return Refusal(429, "RESOURCE_EXHAUSTED", text)

    def too_many_images(self, count: int, limit: int) -> Refusal:
        text = f"The request contains too many images: {count} images were provided, but the model supports {limit}."
        return Refusal(400, "INVALID_ARGUMENT", text)

    def unknown_model(self, name: str) -> Refusal:
        return Refusal(
            404,
            "NOT_FOUND",
            f"models/{name} is not found for API version v1beta, or is not supported for generateContent. Call "
            "ListModels to see the list of available models and their supported methods.",
        )

    def error_body(self, refusal: Refusal, request_id: str) -> dict[str, Any]:
        body = encode_error(refusal.status, refusal.message)
        details: list[dict[str, Any]] = []
        if "retry-after" in refusal.headers:
            details.append({"@type": _RETRY_INFO, "retryDelay": f"{refusal.headers['retry-after']}s"})
        if refusal.code:
            details.append({"@type": _ERROR_INFO, "reason": refusal.code, "domain": "googleapis.com"})
        if details:
            body["error"]["details"] = details
        return body

    def failure_event(self, kind: str, message: str) -> SseEvent:
        return json_event(encode_error(code_of(kind), message))

    def reply_body(self, reply: Reply) -> dict[str, Any]:
        return super().reply_body(_as_sent(reply))

    def events(self, reply: Reply, request: ChatRequest) -> list[SseEvent]:
        return super().events(_as_sent(reply), request)


def _as_sent(reply: Reply) -> Reply:
    """The reply as the model sends it: with a signature on its first call, or without call ids."""
    calls = tool_calls(reply.message)
    if not calls:
        return reply
    if rules_for(reply.model).signed_calls:
        first = {**calls[0], **signed(f"c2lnbmVk{calls[0]['id'][-8:]}")}
        calls = [first, *calls[1:]]
    else:
        calls = [{**call, "id": ""} for call in calls]
    return replace(reply, message={**reply.message, "tool_calls": calls})
