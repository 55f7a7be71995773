"""Writes data to standard output: exact bytes into a pipe or a file, nothing that a terminal acts on.

JSON        pipe: as it is        terminal: control characters as JSON escapes, the same value
exact text  pipe: byte by byte    terminal: without control sequences, ends with a line end
"""

import sys
from collections.abc import Iterable

from plimsoll.messages.printable import json_safe, plain

STANDARD_STREAM = "-"  # names standard input or standard output on a command line
PIPED_WIDTH = 160  # columns of a table in a pipe or a file, which have no width of their own


def write_json(pieces: Iterable[bytes]) -> None:
    """Write JSON, piece by piece."""
    stream = sys.stdout.buffer
    is_terminal = stream.isatty()
    for piece in pieces:
        stream.write(json_safe(piece.decode("utf-8", "replace")).encode() if is_terminal else piece)
    stream.flush()


def write_exact(text: str) -> None:
    """Write text as it was stored; half a surrogate pair as its bytes, and no line end is added."""
    stream = sys.stdout.buffer
    if stream.isatty():
        shown = plain(text)
        stream.write(shown.encode() + (b"" if not shown or shown.endswith("\n") else b"\n"))
    else:
        stream.write(text.encode("utf-8", "surrogatepass"))
    stream.flush()


def write_document(pieces: Iterable[str]) -> None:
    """Write a document that is plain text already, piece by piece."""
    stream = sys.stdout.buffer
    stream.writelines(piece.encode("utf-8", "replace") for piece in pieces)
    stream.flush()
