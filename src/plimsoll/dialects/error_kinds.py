"""The error types of each dialect, for errors that end a stream.

Clients decide by the type whether to retry, so a type that their provider does not have is replaced by the closest
one that it has.
"""

ANTHROPIC_KINDS = frozenset(
    {"invalid_request_error", "authentication_error", "billing_error", "permission_error", "not_found_error"}
    | {"request_too_large", "rate_limit_error", "timeout_error", "api_error", "overloaded_error"}
)
# Types and codes of OpenAI and of compatible servers; anything else is an `api_error`.
_TO_ANTHROPIC = {
    "insufficient_quota": "billing_error",
    "billing_hard_limit_reached": "billing_error",
    "invalid_api_key": "authentication_error",
    "insufficient_permissions": "permission_error",
    "model_not_found": "not_found_error",
    "context_length_exceeded": "invalid_request_error",
    "invalid_prompt": "invalid_request_error",
    "exceed_context_size_error": "invalid_request_error",
    "rate_limit_exceeded": "rate_limit_error",
    "requests": "rate_limit_error",
    "tokens": "rate_limit_error",
    "timeout": "timeout_error",
    "service_unavailable": "overloaded_error",
    "service_unavailable_error": "overloaded_error",
    "engine_overloaded": "overloaded_error",
    "overloaded": "overloaded_error",
    "server_is_overloaded": "overloaded_error",
    "slow_down": "overloaded_error",
}
# Google's statuses, and numbers of HTTP statuses, which routers report as types.
_COMMON = {
    "INVALID_ARGUMENT": "invalid_request_error",
    "FAILED_PRECONDITION": "invalid_request_error",
    "OUT_OF_RANGE": "invalid_request_error",
    "UNAUTHENTICATED": "authentication_error",
    "PERMISSION_DENIED": "permission_error",
    "NOT_FOUND": "not_found_error",
    "RESOURCE_EXHAUSTED": "rate_limit_error",
    "UNAVAILABLE": "overloaded_error",
    "DEADLINE_EXCEEDED": "timeout_error",
    "INTERNAL": "api_error",
    "400": "invalid_request_error",
    "401": "authentication_error",
    "402": "billing_error",
    "403": "permission_error",
    "404": "not_found_error",
    "408": "timeout_error",
    "413": "request_too_large",
    "429": "rate_limit_error",
    "500": "api_error",
    "502": "api_error",
    "503": "overloaded_error",
    "504": "timeout_error",
    "529": "overloaded_error",
}
_TO_OPENAI = {
    "billing_error": "insufficient_quota",
    "not_found_error": "invalid_request_error",
    "request_too_large": "invalid_request_error",
    "timeout_error": "server_error",
    "api_error": "server_error",
    "overloaded_error": "server_error",
}


def common_kind(kind: str) -> str:
    """The type of an error; Google's statuses and HTTP statuses are replaced."""
    return _COMMON.get(kind, kind)


def anthropic_kind(kind: str) -> str:
    """The type of an error on Anthropic's wire."""
    kind = common_kind(kind)
    return kind if kind in ANTHROPIC_KINDS else _TO_ANTHROPIC.get(kind, "api_error")


def openai_kind(kind: str) -> str:
    """The type of an error on OpenAI's wire, which allows any word; types of other providers are replaced."""
    kind = common_kind(kind)
    return _TO_OPENAI.get(kind, kind)
