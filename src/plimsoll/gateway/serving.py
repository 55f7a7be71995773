"""The gateway's processes: one socket, the configured number of workers, and a shutdown that lets requests finish.

Checks that it may start before it listens: a worker that fails to start would be restarted forever.
"""

import asyncio
import os
import resource
import shutil
import signal
import socket
import sys
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, NoReturn, cast

import uvicorn
from uvicorn.supervisors import Multiprocess

from plimsoll.archive.open_archive import open_archive
from plimsoll.config import Settings, load_settings, plimsoll_home
from plimsoll.errors import UserError, advice_on, reason_of
from plimsoll.gateway.access.key_policy import KeyPolicy
from plimsoll.gateway.app import app_from_config
from plimsoll.gateway.client_lines import client_address, client_lines
from plimsoll.gateway.http.protocol import LimitedProtocol
from plimsoll.gateway.messaging.accounts import configured
from plimsoll.gateway.runtime_options import RuntimeOptions
from plimsoll.gateway.telemetry.metrics import FOLDER_VARIABLE
from plimsoll.gateway.upstream.target import Targets

_BACKLOG = 2_048  # connections that wait to be accepted
_HEALTH_SECONDS = 60
_OPEN_FILES = 65_536  # for 2,000 clients per process, each with an upstream connection, and the open sessions


def serve(flags: Mapping[str, Any], options: RuntimeOptions) -> None:
    """Serve until a signal arrives; `flags` override the settings of the same names."""
    settings = load_settings(flags=flags).settings
    gateway = settings.gateway
    asyncio.run(_may_start(settings))
    targets = Targets(settings.model, os.environ, plimsoll_home(), options.demo)
    for line in asyncio.run(targets.descriptions()):
        print(_folded(f"  {line}"), file=sys.stderr, flush=True)
    _raise_file_limit()
    listening = _listening(gateway.host, gateway.port)
    # From here on, the system queues connections: a client may be started before the workers are ready.
    print(*client_lines(client_address(gateway.host, gateway.port)), sep="\n", file=sys.stderr, flush=True)
    config = uvicorn.Config(
        partial(app_from_config, flags, options),
        factory=True,
        http=cast(type[asyncio.Protocol], partial(LimitedProtocol, head_seconds=gateway.receive_seconds)),
        h11_max_incomplete_event_size=gateway.header_limit,
        workers=gateway.workers,
        log_level="warning",
        access_log=False,
        proxy_headers=False,  # nothing here depends on a client's address
        server_header=False,
        limit_concurrency=gateway.connections,
        timeout_graceful_shutdown=int(gateway.shutdown_seconds),
        # A busy machine must not cause a worker to be killed with its streams.
        timeout_worker_healthcheck=_HEALTH_SECONDS,
        backlog=_BACKLOG,
    )
    try:
        if gateway.workers > 1:
            with _shared_metrics_folder():
                _GatewayWorkers(config, sockets=[listening]).run()
        else:
            # After shutdown uvicorn raises the signal again that stopped it; this is not a failure.
            for each in (signal.SIGTERM, signal.SIGINT):
                signal.signal(each, _ended)
            _GatewayServer(config).run([listening])
    finally:
        listening.close()


class _GatewayServer(uvicorn.Server):
    """Tells a user at a terminal when it accepts requests."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            _show_ready()


class _GatewayWorkers(Multiprocess):
    """Tells a user at a terminal when all workers accept requests."""

    is_ready = False

    def keep_subprocess_alive(self) -> None:
        super().keep_subprocess_alive()
        if not self.is_ready and all(process.is_ready() for process in self.processes):
            self.is_ready = True
            _show_ready()


def _show_ready() -> None:
    if sys.stderr.isatty():
        print("Ready. Press Ctrl-C to stop.", file=sys.stderr, flush=True)


def _folded(line: str) -> str:
    """A long line wrapped at words on a terminal; unchanged elsewhere."""
    if not sys.stderr.isatty():
        return line
    return textwrap.fill(line, shutil.get_terminal_size().columns, subsequent_indent="    ")


def _raise_file_limit() -> None:
    """Raise the limit to what the system allows: the default of 1,024 open files is too low for 2,000 clients."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _ended(_number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(0)


async def _may_start(settings: Settings) -> None:
    """Raise `UserError` if the gateway must not start: it has no keys but is reachable by others, or a messaging
    platform is not configured correctly."""
    gateway = settings.gateway
    configured(gateway, os.environ)
    key_policy = KeyPolicy(gateway.host, gateway.keys, gateway.allowed_origins)
    async with await open_archive(settings.archive.url, plimsoll_home()) as store:
        await key_policy.open(store.keys)


@contextmanager
def _shared_metrics_folder() -> Iterator[None]:
    """A folder for the metrics of all processes, so that each can report all of them."""
    with TemporaryDirectory(prefix="plimsoll-gateway-") as folder:
        os.environ.setdefault(FOLDER_VARIABLE, folder)
        yield


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise UserError(
            f"The gateway cannot listen on {host} port {port}: {reason_of(error)}. "
            f"Choose another with --port. {advice_on(error) if error.filename else ''}".rstrip()
        ) from error
