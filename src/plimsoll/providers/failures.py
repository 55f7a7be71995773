"""Classifies a provider's refusal: status, body and headers in, a typed error out. Pure.

    400 "prompt is too long: 210000 tokens > 200000 maximum"  ->  ContextOverflow(limit=200000, requested=210000)

The wordings are in `failures.toml`. Any bytes result in a `ProviderError`. The provider's message is shown on one
line, without keys.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from plimsoll.dialects import Dialect
from plimsoll.errors import ProviderError
from plimsoll.messages.printable import one_line
from plimsoll.providers.error_messages import ErrorSource, error_for
from plimsoll.providers.retry import duration, retry_after
from plimsoll.secrets import masked

_LONGEST_BODY = 64_000  # characters that are read
_DEEPEST = 6  # levels of errors inside errors
_MAX_ERRORS = 20  # of a list that are read
# Only these fields are read: some servers send the request back inside the error, and a conversation about errors is
# not an error.
_FIELDS = (
    *("error", "errors", "detail", "metadata", "details"),  # the innermost error first
    *("type", "code", "status", "reason", "message", "msg", "error_description", "param", "raw"),
)
_NUMBERS = {"n_ctx": "limit", "n_prompt_tokens": "requested"}  # stated by llama.cpp next to the message
_STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
# These are decisive, whatever the wording: a refused key stays one even if the message mentions tokens.
_DECISIVE = {401: "auth", 402: "quota"}
_KIND_OF_STATUS = {
    403: "auth",
    408: "timeout",
    413: "payload",
    429: "rate",
    503: "overloaded",
    504: "timeout",
    524: "timeout",
    529: "overloaded",
}


@dataclass(frozen=True, slots=True)
class Wording:
    """One wording of one kind of failure."""

    kind: str
    who: str
    pattern: re.Pattern[str]
    statuses: frozenset[int] = frozenset()  # only with these statuses; empty: with any

    def found_in(self, words: str, status: int | None) -> re.Match[str] | None:
        """The match of this wording in an answer."""
        if self.statuses and status is not None and status not in self.statuses:
            return None
        return self.pattern.search(words)


@cache
def wordings() -> tuple[Wording, ...]:
    """Every wording in the data file, in order."""
    text = files("plimsoll.providers").joinpath("failures.toml").read_text(encoding="utf-8")
    return tuple(
        Wording(
            row["kind"],
            row["who"],
            re.compile(row["pattern"], re.IGNORECASE),
            frozenset(row.get("statuses", ())),
        )
        for row in tomllib.loads(text)["wording"]
    )


def classify(
    status: int | None,
    body: bytes | str,
    headers: Mapping[str, str] | None = None,
    provider: str = "",
    *,
    model: str = "",
    secrets: Iterable[str] = (),
    now: float = 0.0,
    dialect: Dialect | None = None,
) -> ProviderError:
    """The error for an answer; `now` is the time of day, for dates in Retry-After.

    `dialect` has the names of the error fields if they are unusual.
    """
    text = (body if isinstance(body, str) else body.decode("utf-8", "replace"))[:_LONGEST_BODY]
    data = _parsed(text)
    found = list(_leaves(dialect.error_fields(data) if dialect else data, 0))
    words = "\n".join(value for _, value in found) or text
    status = _status(status, found)
    kind, numbers = _match(status, words)
    numbers |= {_NUMBERS[key]: value for key, value in _numbers(data) if _NUMBERS[key] not in numbers}
    source = ErrorSource(
        provider=provider,
        model=model,
        status=status,
        words=one_line(masked(_message(found) or text, secrets)),
        retry_after=_wait(headers or {}, now, numbers.pop("wait", None)),
    )
    return error_for(
        kind, source, **(_counts(numbers) if kind in ("overflow", "output_cap", "payload") else {})
    )


def _match(status: int | None, words: str) -> tuple[str, dict[str, Any]]:
    """The kind of failure, and the numbers in its wording."""
    if status in _DECISIVE:
        return _DECISIVE[status], {}
    for wording in wordings():
        found = wording.found_in(words, status)
        if found:
            return wording.kind, {name: value for name, value in found.groupdict().items() if value}
    return _kind_of(status), {}


def _kind_of(status: int | None) -> str:
    if status in _KIND_OF_STATUS:
        return _KIND_OF_STATUS[status]
    if status is not None and 300 <= status < 500:
        return "conflict" if status == 409 else "unknown_address" if status in (404, 405) else "refused"
    return "server"


def _counts(numbers: Mapping[str, Any]) -> dict[str, int]:
    counts = {name: count for name, value in numbers.items() if (count := _count(value)) is not None}
    if "below" in counts:
        counts["limit"] = counts.pop("below") - 1
    if "prompt" in counts:
        counts["requested"] = counts.pop("prompt") + counts.get("output", 0)
    return counts


def _count(value: Any) -> int | None:
    """A number of tokens; None if it is impossibly long."""
    if isinstance(value, str):
        digits = value.replace(",", "")
        return int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= 12 else None
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**12 else None


def _wait(headers: Mapping[str, str], now: float, stated: str | None) -> float | None:
    header_wait = retry_after(headers, now)
    return duration(stated) if header_wait is None and stated else header_wait


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _leaves(value: Any, depth: int, field: str = "") -> Iterator[tuple[str, str]]:
    """The texts of an error with their fields; errors wrapped as text are unwrapped."""
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        for item in value[:_MAX_ERRORS]:
            yield from _leaves(item, depth + 1, field)
    elif isinstance(value, dict):
        for key in _FIELDS:
            if key in value:
                yield from _leaves(value[key], depth + 1, key)
    elif isinstance(value, str) and field:
        inner = _parsed(value) if value.lstrip()[:1] in ("{", "[") else None
        if isinstance(inner, dict | list):
            yield from _leaves(inner, depth + 1)
        else:
            yield field, value
    elif isinstance(value, int) and not isinstance(value, bool) and field in ("code", "status"):
        yield field, str(value)


def _numbers(value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, dict) or depth > 2:
        return
    yield from ((key, value[key]) for key in _NUMBERS if _count(value.get(key)) is not None)
    yield from _numbers(value.get("error"), depth + 1)


def _message(found: list[tuple[str, str]]) -> str:
    """The most informative message for a person: the innermost one."""
    messages = [value for field, value in found if field in ("message", "msg", "detail", "error", "raw")]
    return messages[0] if messages else " ".join(value for _, value in found)


def _status(status: int | None, found: list[tuple[str, str]]) -> int | None:
    """The actual status: routers and streams send errors with status 200."""
    if status is not None and status >= 300:
        return status
    for field, value in found:
        if field in ("code", "status", "type"):
            meant = int(value) if re.fullmatch(r"[45]\d\d", value) else _STATUS_OF_TYPE.get(value)
            if meant is not None:
                return meant
    return status
