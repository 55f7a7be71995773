"""`python -m plimsoll.gateway.inspector`: what `plimsoll inspect` starts."""

import argparse
import asyncio
import os
import shutil
import signal
import socket
import sys
import tempfile
import webbrowser
from html import escape
from pathlib import Path

import uvicorn

from plimsoll.archive import Owner
from plimsoll.config import load_settings, plimsoll_home
from plimsoll.errors import UserError, advice_on, reason_of
from plimsoll.gateway.inspector.live import LiveSessions
from plimsoll.gateway.inspector.local_app import LocalInspector
from plimsoll.gateway.inspector.standalone import write_page

MISTAKE = 2  # exit code for invalid settings or options
INTERRUPTED = 130
_REDIRECT = """\
<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>Plimsoll inspector</title>
<p><a href="{address}">Open the inspector</a></p>
"""


class _Server(uvicorn.Server):
    """Prints the link, opens `redirect` (if any) in the browser, and ends its streams on shutdown."""

    def __init__(
        self, config: uvicorn.Config, live: LiveSessions, address: str, redirect: Path | None
    ) -> None:
        super().__init__(config)
        self._live, self._address, self._redirect = live, address, redirect

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print(f"Inspector: {self._address}\nPress Ctrl+C to stop.", flush=True)
        if self._redirect is not None:
            await asyncio.to_thread(webbrowser.open, self._redirect.as_uri())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._live.close()
        await super().shutdown(sockets)


def main() -> int:
    """Serve the page until interrupted, or write it to a file. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="plimsoll inspect")
    parser.add_argument("--session", default="")
    parser.add_argument("--owner", default="operator")
    parser.add_argument("--archive", default=None)
    parser.add_argument("--temporary", default=None)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--output", default=None)
    parser.add_argument("--no-browser", action="store_true")
    options = parser.parse_args()
    for signum in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, _leave)  # remove the temporary archive also when the terminal is closed
    try:
        return _run(options)
    except UserError as error:
        print(f"plimsoll: {error}", file=sys.stderr)
        return MISTAKE
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        if options.temporary:
            shutil.rmtree(options.temporary, ignore_errors=True)


def _leave(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def _run(options: argparse.Namespace) -> int:
    flags = {"archive.url": options.archive} if options.archive else {}
    settings = load_settings(flags=flags).settings
    inspector = LocalInspector(settings, os.environ, plimsoll_home(), Owner(options.owner))
    if options.output:
        path = Path(options.output)
        size = asyncio.run(write_page(inspector, options.session, path))
        print(f"Wrote {path} ({size / 1e6:,.1f} MB). Recognised secrets are redacted; read the file before you "
              "send it.")  # fmt: skip
        return 0
    with (
        _listening(options.port) as listening,
        tempfile.TemporaryDirectory(prefix="plimsoll-inspect-") as folder,
    ):
        address = inspector.address(listening.getsockname()[1], options.session)
        config = uvicorn.Config(
            inspector.app,
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        redirect = None if options.no_browser else redirect_to(address, Path(folder))
        server = _Server(config, inspector.live, address, redirect)
        # As the server treats SIGINT and SIGTERM: an exception could be caught by the request that it interrupts.
        signal.signal(signal.SIGHUP, server.handle_exit)
        server.run([listening])
    return 0


def redirect_to(address: str, folder: Path) -> Path:
    """A file in a private folder that leads the browser to the link.

    Other users of the machine can read the command line of the browser, and the link's token with it, but not this
    file.
    """
    path = folder / "open.html"
    path.touch(0o600)
    path.write_text(_REDIRECT.format(address=escape(address)), "utf-8")
    return path


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise UserError(
            f"The inspector cannot listen on port {port}: {reason_of(error)}. Choose another with --port. "
            f"{advice_on(error) if error.filename else ''}".rstrip()
        ) from error


if __name__ == "__main__":
    sys.exit(main())
