"""The error of a rejected request: status, type and message."""

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Refusal:
    """The error of a rejected request."""

    status: int
    kind: str
    message: str
    param: str | None = None
    code: str | None = None
    # The source of an error from a router: "router" itself, or the "provider" it forwards to.
    said_by: Literal["", "router", "provider"] = ""
    headers: dict[str, str] = field(default_factory=dict)


def bad(message: str, param: str | None = None, code: str | None = None) -> Refusal:
    """A 400."""
    return Refusal(400, "invalid_request_error", message, param, code)
