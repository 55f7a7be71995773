"""The conversation that a command works on: a file, a stored session, or an agent's newest session.

    FILE | - | SESSION | --latest claude     ──►  transcripts

A SESSION is the id, or a unique prefix of the id, of a session in the archive, or the id of an agent's session.
"""

import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from plimsoll.errors import UnknownSession, UserError
from plimsoll.messages.printable import plain
from plimsoll.terminal.prose import show_notice
from plimsoll.terminal.sessions import transfer
from plimsoll.terminal.sessions.store_access import has_archive, open_store
from plimsoll.terminal.standard_output import STANDARD_STREAM
from plimsoll.transcripts import AGENTS, FOLDERS, Transcript, newest_session, read_stream, read_transcripts

STANDARD_INPUT = "standard input"
_AGENT_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
Command = TypeVar("Command", bound=Callable[..., Any])


def latest_option(command: Command) -> Command:
    """The option that names an agent instead of a file."""
    return _latest(command, "The newest session of this agent in the current directory.")


def latest_anywhere_option(command: Command) -> Command:
    """The same for commands that only show a session, wherever it is from."""
    return _latest(command, "The newest session of this agent, in the current directory if it has any there.")


def _latest(command: Command, about: str) -> Command:
    return click.option("--latest", type=click.Choice(AGENTS), help=about)(command)


def newest_of(agent: str, *, anywhere: bool = False) -> str:
    """The newest session of an agent in the current directory, or else in any; a note says which."""
    place = str(Path.cwd())
    found = newest_session(agent, os.environ, Path.home(), place, anywhere=anywhere)
    show_notice(
        f"reading {found.path}"
        if found.is_here
        else f"no session of {place}; reading the newest, {found.path}"
    )
    return str(found.path)


def read_source(source: str) -> list[Transcript]:
    """The conversations of a file, of standard input, or of a session."""
    if source == STANDARD_STREAM:
        return list(read_stream(sys.stdin.buffer, STANDARD_INPUT))
    if "\0" not in source and not Path(source).exists():
        found = _agent_session(source) if _AGENT_ID.fullmatch(source) else None
        if found is not None:
            return read_transcripts(found)
        return [_stored(source)]
    return read_transcripts(source)


def _agent_session(session: str) -> Path | None:
    found = (folder.here(os.environ, Path.home()).session(session) for folder in FOLDERS)
    return next((path for path in found if path is not None), None)


def _stored(name: str) -> Transcript:
    """The session in the archive with this name."""
    no_file = f"There is no file {plain(name)!r}"
    if not has_archive():
        raise UserError(
            f"{no_file}, and no stored session begins with it. Check the path; nothing is stored yet."
        )
    with open_store() as access:
        try:
            session = access.run(access.store.session(name))
        except UnknownSession as error:
            _, is_unknown, hint = str(error).partition(f"There is no session {name!r}")
            known = f", and no stored session begins with it{hint}" if is_unknown else f". {error}"
            raise UserError(f"{no_file}{known}") from error
        return Transcript(list(transfer.messages_of(access, session)), session.id, id=session.id)


def only_one(transcripts: Sequence[Transcript], line: int | None) -> Transcript:
    """The only conversation, or the one in `line` of a file with several."""
    if line is not None:
        found = next((transcript for transcript in transcripts if transcript.line == line), None)
        if found is None:
            last = max((transcript.line or 1 for transcript in transcripts), default=0)
            raise UserError(
                f"--line {line}: {transcripts[0].source} has no conversation there; the last is in line {last}."
            )
        return found
    if len(transcripts) > 1:
        raise UserError(
            f"{transcripts[0].source} has {len(transcripts)} conversations. Choose one with --line N."
        )
    return transcripts[0]
