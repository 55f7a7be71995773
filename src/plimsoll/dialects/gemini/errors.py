"""Errors in Google's format: `{"error": {"code": 429, "message": …, "status": "RESOURCE_EXHAUSTED"}}`."""

from typing import Any

from plimsoll.dialects.error_kinds import anthropic_kind
from plimsoll.messages.untyped import list_of, object_of

_STATUSES = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 402: "PERMISSION_DENIED", 403: "PERMISSION_DENIED",
    404: "NOT_FOUND", 405: "UNIMPLEMENTED", 408: "DEADLINE_EXCEEDED", 409: "ABORTED", 413: "INVALID_ARGUMENT",
    422: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED", 499: "CANCELLED", 500: "INTERNAL", 501: "UNIMPLEMENTED",
    502: "UNAVAILABLE", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED", 529: "UNAVAILABLE",
}  # fmt: skip
_CODES = {
    "INVALID_ARGUMENT": 400, "FAILED_PRECONDITION": 400, "UNAUTHENTICATED": 401, "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404, "ABORTED": 409, "RESOURCE_EXHAUSTED": 429, "CANCELLED": 499, "INTERNAL": 500,
    "UNAVAILABLE": 503, "DEADLINE_EXCEEDED": 504,
}  # fmt: skip
# Error types that end a stream.
_KINDS = {
    "rate_limit_error": 429, "billing_error": 403, "authentication_error": 401, "permission_error": 403,
    "not_found_error": 404, "invalid_request_error": 400, "request_too_large": 413, "overloaded_error": 503,
    "timeout_error": 504,
}  # fmt: skip
_RETRY = "type.googleapis.com/google.rpc.RetryInfo"


def status_word(status: int) -> str:
    """Google's name for a status."""
    return _STATUSES.get(status, "INTERNAL" if status >= 500 else "INVALID_ARGUMENT")


def encode_error(status: int, message: str) -> dict[str, Any]:
    """The body of a failed request."""
    return {"error": {"code": status, "message": message, "status": status_word(status)}}


def code_of(kind: str) -> int:
    """The status code of an error type, Google's or another provider's."""
    return _CODES.get(kind) or _KINDS.get(anthropic_kind(kind), 500)


def error_fields(body: Any) -> Any:
    """An error with the standard field names; the message contains the retry delay."""
    body = body[0] if isinstance(body, list) and body else body
    error = object_of(body).get("error")
    if not isinstance(error, dict):
        return body
    messages = [{"message": error.get("message")}]
    for detail in list_of(error.get("details")):
        if isinstance(detail, dict) and detail.get("@type") == _RETRY:
            messages.append({"message": f"Please retry in {detail.get('retryDelay')}."})
        elif isinstance(detail, dict) and detail.get("reason"):
            messages.append({"message": str(detail["reason"])})
    return {"error": {"type": error.get("status"), "code": error.get("code"), "details": messages}}
