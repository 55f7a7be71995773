"""Whether an error that a host raises means that the prompt was too long, in the words of any provider."""

from plimsoll.errors import ContextOverflow
from plimsoll.providers import classify


def stated_limit(error: Exception) -> int | None:
    """The window that the provider stated, None where it stated none; any other error is raised again."""
    status = getattr(error, "status_code", None)
    found = classify(status if isinstance(status, int) else 400, str(error))
    if not isinstance(found, ContextOverflow):
        raise error
    return found.limit
