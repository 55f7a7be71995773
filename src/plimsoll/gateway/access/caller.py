"""Who asks: the owner of what a request begins.

    request.state.caller          in an endpoint of Starlette
    caller_in(scope)              in an ASGI application
    b"x-plimsoll-caller"          among the headers of the scope, put there by the guard alone

`Caller.owner` is the id of the caller's key, or None on a gateway that asks for none: that is
whoever sits at this machine, and sees everything. It is what `owner=` of the archive takes.
"""

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

HEADER = b"x-plimsoll-caller"


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who was let in."""

    owner: str | None = None
    name: str = ""


NOBODY = Caller()


def caller_in(scope: MutableMapping[str, Any]) -> Caller:
    """The caller of a request that passed the guard."""
    found: Caller = scope.get("state", {}).get("caller", NOBODY)
    return found
