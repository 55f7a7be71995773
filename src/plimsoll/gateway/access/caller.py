"""Who asks: the owner of what a request begins.

    request.state.caller          in an endpoint of Starlette
    caller_in(scope)              in an ASGI application
    b"x-plimsoll-caller"          among the headers of the scope, put there by the guard alone

`Caller.owner` is the id of the caller's key, or None on a gateway that asks for none: that is
whoever sits at this machine, the operator. `Caller.archive_owner` is whose sessions exist for them.
"""

from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any

from plimsoll.archive import OPERATOR, Owner, key_owner

HEADER = b"x-plimsoll-caller"


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who was let in."""

    owner: str | None = None
    name: str = ""

    @property
    def archive_owner(self) -> Owner:
        """Who owns the sessions that the caller begins; they see no others."""
        return OPERATOR if self.owner is None else key_owner(self.owner)


NOBODY = Caller()


def caller_in(scope: MutableMapping[str, Any]) -> Caller:
    """The caller of a request that passed the guard."""
    found: Caller = scope["state"]["caller"]  # without a guard nobody is taken for the operator
    return found
