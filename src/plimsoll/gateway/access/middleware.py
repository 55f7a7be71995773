"""The application's middleware, outermost first.

TelemetryMiddleware ─► CORS, where pages are allowed ─► Authentication ─► paths

Starlette(routes=…, middleware=middleware(key_policy, telemetry.dispatcher, settings.gateway, host))
"""

from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from plimsoll.gateway.access.authentication import Authentication
from plimsoll.gateway.access.key_policy import KeyPolicy
from plimsoll.gateway.telemetry.dispatcher import TelemetryDispatcher
from plimsoll.gateway.telemetry.middleware import TelemetryMiddleware
from plimsoll.settings.gateway import GatewaySection

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_SHOWN = ("retry-after", "request-id", "x-plimsoll-request", "x-plimsoll-session", "x-plimsoll-view")


def middleware(
    key_policy: KeyPolicy, dispatcher: TelemetryDispatcher, settings: GatewaySection, host: str
) -> list[Middleware]:
    """The application's middleware, outermost first."""
    layers = [Middleware(TelemetryMiddleware, dispatcher, settings.send_seconds)]
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
    return [*layers, Middleware(Authentication, key_policy, host, settings.allowed_origins)]
