"""Writes converted conversations, and prints how to resume them.

--to claude-code | codex | gemini      a new session in the agent's folder, in the folder -o, or in the file -o
--to openai | anthropic                messages in the file -o
"""

import os
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import click

from plimsoll.errors import UserError
from plimsoll.terminal.standard_output import STANDARD_STREAM, write_json
from plimsoll.transcripts import (
    AGENT_TARGETS,
    TARGETS,
    SessionStamp,
    Transcript,
    folder_of,
    serialised,
    session_bytes,
    write_file,
    write_session,
    write_transcripts,
)

target_choice = click.Choice(TARGETS)


def check_output(target: str, output: str | None, transcripts: Sequence[Transcript]) -> None:
    """Reject output that cannot be written, before any work is done."""
    if output is None and target not in AGENT_TARGETS:
        raise click.UsageError(f"--to {target} needs --output FILE, or - for standard output.")
    if output is None or output == STANDARD_STREAM or _is_folder(output):
        return
    if target in AGENT_TARGETS and len(transcripts) > 1:
        raise UserError(
            f"{output} can hold only one session, but {len(transcripts)} conversations were read. Name a folder: "
            f"--output {shlex.quote(output.rstrip('/'))}/"
        )
    originals = [transcript.source for transcript in transcripts if Path(transcript.source).exists()]
    if any(Path(output).exists() and Path(output).samefile(original) for original in originals):
        raise UserError(f"{output} is the original, which is never changed. Name another file with --output.")


def write_converted(target: str, output: str | None, transcripts: Sequence[Transcript]) -> list[str]:
    """Write the conversations in the target's format. Returns messages for the user."""
    if target not in AGENT_TARGETS:
        return _write_messages(output or STANDARD_STREAM, transcripts)
    messages: list[str] = []
    for transcript in transcripts:
        stamp = SessionStamp(str(uuid4()), datetime.now(UTC), _project_of(transcript))
        if output is None or _is_folder(output):
            messages += _write_in_folder(transcript, target, stamp, output)
        elif output == STANDARD_STREAM:
            write_json(session_bytes(transcript, target, stamp))
        else:
            write_file(output, session_bytes(transcript, target, stamp))
            messages.append(f"Written to {output}")
    return messages


def _write_messages(output: str, transcripts: Sequence[Transcript]) -> list[str]:
    if output == STANDARD_STREAM:
        write_json(serialised(transcripts))
        return []
    write_transcripts(output, transcripts)
    return [f"Written to {output}"]


def _write_in_folder(
    transcript: Transcript, target: str, stamp: SessionStamp, output: str | None
) -> list[str]:
    kind = folder_of(target)
    folder = kind(Path(output).absolute()) if output else kind.here(os.environ, Path.home())
    try:
        written = write_session(transcript, target, stamp, folder)
    except OSError as error:
        raise UserError(
            f"{error.filename or folder.root} cannot be written: {error.strerror}. Choose a folder with --output."
        ) from error
    moved = f"{kind.variable}={shlex.quote(str(folder.root))} " if output else ""
    change_folder = "" if stamp.project == str(Path.cwd()) else f"cd {shlex.quote(stamp.project)} && "
    return [f"Written to {written.path}", f"Resume it with: {change_folder}{moved}{written.command}"]


def _project_of(transcript: Transcript) -> str:
    """The session's project directory: that of the original, if it is on this machine."""
    recorded = transcript.project
    return recorded if recorded and Path(recorded).is_dir() else str(Path.cwd())


def _is_folder(output: str) -> bool:
    return output != STANDARD_STREAM and (output.endswith("/") or Path(output).is_dir())
