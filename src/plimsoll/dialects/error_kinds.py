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
}
_TO_OPENAI = {
    "billing_error": "insufficient_quota",
    "not_found_error": "invalid_request_error",
    "request_too_large": "invalid_request_error",
    "timeout_error": "server_error",
    "api_error": "server_error",
    "overloaded_error": "server_error",
}


def anthropic_kind(kind: str) -> str:
    """The type of an error on Anthropic's wire."""
    return kind if kind in ANTHROPIC_KINDS else _TO_ANTHROPIC.get(kind, "api_error")


def openai_kind(kind: str) -> str:
    """The type of an error on OpenAI's wire, which allows any word; Anthropic's types are replaced."""
    return _TO_OPENAI.get(kind, kind)
