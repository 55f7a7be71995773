"""Reads conversation files in every supported format.

    file ──► lines ──► first record decides the format ──► Transcript, Transcript, …

`iter_transcripts` keeps one conversation in memory at a time if a file has one per line. Reading
returns transcripts or raises a `TranscriptError`; nothing is guessed.
"""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO

from plimsoll.errors import TranscriptError
from plimsoll.transcripts.formats.registry import format_of
from plimsoll.transcripts.lines import LineReader, parse, records
from plimsoll.transcripts.transcript import ACCEPTED, Transcript

# OpenHands writes one file per event.
_EVENT_FILES = "events/event-*.json"


def read_transcripts(path: str | os.PathLike[str]) -> list[Transcript]:
    """Every conversation of a file."""
    return list(iter_transcripts(path))


def iter_transcripts(path: str | os.PathLike[str]) -> Iterator[Transcript]:
    """The conversations of a file, read lazily."""
    source = os.fspath(path)
    if "\0" in source:
        raise TranscriptError(f"{source!r} is not a file name.")
    with _readable(source):
        if events := b"\n".join(_event_files(Path(source))):
            yield from read_stream(io.BytesIO(events), source)
            return
        with Path(source).open("rb") as handle:
            yield from read_stream(handle, source)


def read_stream(handle: IO[bytes], source: str) -> Iterator[Transcript]:
    """The conversations of an open binary stream; errors refer to it as `source`."""
    reader = LineReader(handle, source)
    text = reader.next_line()
    if text is None:
        raise TranscriptError(f"{source} is empty. {ACCEPTED}")
    line = reader.number
    where = f"{source}: line {line}"
    try:
        first = parse(text, source, line, ACCEPTED)
    except TranscriptError:
        # Not one value per line, so try one document that spans several lines.
        where, first = source, parse(reader.rest(text), source, line, ACCEPTED)
    del text
    format = format_of(first)
    if format is None:
        raise TranscriptError(f"{where} is not a conversation or part of one. {ACCEPTED}")
    yield from format.read(chain([(line, first)], records(reader)), source)


def _event_files(folder: Path) -> Iterator[bytes]:
    """The files of a folder as the lines of one."""
    for path in sorted(folder.glob(_EVENT_FILES)):
        yield b" ".join(path.read_bytes().splitlines())


@contextmanager
def _readable(source: str) -> Iterator[None]:
    """Turn an operating system error into a `TranscriptError`."""
    try:
        yield
    except FileNotFoundError as error:
        raise TranscriptError(f"{source} does not exist. Check the path.") from error
    except IsADirectoryError as error:
        raise TranscriptError(f"{source} is a directory; pass a conversation file.") from error
    except PermissionError as error:
        raise TranscriptError(f"{source} cannot be read: permission denied.") from error
    except OSError as error:
        raise TranscriptError(f"{source} cannot be read: {error.strerror or error}.") from error
