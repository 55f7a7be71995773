"""Answers failed requests in the client's dialect.

Refused              the gateway does not serve this request: its own status
InvalidConversation  400: the client's messages are malformed
UsageLimitReached    429, with the time to wait
ProviderError        the upstream's status, or 502 or 504 if it did not answer
UserError            503: a mistake in the operator's configuration
"""

import logging
from types import TracebackType

from plimsoll.dialects import Dialect
from plimsoll.errors import InvalidConversation, ProviderError, ProviderTimeout, UsageLimitReached, UserError
from plimsoll.gateway.access.usage_limits import refusal_of
from plimsoll.gateway.asgi import ClientDisconnected, Send
from plimsoll.gateway.http.body import Refused, bad_request
from plimsoll.gateway.http.responses import send_error
from plimsoll.gateway.telemetry.request_facts import note_refusal

log = logging.getLogger("plimsoll.gateway")


class failures_sent:
    """Send an error of the block as the response. A client that has disconnected gets none.

    Every request enters two of these, and a context manager made from a generator takes twice the time.
    """

    __slots__ = ("_dialect", "_send")

    def __init__(self, send: Send, dialect: Dialect) -> None:
        self._send, self._dialect = send, dialect

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, InvalidConversation):
            await _send_failure(self._send, self._dialect, bad_request(str(error)))
        elif isinstance(error, Refused | ProviderError | UserError):
            await _send_failure(self._send, self._dialect, error)
        else:
            return isinstance(error, ClientDisconnected)
        return True


async def _send_failure(send: Send, dialect: Dialect, error: Refused | ProviderError | UserError) -> None:
    if isinstance(error, Refused):
        note_refusal(error.kind)
        await send_error(send, dialect, error.status, error.message, kind=error.kind)
    elif isinstance(error, UsageLimitReached):
        note_refusal(error.limit)
        code, headers = refusal_of(error)
        await send_error(send, dialect, 429, str(error), code=code, headers=headers)
    elif isinstance(error, ProviderError):
        await send_error(send, dialect, error.status or _status_of(error), str(error))
    else:
        if error.public != str(error):
            log.warning("%s", error)
        await send_error(send, dialect, 503, error.public)


def _status_of(error: ProviderError) -> int:
    """The status of a failure without one: the upstream timed out or could not be reached."""
    return 504 if isinstance(error, ProviderTimeout) else 502
