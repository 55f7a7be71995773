"""The gateway's processes: one socket, as many workers as asked for, an end that lets requests finish."""

import socket
from functools import partial

import uvicorn
from uvicorn.supervisors import Multiprocess

from plimsoll.errors import UserError, advice_on
from plimsoll.gateway.app import app_from_config
from plimsoll.gateway.settings import GatewaySettings

_BACKLOG = 2_048


def serve(settings: GatewaySettings) -> None:
    """Serve until a signal ends it."""
    listening = _listening(settings)
    config = uvicorn.Config(
        partial(app_from_config, settings),
        factory=True,
        workers=settings.workers,
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=settings.limits.connections,
        timeout_graceful_shutdown=int(settings.shutdown_seconds),
        backlog=_BACKLOG,
    )
    try:
        if settings.workers > 1:
            Multiprocess(config, sockets=[listening]).run()
        else:
            uvicorn.Server(config).run([listening])
    finally:
        listening.close()


def _listening(settings: GatewaySettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise UserError(
            f"The gateway cannot listen on {settings.host} port {settings.port}: {error.strerror}. "
            f"Choose another with --port. {advice_on(error) if error.filename else ''}".rstrip()
        ) from error
