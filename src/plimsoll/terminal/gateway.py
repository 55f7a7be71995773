"""`plimsoll gateway`: other programs talk to their provider through it, and their conversations stay small.

    ANTHROPIC_BASE_URL=http://127.0.0.1:8787 claude
    OPENAI_BASE_URL=http://127.0.0.1:8787/v1 my-agent
"""

import os
import sys
from importlib.util import find_spec

import click

from plimsoll.config import load_settings
from plimsoll.errors import UserError

_NEEDED = ("starlette", "uvicorn", "httptools")


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where to listen.")
@click.option("--port", default=8787, show_default=True, type=click.IntRange(1, 65_535), help="On which port.")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(1, 64), help="Processes.")
def gateway(host: str, port: int, workers: int) -> None:
    """Serve OpenAI's and Anthropic's APIs, and keep the conversations of whoever uses them small.

    Clients keep sending their whole history; the upstream gets a view that fits, cached as well as it can be.
    """
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise UserError(
            f"The gateway needs {', '.join(missing)}, which is not installed: pip install 'plimsoll[gateway]'."
        )
    for notice in load_settings().notices:
        click.echo(f"note: {notice}", err=True)
    shown = f"[{host}]" if ":" in host else host
    click.echo(f"Listening on http://{shown}:{port} with {workers} process{'es' if workers > 1 else ''}.", err=True)
    click.echo(f"  ANTHROPIC_BASE_URL=http://{shown}:{port}    OPENAI_BASE_URL=http://{shown}:{port}/v1", err=True)
    if host not in ("127.0.0.1", "::1", "localhost"):
        click.echo(
            f"note: everybody who reaches {host} can use the gateway's keys; listen on 127.0.0.1 to prevent that.",
            err=True,
        )
    # A program of its own, so that signals, workers and memory are the gateway's alone.
    options = ["--host", host, "--port", str(port), "--workers", str(workers)]
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-m", "plimsoll.gateway", *options])
