"""Conversation files: reads the formats of agents and APIs, and writes them back in the same format."""

from plimsoll.transcripts.example import EXAMPLE, read_example
from plimsoll.transcripts.newest import AGENTS, newest_session
from plimsoll.transcripts.reader import iter_transcripts, read_stream, read_transcripts
from plimsoll.transcripts.transcript import LOGS, Format, Shape, Transcript, counted
from plimsoll.transcripts.writer import serialised, write_stream, write_transcripts

__all__ = [
    "AGENTS",
    "EXAMPLE",
    "LOGS",
    "Format",
    "Shape",
    "Transcript",
    "counted",
    "iter_transcripts",
    "newest_session",
    "read_example",
    "read_stream",
    "read_transcripts",
    "serialised",
    "write_stream",
    "write_transcripts",
]
