"""All supported formats. The first one that recognises a file's first record reads the file.

To add a format, write a file with a `TranscriptFormat` and add it to `FORMATS`.
"""

from typing import Any

from plimsoll.transcripts.formats.atif import AtifFormat
from plimsoll.transcripts.formats.chat import ConversationFormat, MessageLinesFormat
from plimsoll.transcripts.formats.claude_code import ClaudeCodeFormat
from plimsoll.transcripts.formats.codex import CodexFormat
from plimsoll.transcripts.formats.copilot import CopilotFormat
from plimsoll.transcripts.formats.format import TranscriptFormat, WritableFormat
from plimsoll.transcripts.formats.gemini_cli import GeminiCliFormat
from plimsoll.transcripts.formats.opencode import OpenCodeFormat
from plimsoll.transcripts.formats.openhands import OpenHandsFormat
from plimsoll.transcripts.formats.request_bodies import GeminiBodyFormat, ResponsesBodyFormat
from plimsoll.transcripts.formats.sharegpt import ShareGptFormat

# Formats with unique markers come first, because many files also have a list called `messages`.
FORMATS: tuple[TranscriptFormat, ...] = (
    AtifFormat(),
    ShareGptFormat(),
    OpenCodeFormat(),
    GeminiCliFormat(),
    OpenHandsFormat(),
    CopilotFormat(),
    ResponsesBodyFormat(),
    GeminiBodyFormat(),
    ConversationFormat(),
    CodexFormat(),
    MessageLinesFormat(),
    ClaudeCodeFormat(),
)
_BY_NAME = {known.name: known for known in FORMATS}


def format_of(record: Any) -> TranscriptFormat | None:
    """The format of a file with this first record; None if Plimsoll does not support it."""
    return next((known for known in FORMATS if known.recognises(record)), None)


def log_title(name: str) -> str | None:
    """The title of a log format; None for API formats."""
    found = _BY_NAME.get(name)
    return found.title if found is not None and found.is_log else None


def writable_format(name: str) -> WritableFormat | None:
    """The format with this name, if Plimsoll can write it."""
    found = _BY_NAME.get(name)
    return found if isinstance(found, WritableFormat) else None
