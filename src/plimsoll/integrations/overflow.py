"""Detects from a host's error, in any provider's wording, that the prompt was too long."""

from plimsoll.errors import ContextOverflow
from plimsoll.providers import classify


def stated_limit(error: Exception) -> int | None:
    """The window that the provider stated, or None; re-raises other errors."""
    status = getattr(error, "status_code", None)
    found = classify(status if isinstance(status, int) else 400, str(error))
    if not isinstance(found, ContextOverflow):
        raise error
    return found.limit
