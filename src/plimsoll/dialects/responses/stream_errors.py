"""Stream errors with the codes that clients of this dialect check.

Codex retries `rate_limit_exceeded` and unknown codes, compacts after `context_length_exceeded`, and gives up on
the rest.
"""

from typing import Any

from plimsoll.dialects.error_kinds import common_kind

_CODES = {
    "rate_limit_error": "rate_limit_exceeded",
    "tokens": "rate_limit_exceeded",
    "requests": "rate_limit_exceeded",
    "billing_error": "insufficient_quota",
    "overloaded_error": "server_is_overloaded",
    "api_error": "server_error",
    "timeout_error": "server_error",
    "invalid_request_error": "invalid_prompt",
    "error": "server_error",
}


def error_object(kind: str, message: str) -> dict[str, Any]:
    """The `error` of a failed response."""
    kind = common_kind(kind)
    return {"code": _CODES.get(kind, kind), "message": message}
