"""The gateway's processes: one socket, as many workers as asked for, an end that lets requests finish.

Whether it may start at all is asked before it listens: a worker that may not would be started for ever.
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
from plimsoll.errors import UserError, advice_on
from plimsoll.gateway.access.key_policy import KeyPolicy
from plimsoll.gateway.app import app_from_config
from plimsoll.gateway.http.protocol import LimitedProtocol
from plimsoll.gateway.messaging.accounts import configured
from plimsoll.gateway.runtime_options import RuntimeOptions
from plimsoll.gateway.telemetry.metrics import FOLDER_VARIABLE
from plimsoll.gateway.upstream.target import Targets

_BACKLOG = 2_048
_HEALTH_SECONDS = 60
_OPEN_FILES = (
    65_536  # for 2,000 clients per process, each with an upstream, and the sessions that are kept open
)


def serve(flags: Mapping[str, Any], options: RuntimeOptions) -> None:
    """Serve until a signal ends it; `flags` outrank what the settings of these names say."""
    settings = load_settings(flags=flags).settings
    gateway = settings.gateway
    asyncio.run(_may_start(settings))
    targets = Targets(settings.model, os.environ, plimsoll_home(), options.demo)
    for line in asyncio.run(targets.told()):
        print(_folded(f"  {line}"), file=sys.stderr, flush=True)
    _raise_file_limit()
    listening = _listening(gateway.host, gateway.port)
    config = uvicorn.Config(
        partial(app_from_config, flags, options),
        factory=True,
        http=cast(type[asyncio.Protocol], partial(LimitedProtocol, head_seconds=gateway.receive_seconds)),
        h11_max_incomplete_event_size=gateway.header_limit,
        workers=gateway.workers,
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=gateway.connections,
        timeout_graceful_shutdown=int(gateway.shutdown_seconds),
        # A machine that is busy with other work must not cost a worker, and its streams, their life.
        timeout_worker_healthcheck=_HEALTH_SECONDS,
        backlog=_BACKLOG,
    )
    try:
        if gateway.workers > 1:
            with _figures_of_all():
                Multiprocess(config, sockets=[listening]).run()
        else:
            # When all is finished uvicorn raises the signal again that ended it; that is no failure.
            for each in (signal.SIGTERM, signal.SIGINT):
                signal.signal(each, _ended)
            uvicorn.Server(config).run([listening])
    finally:
        listening.close()


def _folded(line: str) -> str:
    """A long line as several on a terminal, which would cut its words; one line everywhere else."""
    if not sys.stderr.isatty():
        return line
    return textwrap.fill(line, shutil.get_terminal_size().columns, subsequent_indent="    ")


def _raise_file_limit() -> None:
    """Take what the system allows: a shell starts programs with room for 1,024 files, too few for 2,000 clients."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _ended(_number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(0)


async def _may_start(settings: Settings) -> None:
    """`UserError` where the gateway must not start: nobody has a key and strangers could reach it, or a platform
    on which it answers people is not set up."""
    gateway = settings.gateway
    configured(gateway, os.environ)
    key_policy = KeyPolicy(gateway.host, gateway.keys, gateway.allowed_origins)
    async with await open_archive(settings.archive.url, plimsoll_home()) as store:
        await key_policy.open(store.keys)


@contextmanager
def _figures_of_all() -> Iterator[None]:
    """A folder in which every process keeps its metrics, so that whichever is asked has all of them."""
    with TemporaryDirectory(prefix="plimsoll-gateway-") as folder:
        os.environ.setdefault(FOLDER_VARIABLE, folder)
        yield


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise UserError(
            f"The gateway cannot listen on {host} port {port}: {error.strerror}. "
            f"Choose another with --port. {advice_on(error) if error.filename else ''}".rstrip()
        ) from error
