"""Every exception that Plimsoll raises on purpose.

    PlimsollError
    ├── UserError                a mistake the person can correct; printed as one sentence, exit code 2
    │   ├── SettingError         a configuration key or argument is unknown, of the wrong type or out of range
    │   ├── TranscriptError      a conversation file cannot be read
    │   ├── MissingKey           a provider needs a key and none of its environment variables is set
    │   ├── UnknownModel         nobody who can be reached serves the model that was asked for
    │   ├── LocalModelError      the embedded model cannot be fetched or started
    │   ├── ArchiveError         the archive cannot be opened, read or written; what it holds stays as it is
    │   ├── UnknownSession       no session has this id; the nearest ones are named
    │   ├── QueueFull            too many messages wait in a session; later there is room again
    │   ├── UsageLimitReached    an access key has used what it may use for now; carries the limit and the seconds
    │   └── PluginError          a plugin is unknown, not trusted, or broken; its own error is told
    ├── ProviderError            a model was asked and did not answer; carries provider, model, status
    │   ├── ContextOverflow      the request is larger than the window; carries the provider's numbers
    │   ├── OutputCapExceeded    more output was asked for than the model writes; not an overflow
    │   ├── PayloadTooLarge      too many bytes, whatever the tokens
    │   ├── BadRequest           refused for another reason; asking again changes nothing
    │   ├── AuthenticationFailed the key is wrong or may not do this
    │   ├── QuotaExhausted       the account has no money or allowance left; waiting does not help
    │   ├── RateLimited          too many requests; waiting helps
    │   ├── Overloaded           the provider has no capacity at the moment
    │   ├── ServerFailed         the provider broke
    │   ├── NetworkFailed        no connection, or it was lost
    │   ├── ProviderTimeout      no answer in time
    │   └── BrokenReply          an answer came, cut off or garbled
    │       └── EmptyReply       an answer came, with nothing in it
    ├── PlatformFailed           a chat platform did not do what it was asked; later it may
    │   └── PlatformRefused      it will not; asking again changes nothing
    ├── Conflict                 another writer was there first; nothing was written, read again
    │   └── StaleLease           the lease was taken over by somebody else in the meantime
    ├── InvalidConversation      a message list breaks a rule of the wire format it is meant for
    ├── MalformedReply           a provider's reply or stream event is not one of its wire format
    └── SummaryFailed            a summary model gave nothing usable; the deterministic writer takes over
        └── SummaryLate          nobody waits for it any more; its text may still arrive

A `UserError` carries what was wrong, the value, and what to change. Any other
exception that reaches the terminal is a bug and keeps its traceback.
`PlimsollError.public` is what a gateway tells its clients. `advice_on` says what
a person can do about a write that the system refused.
"""

import errno
from concurrent.futures import Future
from typing import Any

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM})


class PlimsollError(Exception):
    """Root of the tree."""

    @property
    def public(self) -> str:
        """What a caller over the network may read. The whole text is for whoever runs Plimsoll."""
        return str(self)


class UserError(PlimsollError):
    """Something the person typed, wrote or configured needs correcting."""


class SettingError(UserError, ValueError):
    """A setting or argument is unknown, of the wrong type or out of range."""


class TranscriptError(UserError):
    """A conversation file is not what it should be."""


class MissingKey(UserError):
    """A provider needs a key, and none of the environment variables that may hold it is set."""


class UnknownModel(UserError):
    """Nobody who can be reached serves the model that was asked for."""


class LocalModelError(UserError):
    """The embedded model cannot be fetched or started."""


class ArchiveError(UserError):
    """The archive cannot be opened, read or written. What it holds stays as it is."""

    @property
    def public(self) -> str:
        """Without the path or the address, which say where the conversations of all owners are."""
        return "The archive does not answer. Try again in a moment; the gateway's log states the reason."


class UnknownSession(UserError):
    """No session has this id, or several begin like it."""


class QueueFull(UserError):
    """As many messages wait in a session as may. Nothing was stored; send it again later."""


class UsageLimitReached(UserError):
    """An access key has used what it may; `seconds` until another attempt is worth while.

    `limit` is requests, tokens or money, or reserved where only requests under way are in the way.
    """

    def __init__(self, message: str, limit: str, seconds: int) -> None:
        super().__init__(message)
        self.limit, self.seconds = limit, seconds


class PluginError(UserError):
    """A plugin cannot be found, is not trusted, or fails while it is loaded or run."""


class ProviderError(PlimsollError):
    """A model was asked and did not answer. The text never holds a key."""

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
    requested: int | None = None  # the tokens that it counted, the room for the answer included
    output: int | None = None  # the part of `requested` that is room for the answer, where it says so

    @property
    def room(self) -> int | None:
        """Tokens left for the answer where the prompt itself fits; None where it does not or nobody knows."""
        if self.limit is None or self.requested is None or self.output is None:
            return None
        left = self.limit - (self.requested - self.output)
        return left if left > 0 else None


class OutputCapExceeded(ProviderError):
    """The request asks for a longer answer than the model writes."""

    limit: int | None = None  # the most tokens that one answer may have


class PayloadTooLarge(ProviderError):
    """The request has too many bytes."""


class BadRequest(ProviderError):
    """The provider refused the request."""


class AuthenticationFailed(ProviderError):
    """The provider does not accept the key, or not for this."""


class QuotaExhausted(ProviderError):
    """The account has nothing left to spend."""


class RateLimited(ProviderError):
    """Too many requests in a short time."""


class Overloaded(ProviderError):
    """The provider has no capacity at the moment."""


class ServerFailed(ProviderError):
    """The provider failed on its side."""


class NetworkFailed(ProviderError):
    """There is no connection to the provider, or it was lost."""


class ProviderTimeout(ProviderError):
    """The provider did not answer in time."""


class BrokenReply(ProviderError):
    """The provider's answer was cut off, or is not one of its wire format."""


class EmptyReply(BrokenReply):
    """The provider's answer holds neither text nor a tool call."""


class PlatformFailed(PlimsollError):
    """A chat platform did not do what it was asked. The text never holds a token."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after  # seconds that the platform asks to wait


class PlatformRefused(PlatformFailed):
    """A chat platform will not do what it was asked, however often."""


class Conflict(PlimsollError):
    """Another writer was there first. Nothing was written; read again and decide anew."""


class StaleLease(Conflict):
    """The lease ran out and somebody else holds it now, so this writer may not write any more."""


class InvalidConversation(PlimsollError):
    """A message list breaks a rule of its wire format."""


class MalformedReply(PlimsollError):
    """A provider sent a reply or a stream event that is not one of its wire format."""


class SummaryFailed(PlimsollError):
    """A summary model raised, refused, or wrote something that cannot serve as a summary."""


class SummaryLate(SummaryFailed):
    """A summary model fell silent, or the user continued without it; `pending` may still bring its text."""

    def __init__(self, message: str, pending: "Future[Any]") -> None:
        super().__init__(message)
        self.pending = pending


def advice_on(error: OSError) -> str:
    """What a person can do about a write that failed, as one sentence."""
    if error.errno in _FULL:
        return "Free some disk space."
    if error.errno in _FORBIDDEN:
        return "Check its permissions."
    if error.errno == errno.EROFS:
        return "That location is read-only; choose another one."
    return "Check the path."
