"""What every part of the gateway shares: the types of ASGI, a header, and the caller of a request.

    request.state.caller          in an endpoint of Starlette
    caller_in(scope)              in an ASGI application
    b"x-plimsoll-caller"          among the headers of the scope, written by the authentication alone

`Caller.owner` is the id of the caller's key, or None on a gateway that asks for none: that is
whoever sits at this machine, the operator. `Caller.archive_owner` is whose sessions exist for them.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from plimsoll.archive import OPERATOR, Owner, key_owner

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
Header: TypeAlias = tuple[bytes, bytes]
CALLER_HEADER = b"x-plimsoll-caller"


class ClientLeft(Exception):
    """The client closed its connection before it had sent or received everything."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who was let in."""

    owner: str | None = None
    name: str = ""
    reads: Owner | None = (
        None  # whose sessions a read-only key reads; None: a key that reads and writes its own
    )

    @property
    def archive_owner(self) -> Owner:
        """Who owns the sessions that the caller begins; they see no others."""
        if self.reads is not None:
            return self.reads
        return OPERATOR if self.owner is None else key_owner(self.owner)

    @property
    def actor(self) -> str:
        """The name under which the archive records what the caller does."""
        return OPERATOR if self.owner is None else f"key:{self.name}"


NOBODY = Caller()


def caller_in(scope: Scope) -> Caller:
    """The caller of a request that was authenticated."""
    found: Caller = scope["state"]["caller"]  # without authentication nobody is taken for the operator
    return found
