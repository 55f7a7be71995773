"""Detects from a host's error, in any provider's wording, that the prompt was too long."""

from plimsoll.errors import ContextOverflow
from plimsoll.providers import classify

# What hosts raise when they have recognised the provider's refusal themselves.
_TYPES = frozenset({"ContextOverflowError", "ContextWindowOverflowException"})


def stated_limit(error: Exception) -> int | None:
    """The window that the provider stated, or None; re-raises other errors."""
    status = getattr(error, "status_code", None)
    found = classify(status if isinstance(status, int) else 400, str(error))
    if isinstance(found, ContextOverflow):
        return found.limit
    if _TYPES.isdisjoint(kind.__name__ for kind in type(error).__mro__):
        raise error
    return None
