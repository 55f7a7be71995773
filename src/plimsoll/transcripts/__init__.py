"""Conversation files: reads the formats of agents and APIs, and writes conversations and sessions."""

from plimsoll.transcripts.agent_folders import AGENTS, FOLDERS, newest_session
from plimsoll.transcripts.bodies import RequestBody, format_dialect, read_body
from plimsoll.transcripts.conversion import (
    AGENT_TARGETS,
    TARGETS,
    WrittenSession,
    converted,
    folder_of,
    for_target,
    session_bytes,
    write_session,
)
from plimsoll.transcripts.example import EXAMPLE, read_example
from plimsoll.transcripts.formats.format import SessionStamp
from plimsoll.transcripts.formats.registry import log_title
from plimsoll.transcripts.markdown import markdown
from plimsoll.transcripts.reader import iter_transcripts, read_stream, read_transcripts
from plimsoll.transcripts.stored_session import ExportFormat, stored_session
from plimsoll.transcripts.transcript import Shape, Transcript, counted
from plimsoll.transcripts.writer import serialised, write_file, write_stream, write_transcripts

__all__ = [
    "AGENTS",
    "AGENT_TARGETS",
    "EXAMPLE",
    "FOLDERS",
    "TARGETS",
    "ExportFormat",
    "RequestBody",
    "SessionStamp",
    "Shape",
    "Transcript",
    "WrittenSession",
    "converted",
    "counted",
    "folder_of",
    "for_target",
    "format_dialect",
    "iter_transcripts",
    "log_title",
    "markdown",
    "newest_session",
    "read_body",
    "read_example",
    "read_stream",
    "read_transcripts",
    "serialised",
    "session_bytes",
    "stored_session",
    "write_file",
    "write_session",
    "write_stream",
    "write_transcripts",
]
