"""Sessions over HTTP: conversations that the gateway keeps, answers in and looks after."""

from plimsoll.gateway.sessions.desk import SessionDesk

__all__ = ["SessionDesk"]
