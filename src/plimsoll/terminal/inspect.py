"""`plimsoll inspect`: a page in the browser that shows a conversation across its compactions.

SESSION ────────────────────────────► the archive ─┐
FILE | --latest claude | --example ─► a temporary  ┼─► python -m plimsoll.gateway.inspector ─► browser or HTML file
                                      archive ─────┘
"""

import asyncio
import os
import shutil
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import click

from plimsoll.archive import OPERATOR, title_of
from plimsoll.archive.open_archive import open_archive
from plimsoll.config import load_settings, plimsoll_home
from plimsoll.errors import UnknownSession, UserError
from plimsoll.installation import install_command
from plimsoll.terminal.prose import show_notice
from plimsoll.terminal.session_source import (
    latest_anywhere_option,
    newest_of,
    only_one,
    read_source,
)
from plimsoll.terminal.sessions.store_access import has_archive, open_store
from plimsoll.terminal.standard_output import STANDARD_STREAM
from plimsoll.transcripts import Transcript, read_example

_NEEDED = ("starlette", "uvicorn", "httptools", "msgspec")


@click.command()
@click.argument("source", metavar="[FILE|SESSION]", required=False)
@latest_anywhere_option
@click.option("--example", is_flag=True, help="Show the bundled conversation.")
@click.option(
    "--line", type=click.IntRange(1), help="The conversation in this line of a file that has several."
)
@click.option(
    "-o", "--output", metavar="PAGE", help="Write one self-contained HTML file, with secrets redacted."
)
@click.option("--port", type=click.IntRange(1, 65_535), help="Port to listen on.  [default: any free one]")
@click.option("--no-browser", is_flag=True, help="Print the link and open nothing.")
def inspect(
    source: str | None,
    latest: str | None,
    example: bool,
    line: int | None,
    output: str | None,
    port: int | None,
    no_browser: bool,
) -> None:
    """Show a conversation in the browser: what the model sees, what compaction removed, and what it cost.

    Without arguments, the page lists the stored sessions. A FILE or an agent's session is read into a temporary
    archive, so nothing that you do in the page changes it.

    \b
    plimsoll inspect --example
    plimsoll inspect --latest claude
    plimsoll inspect 20261115-094512-quiet-harbour
    plimsoll inspect session.jsonl -o page.html
    """
    if bool(source) + bool(latest) + example > 1:
        raise click.UsageError("Name a FILE or a SESSION, or an agent with --latest, or pass --example.")
    if output and not (source or latest or example):
        raise click.UsageError("Name the FILE or SESSION to write with --output.")
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise UserError(
            f"The inspector needs packages that are not installed ({', '.join(missing)}). "
            f"Run `{install_command('gateway')}`."
        )
    if example:
        options = _temporary(*read_example())
    else:
        options = _options(newest_of(latest, anywhere=True) if latest else source, line)
    options += ["--output", output] if output else []
    options += ["--port", str(port)] if port else []
    options += ["--no-browser"] if no_browser else []
    sys.stdout.flush()
    sys.stderr.flush()
    # A separate program, so that signals and memory are the page's own.
    os.execv(sys.executable, [sys.executable, "-m", "plimsoll.gateway.inspector", *options])


def _options(source: str | None, line: int | None) -> list[str]:
    """The options for the session to show and its archive."""
    if source is None:
        return []
    is_file = source == STANDARD_STREAM or "\0" in source or Path(source).exists()
    stored = None if is_file else _stored(source)
    if stored:
        return stored
    transcript = only_one(read_source(source), line)
    for notice in transcript.notices:
        show_notice(f"{transcript.place}: {notice}")
    return _temporary(transcript)


def _temporary(transcript: Transcript) -> list[str]:
    """The options for a conversation in an archive of its own, which is removed with the page."""
    folder = tempfile.mkdtemp(prefix="plimsoll-inspect-")
    url = f"sqlite://{Path(folder) / 'archive.db'}"
    try:
        session = asyncio.run(_imported(transcript, url))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return ["--session", session, "--archive", url, "--temporary", folder]


def _stored(name: str) -> list[str]:
    """The options for a session in the archive; none if there is no such session."""
    if not has_archive():
        return []
    with open_store() as access:
        try:
            session = access.run(access.store.session(name))
        except UnknownSession:
            return []
    return ["--session", session.id, "--owner", session.owner]


async def _imported(transcript: Transcript, url: str) -> str:
    """Import a conversation into a new archive. Returns its id."""
    settings = load_settings().settings
    async with await open_archive(url, plimsoll_home()) as store:
        archive = store.for_owner(OPERATOR)
        session = await archive.create_session(
            title=title_of(transcript.messages) or Path(transcript.source).stem,
            model=transcript.model or settings.model.name or "",
            engine=settings.context.engine,
        )
        await archive.append(session.id, transcript.messages, turn="import", after=0)
        return session.id
