"""Errors as `application/problem+json` (RFC 9457).

    {"type": "urn:plimsoll:unknown-session", "title": "Unknown session", "status": 404, "detail": "No session …"}

The status says whether the client, the model or the gateway must change something.
"""

import logging
from collections.abc import Sequence
from typing import Any

from plimsoll.errors import (
    ArchiveError,
    Conflict,
    EditRefused,
    LocalModelError,
    MissingKey,
    PlimsollError,
    ProviderError,
    ProviderTimeout,
    QueueFull,
    SettingError,
    UnknownModel,
    UnknownSession,
    UsageLimitReached,
    UserError,
)
from plimsoll.gateway.asgi import Header, Send
from plimsoll.gateway.http import jsontext
from plimsoll.gateway.http.body import Refused
from plimsoll.gateway.http.responses import send_whole

log = logging.getLogger("plimsoll.gateway")
CONTENT: Header = (b"content-type", b"application/problem+json")
PROBLEM_PATHS = ("/sessions", "/search", "/openapi.json")  # whose errors are problem responses
_RETRY_SECONDS = b"2"
# The first match applies; errors that are not the client's mistake come first.
_KINDS: tuple[tuple[type[PlimsollError], int, str], ...] = (
    (UnknownSession, 404, "Unknown session"),
    (QueueFull, 429, "Too many waiting messages"),
    (ProviderTimeout, 504, "The model did not answer in time"),
    (ProviderError, 502, "The model did not answer"),
    (ArchiveError, 503, "The archive does not answer"),
    (MissingKey, 503, "No model"),
    (UnknownModel, 503, "No model"),
    (LocalModelError, 503, "No model"),
    (SettingError, 503, "The gateway is not configured for this"),
    (Conflict, 409, "Conflict with another change"),
    (EditRefused, 422, "Edit refused"),
    (UserError, 422, "Cannot be done"),
)
_TITLES = {
    400: "Bad request", 404: "Not found", 405: "Method not allowed", 408: "The request took too long",
    413: "The request is too large", 415: "Unsupported media type", 422: "Cannot be done",
}  # fmt: skip


class Problem(Exception):
    """An error that is answered with a problem response."""

    def __init__(self, status: int, title: str, detail: str, headers: Sequence[Header] = ()) -> None:
        super().__init__(detail)
        self.status, self.title, self.detail, self.headers = status, title, detail, tuple(headers)

    def as_dict(self) -> dict[str, Any]:
        """The body of the response."""
        name = "-".join(word for word in self.title.lower().replace("'", "").split())
        return {
            "type": f"urn:plimsoll:{name}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
        }


def problem(status: int, detail: str, *headers: Header) -> Problem:
    """A problem with the usual title for its status."""
    return Problem(status, _TITLES.get(status, "The gateway failed"), detail, headers)


def problem_of(error: PlimsollError | Refused) -> Problem:
    """The problem response for an error."""
    if isinstance(error, Refused):
        return problem(error.status, error.message)
    if isinstance(error, UsageLimitReached):
        return Problem(429, "Too much", str(error), ((b"retry-after", str(error.seconds).encode()),))
    for kind, status, title in _KINDS:
        if isinstance(error, kind):
            again = ((b"retry-after", _RETRY_SECONDS),) if status in (429, 503) else ()
            if error.public != str(error):
                log.warning("%s", error)
            return Problem(status, title, error.public, again)
    return Problem(500, "The gateway failed", "The gateway failed on this request; its log has the details.")


async def send_problem(send: Send, error: Problem) -> None:
    """Send a problem as the whole response."""
    await send_whole(send, error.status, [CONTENT, *error.headers], jsontext.write(error.as_dict()))
