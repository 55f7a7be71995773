"""Every exception that Plimsoll raises on purpose.

    PlimsollError
    ├── UserError                a mistake that the user can correct; printed without a traceback, exit code 2
    │   ├── SettingError         a configuration key or argument is unknown, of the wrong type or out of range
    │   ├── TranscriptError      a conversation file cannot be read
    │   ├── MissingKey           a provider needs a key and none of its environment variables is set
    │   ├── UnknownModel         no reachable provider serves the requested model
    │   ├── LocalModelError      the embedded model cannot be fetched or started
    │   ├── ArchiveError         the archive cannot be opened, read or written; its contents stay unchanged
    │   ├── UnknownSession       no session has this id; similar ones are suggested
    │   ├── EditRefused          a person's edit of a session would leave a conversation that providers reject
    │   ├── QueueFull            too many messages wait in a session; try again later
    │   ├── UsageLimitReached    an access key has reached a limit; has the limit and the seconds to wait
    │   └── PluginError          a plugin is unknown, not trusted, or broken; includes its own error
    ├── ProviderError            a request to a model failed; has provider, model, status
    │   ├── ContextOverflow      the request exceeds the window; has the provider's numbers
    │   ├── OutputCapExceeded    the request asks for more output than the model allows; not an overflow
    │   ├── PayloadTooLarge      too many bytes, or images that are not accepted
    │   ├── BadRequest           rejected for another reason; a retry does not help
    │   ├── AuthenticationFailed the key is invalid or lacks permission
    │   ├── QuotaExhausted       the account has no credit left; waiting does not help
    │   ├── RateLimited          too many requests; waiting helps
    │   ├── Overloaded           the provider has no capacity at the moment
    │   ├── ServerFailed         the provider returned a server error
    │   ├── NetworkFailed        no connection, or it was lost
    │   ├── ProviderTimeout      no answer in time
    │   └── BrokenReply          the reply is truncated or malformed
    │       └── EmptyReply       the reply is empty
    ├── PlatformFailed           a messaging platform failed; a retry may help
    │   └── PlatformRefused      it rejected the call; a retry does not help
    ├── Conflict                 another writer was first; nothing was written, read again
    │   └── StaleLease           another process has taken over the lease
    ├── InvalidConversation      a message list breaks a rule of the wire format it is meant for
    ├── MalformedReply           a provider's reply or stream event violates its wire format
    └── SummaryFailed            a summary model returned nothing usable; code writes the summary
        └── SummaryLate          the turn stopped waiting; the text may still arrive

A `UserError` states what was wrong, the value, and what to change. The terminal prints it, and a
`Conflict`, without a traceback. Any other exception that reaches the terminal is a bug and keeps
its traceback. `PlimsollError.public` is the message for clients of the gateway. `advice_on`
suggests what to do about a failed write.
"""

import errno
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # it loads logging and threads, which would delay the start of every command
    from concurrent.futures import Future

_DISK_FULL_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM})


class PlimsollError(Exception):
    """Root of the tree."""

    @property
    def public(self) -> str:
        """The message for network callers. The full text is for the operator."""
        return str(self)


class UserError(PlimsollError):
    """The user's input or configuration is invalid."""


class SettingError(UserError, ValueError):
    """A setting or argument is unknown, of the wrong type or out of range."""


class TranscriptError(UserError):
    """A conversation file cannot be read or has an unknown format."""


class MissingKey(UserError):
    """A provider needs a key, and none of its environment variables is set."""


class UnknownModel(UserError):
    """No reachable provider serves the requested model."""


class LocalModelError(UserError):
    """The embedded model cannot be fetched or started."""


class ArchiveError(UserError):
    """The archive cannot be opened, read or written. Its contents stay unchanged."""

    @property
    def public(self) -> str:
        """Without the path or address of the archive."""
        return "The archive does not answer. Try again in a moment; the gateway's log states the reason."


class UnknownSession(UserError):
    """No session has this id, or several start with it."""


class EditRefused(UserError):
    """An edit of a session would leave an invalid conversation. Nothing was changed; another edit may do."""


class QueueFull(UserError):
    """The session's queue is full. Nothing was stored; send the message again later."""


class UsageLimitReached(UserError):
    """An access key has reached a limit; retry after `seconds`.

    `limit` is requests, tokens or money, or reserved if requests in progress reserve the rest.
    """

    def __init__(self, message: str, limit: str, seconds: int) -> None:
        super().__init__(message)
        self.limit, self.seconds = limit, seconds


class PluginError(UserError):
    """A plugin cannot be found, is not trusted, or fails while it is loaded or run."""


class ProviderError(PlimsollError):
    """A request to a model failed. The text never contains a key."""

    def __init__(
        self,
        message: str,
        *,
        provider: str = "",
        model: str = "",
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.provider = provider
        self.model = model
        self.status = status  # of the HTTP answer, if there was one
        self.retry_after = retry_after  # seconds that the provider asks to wait


class ContextOverflow(ProviderError):
    """The request is larger than the model's window."""

    limit: int | None = None  # the window that the provider states
    requested: int | None = None  # the tokens that it counted, including the room for the answer
    output: int | None = None  # the part of `requested` that is reserved for the reply, if stated

    @property
    def room(self) -> int | None:
        """Tokens left for the reply if the prompt fits; None if it does not or is unknown."""
        if self.limit is None or self.requested is None or self.output is None:
            return None
        left = self.limit - (self.requested - self.output)
        return left if left > 0 else None


class OutputCapExceeded(ProviderError):
    """The request asks for a longer answer than the model allows."""

    limit: int | None = None  # maximum tokens of one answer


class PayloadTooLarge(ProviderError):
    """The request has too many bytes, or images that the provider does not accept."""

    images: int | None = None  # maximum images in a request, if the provider states it


class BadRequest(ProviderError):
    """The provider refused the request."""


class AuthenticationFailed(ProviderError):
    """The provider does not accept the key, or the key lacks permission."""


class QuotaExhausted(ProviderError):
    """The account has no credit left."""


class RateLimited(ProviderError):
    """Too many requests in a short time."""


class Overloaded(ProviderError):
    """The provider has no capacity at the moment."""


class ServerFailed(ProviderError):
    """The provider returned a server error."""


class NetworkFailed(ProviderError):
    """There is no connection to the provider, or it was lost."""


class ProviderTimeout(ProviderError):
    """The provider did not answer in time."""


class BrokenReply(ProviderError):
    """The provider's answer is truncated, or violates its wire format."""


class EmptyReply(BrokenReply):
    """The provider's reply contains neither text nor a tool call."""


class PlatformFailed(PlimsollError):
    """A messaging platform failed. The text never contains a token."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after  # seconds that the platform asks to wait


class PlatformRefused(PlatformFailed):
    """A messaging platform rejected the call; a retry does not help."""


class Conflict(PlimsollError):
    """Another writer was first. Nothing was written; read again and decide again."""


class StaleLease(Conflict):
    """The lease expired and another process holds it, so this writer may no longer write."""


class InvalidConversation(PlimsollError):
    """A message list breaks a rule of its wire format."""


class MalformedReply(PlimsollError):
    """A provider sent a reply or a stream event that violates its wire format."""


class SummaryFailed(PlimsollError):
    """A summary model raised, refused, or wrote something that cannot serve as a summary."""


class SummaryLate(SummaryFailed):
    """A summary model stopped sending tokens, or the user continued without it; `pending` may still get its text."""

    def __init__(self, message: str, pending: "Future[Any]") -> None:
        super().__init__(message)
        self.pending = pending


def reason_of(error: OSError) -> str:
    """What the system said, without what Python adds in parentheses."""
    return str(error.strerror or error).partition(" (while ")[0]


def advice_on(error: OSError) -> str:
    """A suggestion for a failed write, as one sentence."""
    if error.errno in _DISK_FULL_ERRORS:
        return "Free some disk space."
    if error.errno in _FORBIDDEN:
        return "Check its permissions."
    if error.errno == errno.EROFS:
        return "That location is read-only; choose another one."
    return "Check the path."
