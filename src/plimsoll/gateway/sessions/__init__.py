"""Sessions over HTTP: conversations that the gateway stores, answers and compacts."""

from plimsoll.gateway.sessions.owner_sessions import OwnerSessions
from plimsoll.gateway.sessions.service import SessionService

__all__ = ["OwnerSessions", "SessionService"]
