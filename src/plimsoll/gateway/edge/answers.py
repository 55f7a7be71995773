"""Answers to a client: whole, piece by piece, or an error in the dialect that it speaks."""

from collections.abc import Iterable, Sequence

from plimsoll.dialects import anthropic, openai
from plimsoll.gateway.edge import jsontext
from plimsoll.gateway.edge.body import Send
from plimsoll.gateway.upstream.connection import Header
from plimsoll.providers.catalogue import Dialect

JSON: Header = (b"content-type", b"application/json")
EVENTS: Header = (b"content-type", b"text/event-stream; charset=utf-8")
# What each provider calls a failure of this status, where nothing says more.
_ANTHROPIC_KINDS = {
    400: "invalid_request_error", 401: "authentication_error", 402: "billing_error", 403: "permission_error",
    404: "not_found_error", 405: "invalid_request_error", 408: "timeout_error", 413: "request_too_large",
    429: "rate_limit_error", 503: "overloaded_error", 504: "timeout_error", 529: "overloaded_error",
}  # fmt: skip
_OPENAI_KINDS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def dialect_of(path: str, headers: Iterable[Header]) -> Dialect:
    """The dialect that a client speaks: by the path, else by the header that every client of Anthropic sends."""
    if path.startswith("/v1/messages"):
        return "anthropic"
    if path.startswith("/v1/chat"):
        return "openai"
    return "anthropic" if any(name == b"anthropic-version" for name, _ in headers) else "openai"


def kind_of(dialect: Dialect, status: int) -> str:
    """The provider's word for a failure of this status."""
    if dialect == "anthropic":
        return _ANTHROPIC_KINDS.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return _OPENAI_KINDS.get(status, "server_error" if status >= 500 else "invalid_request_error")


def error_body(
    dialect: Dialect, status: int, message: str, kind: str | None = None, code: str | None = None
) -> bytes:
    """The body of a failed request."""
    named = kind if kind and dialect == "anthropic" else kind_of(dialect, status)
    if dialect == "anthropic":
        return jsontext.write(anthropic.encode_error(named, message))
    body = openai.encode_error(named, message)
    body["error"]["code"] = code
    return jsontext.write(body)


async def send_whole(send: Send, status: int, headers: Sequence[Header], body: bytes) -> None:
    """One answer in one piece."""
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


async def send_error(
    send: Send,
    dialect: Dialect,
    status: int,
    message: str,
    *,
    kind: str | None = None,
    code: str | None = None,
    headers: Sequence[Header] = (),
) -> None:
    """An error as the client's own provider words it."""
    await send_whole(send, status, [*headers, JSON], error_body(dialect, status, message, kind, code))
