"""A refused request: status, type and message."""

from dataclasses import dataclass, field
from typing import Literal


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
