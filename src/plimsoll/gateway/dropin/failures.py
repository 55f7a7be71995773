"""Error responses for requests that cannot be served, in the client's dialect."""

import logging

from plimsoll.dialects import Dialect
from plimsoll.errors import ProviderError, ProviderTimeout, UsageLimitReached, UserError
from plimsoll.gateway.access.usage_limits import refusal_of
from plimsoll.gateway.asgi import Send
from plimsoll.gateway.http.body import Refused
from plimsoll.gateway.http.responses import send_error
from plimsoll.gateway.telemetry.request_facts import note_refusal

log = logging.getLogger("plimsoll.gateway")


async def send_failure(send: Send, dialect: Dialect, error: ProviderError | UserError) -> None:
    """Send a failed upstream, a reached limit, or a mistake in the operator's configuration."""
    if isinstance(error, UsageLimitReached):
        note_refusal(error.limit)
        code, headers = refusal_of(error)
        await send_error(send, dialect, 429, str(error), code=code, headers=headers)
    elif isinstance(error, ProviderError):
        await send_error(send, dialect, error.status or _status_of(error), str(error))
    else:
        if error.public != str(error):
            log.warning("%s", error)
        await send_error(send, dialect, 503, error.public)


async def send_refusal(send: Send, dialect: Dialect, error: Refused) -> None:
    """Send a refusal of a request that exceeds a limit or is not valid."""
    note_refusal(error.kind)
    await send_error(send, dialect, error.status, error.message, kind=error.kind)


def _status_of(error: ProviderError) -> int:
    """The status of a failure without one: the upstream timed out or could not be reached."""
    return 504 if isinstance(error, ProviderTimeout) else 502
