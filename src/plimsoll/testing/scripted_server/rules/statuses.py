"""Each provider's error message for a status, where publicly known."""

from dataclasses import replace

from plimsoll.testing.scripted_server.faults import STATUS_OF, Fault
from plimsoll.testing.scripted_server.rules.refusal import Dialect, Refusal

_RATE_DOCS = "https://docs.claude.com/en/api/rate-limits"
_ANTHROPIC = {
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
_OPENAI = {
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
_QUOTA = {
    "anthropic": Refusal(
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or "
        "purchase credits.",
    ),
    "openai": Refusal(
        429,
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
        code="insufficient_quota",
    ),
}


def said_with(dialect: Dialect, status: int) -> Refusal:
    """The provider's usual words for a status."""
    if dialect == "anthropic":
        kind, message = _ANTHROPIC.get(status, ("api_error", "Internal server error"))
        return Refusal(status, kind, message)
    kind, message, code = _OPENAI.get(status, ("server_error", "The server had an error.", None))
    return Refusal(status, kind, message, code=code)


def refusal_of(dialect: Dialect, fault: Fault) -> Refusal:
    """What a fault with a status says, in its own words where it has some."""
    status = fault.status or STATUS_OF[fault.kind]
    usual = _QUOTA[dialect] if fault.kind == "quota" else said_with(dialect, status)
    headers = {} if fault.retry_after is None else {"retry-after": f"{fault.retry_after:g}"}
    return replace(
        usual,
        status=fault.status or usual.status,
        kind=fault.type or usual.kind,
        message=fault.message or usual.message,
        code=fault.code or usual.code,
        headers=headers,
    )
