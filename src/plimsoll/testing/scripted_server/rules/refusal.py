"""A refused request: status, type and message in the dialect's format.

Anthropic    {"type": "error", "error": {type, message}, "request_id": …}
OpenAI       {"error": {message, type, param, code}}
a router     {"error": {message, code, metadata: {raw, provider_name}}}     what Anthropic said to OpenRouter
"""

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from plimsoll.dialects import anthropic

Dialect = Literal["openai", "anthropic"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request fails."""

    status: int
    kind: str
    message: str
    param: str | None = None
    code: str | None = None
    # Whether a router says it: "router" in its own words, "provider" for words of the provider behind it.
    said_by: Literal["", "router", "provider"] = ""
    headers: dict[str, str] = field(default_factory=dict)


def bad(message: str, param: str | None = None, code: str | None = None) -> Refusal:
    """A 400."""
    return Refusal(400, "invalid_request_error", message, param, code)


def error_body(dialect: Dialect, refusal: Refusal, request_id: str) -> dict[str, Any]:
    """The body that says so."""
    if dialect == "anthropic":
        return {**anthropic.encode_error(refusal.kind, refusal.message), "request_id": request_id}
    if refusal.said_by == "router":
        return {"error": {"message": refusal.message, "code": refusal.status}}
    if refusal.said_by == "provider":
        raw = json.dumps({**anthropic.encode_error(refusal.kind, refusal.message), "request_id": request_id})
        told = {"raw": raw, "provider_name": "Anthropic"}
        return {
            "error": {"message": "Provider returned error", "code": refusal.status, "metadata": told},
        }
    error = {"message": refusal.message, "type": refusal.kind, "param": refusal.param, "code": refusal.code}
    return {"error": error}
