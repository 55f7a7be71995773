"""The scripted server as Anthropic. Error messages are Anthropic's if they are publicly known."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from plimsoll.dialects import ANTHROPIC, ChatRequest, Reply, SseEvent
from plimsoll.dialects.anthropic import encode_error
from plimsoll.dialects.sse import json_event
from plimsoll.testing.scripted_server.provider import ScriptedProvider
from plimsoll.testing.scripted_server.rules import anthropic as rules
from plimsoll.testing.scripted_server.rules.checked_request import CheckedRequest
from plimsoll.testing.scripted_server.rules.refusal import Refusal, bad

_PING = SseEvent("ping", '{"type":"ping"}')
_RATE_DOCS = "https://docs.claude.com/en/api/rate-limits"
_REFUSAL_BY_STATUS = {
    400: ("invalid_request_error", "The request is invalid."),
    401: ("authentication_error", "invalid x-api-key"),
    402: ("billing_error", "Your account has a billing problem."),
    403: ("permission_error", "Your API key does not have permission to use the specified resource."),
    404: ("not_found_error", "The requested resource could not be found."),
    413: ("request_too_large", "Request exceeds the maximum size"),
    429: (
        "rate_limit_error",
        "This request would exceed your organization's rate limit of 50,000 input tokens per minute. "
        f"For details, refer to: {_RATE_DOCS}.",
    ),
    500: ("api_error", "Internal server error"),
    504: ("timeout_error", "The request timed out."),
    529: ("overloaded_error", "Overloaded"),
}


class AnthropicProvider(ScriptedProvider):
    """Anthropic's API."""

    dialect = ANTHROPIC
    request_prefix = "req_01"
    reply_prefix = "msg_01"
    call_prefix = "toolu_01"
    breakdown_status = 529
    # Clients skip events with unknown names.
    garbage = b"event: content_block_delta\n" + ScriptedProvider.garbage

    def headers(self, request_id: str) -> dict[str, str]:
        return {"request-id": request_id, "anthropic-organization-id": "scripted"}

    def key_of(self, headers: Mapping[str, str]) -> str:
        return super().key_of(headers) or headers.get("authorization", "").removeprefix("Bearer ").strip()

    def header_refusal(self, headers: Mapping[str, str]) -> Refusal | None:
        missing = "anthropic-version" not in headers
        return bad("anthropic-version: header is required") if missing else None

    def key_refusal(self, key: str) -> Refusal:
        text = "invalid x-api-key" if key else "x-api-key header is required"
        return Refusal(401, "authentication_error", text)

    def not_json(self, error: Exception) -> str:
        return f"The request body is not valid JSON: {error}"

    def shape_refusals(self, body: dict[str, Any], counts_only: bool) -> Iterator[Refusal]:
        return rules.shape_refusals(body, counts_only)

    def refusals(self, checked: CheckedRequest) -> Iterator[Refusal]:
        return rules.refusals(checked)

    def usual_refusal(self, status: int) -> Refusal:
        return Refusal(status, *_REFUSAL_BY_STATUS.get(status, ("api_error", "Internal server error")))

    def quota_refusal(self) -> Refusal:
        return bad(
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or "
            "purchase credits."
        )

    def too_many_images(self, count: int, limit: int) -> Refusal:
        return bad(f"too many images and documents: {count} + 0 > {limit}")

    def unknown_model(self, name: str) -> Refusal:
        return Refusal(404, "not_found_error", f"model: {name}")

    def error_body(self, refusal: Refusal, request_id: str) -> dict[str, Any]:
        return {**encode_error(refusal.kind, refusal.message), "request_id": request_id}

    def failure_event(self, kind: str, message: str) -> SseEvent:
        return json_event(encode_error(kind, message), "error")

    def events(self, reply: Reply, request: ChatRequest) -> list[SseEvent]:
        events = super().events(reply, request)
        opened = next((i for i, e in enumerate(events) if e.event == "content_block_start"), 0)
        events.insert(opened + 1, _PING)
        return events

    def models_body(self, names: Sequence[str]) -> dict[str, Any]:
        return {**super().models_body(names), "data": [self.model_body(name) for name in names]}

    def model_body(self, name: str) -> dict[str, Any]:
        return {**super().model_body(name), "display_name": name.replace("-", " ").title()}
