"""When to retry, and how long to wait first.

    1st ─ 0.5 s ─ 2nd ─ 1 s ─ 3rd ─ 2 s ─ 4th     each wait shortened by up to half, at random

A provider's Retry-After is respected. If it is longer than `longest_stated_wait`, the error is raised at once and
states the number.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

from plimsoll.errors import (
    BrokenReply,
    NetworkFailed,
    Overloaded,
    ProviderError,
    ProviderTimeout,
    RateLimited,
    ServerFailed,
)

RETRIED_STATUSES = frozenset({408, 409, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
_TRANSIENT = (BrokenReply, NetworkFailed, Overloaded, ProviderTimeout, RateLimited, ServerFailed)
_PIECE = re.compile(r"([\d.]+) ?(ms|s|m|h)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and how long a request is retried."""

    attempts: int = 4  # including the first
    first_wait: float = 0.5
    longest_wait: float = 30.0  # if the provider states none
    longest_stated_wait: float = 90.0  # the longest wait that a provider may ask for

    def wait(self, error: ProviderError, attempt: int, chance: float) -> float | None:
        """Seconds to wait after this attempt failed; None to give up. `chance` is in [0, 1)."""
        # A silent provider costs the whole timeout each time; it is retried once.
        allowed = 2 if isinstance(error, ProviderTimeout) and error.status is None else self.attempts
        if attempt >= min(allowed, self.attempts) or not passes(error):
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.longest_stated_wait else None
        full = min(self.longest_wait, self.first_wait * 2.0 ** min(attempt - 1, 30))
        return full * (1.0 - 0.5 * chance)


def passes(error: ProviderError) -> bool:
    """Whether the failure may be temporary."""
    return isinstance(error, _TRANSIENT) and (
        error.status is None or error.status < 300 or error.status in RETRIED_STATUSES
    )


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait according to the headers, from a number or a date; None if not readable."""
    named = {name.lower(): value for name, value in headers.items()}
    if (fine := _number(named.get("retry-after-ms"))) is not None:
        return fine / 1000
    value = named.get("retry-after")
    if value is None or (seconds := _number(value)) is not None:
        return None if value is None else seconds
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, aware.timestamp() - now)


def duration(text: str) -> float | None:
    """Seconds in `20s`, `6m0s`, `250ms`; None if it is not a duration."""
    total = 0.0
    for amount, unit in _PIECE.findall(text.rstrip(".")):  # the end of a sentence
        number = _number(amount.rstrip("."))
        if number is None:
            return None
        total += number * _SECONDS[unit]
    return total


def _number(text: str | None) -> float | None:
    value = (text or "").strip()
    return float(value) if re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{1,9})?", value) else None
