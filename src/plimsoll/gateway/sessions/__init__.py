"""Sessions over HTTP: conversations that the gateway keeps, answers in and looks after."""

from plimsoll.gateway.sessions.desk import SessionDesk
from plimsoll.gateway.sessions.owned import OwnerSessions

__all__ = ["OwnerSessions", "SessionDesk"]
