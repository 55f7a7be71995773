"""Imports conversations from files and exports them."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from plimsoll.archive import Session, title_of
from plimsoll.messages import Message
from plimsoll.terminal.sessions.html_page import html
from plimsoll.terminal.sessions.store_access import StoreAccess
from plimsoll.terminal.standard_output import STANDARD_STREAM, write_document, write_json
from plimsoll.transcripts import (
    ExportFormat,
    Transcript,
    markdown,
    read_stream,
    read_transcripts,
    serialised,
    stored_session,
    write_file,
    write_transcripts,
)

PAGE = 500  # messages per read
FORMATS: tuple[ExportFormat, ...] = ("openai", "anthropic")
DOCUMENTS = {"markdown": markdown, "html": html}


def read(paths: Iterable[str]) -> list[Transcript]:
    """Read all conversations in all files before anything is stored."""
    found: list[Transcript] = []
    for path in paths:
        found += (
            read_stream(sys.stdin.buffer, "standard input")
            if path == STANDARD_STREAM
            else read_transcripts(path)
        )
    return found


def import_transcript(access: StoreAccess, transcript: Transcript, title: str | None) -> Session:
    """Store a conversation as a new session."""
    archive, settings = access.archive, access.settings
    session = access.run(
        archive.create_session(
            title=title or title_of(transcript.messages) or Path(transcript.source).stem,
            model=settings.model.name or "",
            engine=settings.context.engine,
        )
    )
    access.run(archive.append(session.id, transcript.messages, turn="import", after=0))
    return access.run(archive.session(session.id))


def messages_of(access: StoreAccess, session: Session) -> Iterator[Message]:
    """The messages of a session, a page at a time."""
    for first in range(1, session.messages + 1, PAGE):
        page = access.run(
            access.archive_of(session).messages(session.id, first, min(first + PAGE - 1, session.messages))
        )
        yield from (stored.message for stored in page)


def export_session(session: Session, messages: Iterator[Message], format: str, output: str | None) -> None:
    """Write a conversation to a file, or to standard output."""
    if format in DOCUMENTS:
        write = DOCUMENTS[format]
        pieces = write(messages, session.title)
        if output in (None, STANDARD_STREAM):
            write_document(pieces)
        else:
            write_file(str(output), (piece.encode("utf-8", "replace") for piece in pieces))
        return
    transcript = stored_session(session, messages, next(known for known in FORMATS if known == format))
    if output in (None, STANDARD_STREAM):
        write_json(serialised([transcript]))
    else:
        write_transcripts(str(output), [transcript])
