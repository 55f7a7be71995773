"""What stands in front of every path, from the outside in.

Watch ─► CORS, where pages are allowed ─► Guard ─► paths

Starlette(routes=[…, *watch_routes(…)], middleware=front(door, watching.board, settings.gateway, host))
"""

from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from plimsoll.config.gateway import GatewaySection
from plimsoll.gateway.access.door import Door
from plimsoll.gateway.access.guard import Guard
from plimsoll.gateway.watch.board import Board
from plimsoll.gateway.watch.watch import Watch

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_SHOWN = ("retry-after", "request-id", "x-plimsoll-request", "x-plimsoll-session", "x-plimsoll-view")


def front(door: Door, board: Board, settings: GatewaySection, host: str) -> list[Middleware]:
    """The middleware of the application."""
    layers = [Middleware(Watch, board, settings.send_seconds)]
    if settings.allowed_origins:
        layers.append(
            Middleware(
                CORSMiddleware,
                allow_origins=list(settings.allowed_origins),
                allow_methods=_METHODS,
                allow_headers=["*"],
                expose_headers=_SHOWN,
            )
        )
    return [*layers, Middleware(Guard, door, host, settings.allowed_origins)]
