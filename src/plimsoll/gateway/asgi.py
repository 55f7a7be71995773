"""Shared by all parts of the gateway: the ASGI types, headers, and the caller of a request.

    request.state.caller          in a Starlette endpoint
    caller_in(scope)              in an ASGI application
    b"x-plimsoll-caller"          in the headers of the scope, written by the authentication only

`Caller.owner` is the id of the caller's key, or None for the operator of a gateway that requires no keys.
`Caller.archive_owner` owns the sessions that the caller can see.
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


class ClientDisconnected(Exception):
    """The client closed its connection before it had sent or received everything."""


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller."""

    owner: str | None = None
    name: str = ""
    reads: Owner | None = (
        None  # whose sessions a read-only key reads; None: a key that reads and writes its own
    )

    @property
    def archive_owner(self) -> Owner:
        """The owner of the sessions that the caller creates and sees."""
        if self.reads is not None:
            return self.reads
        return OPERATOR if self.owner is None else key_owner(self.owner)

    @property
    def actor(self) -> str:
        """The name under which the archive records the caller's actions."""
        return OPERATOR if self.owner is None else f"key:{self.name}"


ANONYMOUS = Caller()


def caller_in(scope: Scope) -> Caller:
    """The caller of an authenticated request."""
    found: Caller = scope["state"]["caller"]  # a KeyError without authentication: never assume the operator
    return found
