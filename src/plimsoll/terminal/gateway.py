"""`plimsoll gateway`: a proxy that keeps the conversations of other programs small.

ANTHROPIC_BASE_URL=http://127.0.0.1:8787 claude
OPENAI_BASE_URL=http://127.0.0.1:8787/v1 my-agent
"""

import os
import sys
from importlib.util import find_spec

import click

from plimsoll.config import load_settings
from plimsoll.errors import UserError
from plimsoll.installation import install_command
from plimsoll.plugins import COMPRESSOR
from plimsoll.terminal.gateway_keys import keys
from plimsoll.terminal.prose import show_notice, show_sentence

_NEEDED = ("starlette", "uvicorn", "httptools", "msgspec", "prometheus_client")


@click.group(invoke_without_command=True)
@click.option("--host", metavar="ADDRESS", help="Address to listen on.  [default: gateway.host, 127.0.0.1]")
@click.option(
    "--port", type=click.IntRange(1, 65_535), help="Port to listen on.  [default: gateway.port, 8787]"
)
@click.option(
    "--workers", type=click.IntRange(1, 64), help="Number of processes.  [default: gateway.workers, 1]"
)
@click.option(
    "--demo", is_flag=True, help="Answer with the small embedded model if no upstream is configured."
)
@click.pass_context
def gateway(ctx: click.Context, host: str | None, port: int | None, workers: int | None, demo: bool) -> None:
    """Serve the APIs of OpenAI, Anthropic and Gemini, and compact their clients' conversations.

    Clients keep sending their whole history; the upstream receives a cached view that fits the window.
    """
    if ctx.invoked_subcommand is not None:
        return
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise UserError(
            f"The gateway needs packages that are not installed ({', '.join(missing)}). "
            f"Run `{install_command('gateway')}`."
        )
    loaded = load_settings()
    for notice in loaded.notices:
        show_notice(notice)
    section = loaded.settings.gateway
    host, port, workers = host or section.host, port or section.port, workers or section.workers
    click.echo(
        f"Starting on {host} port {port} with {workers} process{'es' if workers > 1 else ''}.", err=True
    )
    engine = loaded.settings.context.engine
    if engine != COMPRESSOR:
        show_sentence(
            f"context.engine {engine} serves sessions. Conversations of API clients are compacted by the built-in "
            "compressor, because their models do not have an engine's tools.",
            indent="  ",
            err=True,
        )
    for line in filter(None, (platform.notice(name) for name, platform in section.platforms.items())):
        show_sentence(line, indent="  ", err=True)
    # A separate program, so that signals, workers and memory are the gateway's own.
    options = ["--host", host, "--port", str(port), "--workers", str(workers)]
    options += ["--demo"] if demo else []
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-m", "plimsoll.gateway", *options])


gateway.add_command(keys)
