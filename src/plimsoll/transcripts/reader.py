"""Reads conversation files in every supported format.

    file ──► lines ──► first record decides the format ──► Transcript, Transcript, …

`iter_transcripts` keeps one conversation in memory at a time if a file has one per line. Reading
returns transcripts or raises a `TranscriptError`; nothing is guessed.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import IO, Any

from plimsoll.errors import TranscriptError
from plimsoll.transcripts.chat import conversation, one_message_per_line
from plimsoll.transcripts.claude_code import read_session
from plimsoll.transcripts.codex import read_rollout
from plimsoll.transcripts.detect import Kind, kind_of
from plimsoll.transcripts.lines import LineReader, parse, records
from plimsoll.transcripts.transcript import ACCEPTED, Transcript

_WHOLE_FILE = {"message": one_message_per_line, "claude-code": read_session, "codex": read_rollout}


def read_transcripts(path: str | os.PathLike[str]) -> list[Transcript]:
    """Every conversation of a file."""
    return list(iter_transcripts(path))


def iter_transcripts(path: str | os.PathLike[str]) -> Iterator[Transcript]:
    """The conversations of a file, read as they are asked for."""
    source = os.fspath(path)
    if "\0" in source:
        raise TranscriptError(f"{source!r} is not a file name.")
    with _readable(source), Path(source).open("rb") as handle:
        yield from read_stream(handle, source)


def read_stream(handle: IO[bytes], source: str) -> Iterator[Transcript]:
    """The conversations of an open binary stream; `source` is what errors call it."""
    reader = LineReader(handle, source)
    text = reader.next_line()
    if text is None:
        raise TranscriptError(f"{source} is empty. {ACCEPTED}")
    line = reader.number
    where = f"{source}: line {line}"
    try:
        first = parse(text, source, line, ACCEPTED)
    except TranscriptError:
        # Not one value per line, so one document over several lines, if anything.
        where, first = source, parse(reader.rest(text), source, line, ACCEPTED)
    del text
    kind = kind_of(first)
    if kind is None:
        raise TranscriptError(f"{where} is not a conversation or part of one. {ACCEPTED}")
    yield from _of_kind(kind, line, first, reader)


def _of_kind(kind: Kind, line: int, first: Any, reader: LineReader) -> Iterator[Transcript]:
    following = records(reader)
    if kind != "conversation":
        yield _WHOLE_FILE[kind](chain([(line, first)], following), reader.source)
        return
    second = next(following, None)
    if second is None:
        yield conversation(first, reader.source, None)
        return
    yield conversation(first, reader.source, line)
    del first
    for number, record in chain([second], following):
        yield conversation(record, reader.source, number)


@contextmanager
def _readable(source: str) -> Iterator[None]:
    """Turn what the operating system refuses into a sentence."""
    try:
        yield
    except FileNotFoundError as error:
        raise TranscriptError(f"{source} does not exist.") from error
    except IsADirectoryError as error:
        raise TranscriptError(f"{source} is a directory; pass the conversation files in it.") from error
    except PermissionError as error:
        raise TranscriptError(f"{source} cannot be read: permission denied.") from error
    except OSError as error:
        raise TranscriptError(f"{source} cannot be read: {error.strerror or error}.") from error
