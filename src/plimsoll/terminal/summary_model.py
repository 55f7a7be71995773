"""Opens the summary model for a command, as configured."""

import os
import sys

import click

from plimsoll.assembly import open_auxiliary, resolve_summaries
from plimsoll.config import Settings, plimsoll_home
from plimsoll.messages.printable import plain
from plimsoll.providers.auxiliary import Auxiliary
from plimsoll.providers.retry import Retries


def open_summary_model(
    settings: Settings, quiet: bool, retries: Retries | None = None
) -> tuple[Auxiliary | None, list[str]]:
    """The summary model (None: summaries are extracted), and notices for the user."""
    home = plimsoll_home()
    resolution = resolve_summaries(settings, os.environ, home)
    auxiliary = open_auxiliary(settings, resolution, home, retries)
    if auxiliary and not quiet and sys.stderr.isatty():
        click.echo(f"summaries: {plain(resolution.headline)}", err=True)
    named = settings.auxiliary.compression.model or settings.auxiliary.compression.provider != "auto"
    is_missed = named and (not resolution.candidates or resolution.candidates[0].role == "main")
    asked_for_main = settings.auxiliary.compression.provider == "main"
    missed = [step.sentence for step in resolution.explanation if not step.taken]
    return auxiliary, missed if is_missed and not asked_for_main else []
