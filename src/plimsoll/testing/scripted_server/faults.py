"""Named faults that tests can inject.

answers with a status          rate_limit 429 · quota · server_error 500 · unavailable 503 · overloaded 529,
                               or any number: fault(401), fault(400, message="…")
no answer                      hang · reset (the connection is reset before the first byte)
a broken answer                cut · malformed_sse · truncated_json · stream_error · html
a complete, unexpected answer  slow · empty · long · tool_call
"""

from dataclasses import dataclass
from typing import Any

from plimsoll.testing.scripted_server.answers import ScriptedAnswer

STATUS_OF = {"rate_limit": 429, "quota": 429, "server_error": 500, "unavailable": 503, "overloaded": 529}
SILENT = frozenset({"hang", "reset"})
BROKEN = frozenset({"cut", "malformed_sse", "truncated_json", "stream_error", "html"})
UNWANTED = frozenset({"slow", "empty", "long", "tool_call"})
KINDS = frozenset({*STATUS_OF, *SILENT, *BROKEN, *UNWANTED, "status"})


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault, which occurs `times` times; None means always."""

    kind: str
    times: int | None = 1
    status: int | None = None
    retry_after: float | None = None  # the Retry-After header, in seconds
    message: str | None = None  # instead of the provider's default message
    type: str | None = None  # instead of the default error type
    code: str | None = None  # OpenAI's error code
    seconds: float = 0.2  # slow: before the first byte
    between: float = 0.0  # slow: before each further event
    after: int | None = None  # cut and the like: number of complete events; None is half of them
    length: int = 100_000  # long: characters
    then: ScriptedAnswer | None = None  # the content of a broken or slow answer


def fault(kind: str | int, times: int | None = 1, **settings: Any) -> Fault:
    """A fault by name or status."""
    if isinstance(kind, int):
        return Fault("status", times, status=kind, **settings)
    if kind not in KINDS:
        raise ValueError(f"{kind!r} is not a fault; use a status or one of {', '.join(sorted(KINDS))}")
    return Fault(kind, times, **settings)
