"""Conversation files: read whatever agent or API wrote them, write them back in the same outer shape."""

from plimsoll.transcripts.reader import iter_transcripts, read_stream, read_transcripts
from plimsoll.transcripts.transcript import Format, Shape, Transcript
from plimsoll.transcripts.writer import serialised, write_stream, write_transcripts

__all__ = [
    "Format",
    "Shape",
    "Transcript",
    "iter_transcripts",
    "read_stream",
    "read_transcripts",
    "serialised",
    "write_stream",
    "write_transcripts",
]
