"""Reads a file as a request body and keeps its bytes, so that a repair changes only the messages."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plimsoll.errors import TranscriptError
from plimsoll.transcripts.formats.chat import is_anthropic
from plimsoll.transcripts.formats.registry import format_of, writable_format
from plimsoll.transcripts.formats.request_bodies import RequestBodyFormat
from plimsoll.transcripts.lines import parse
from plimsoll.transcripts.transcript import Transcript


@dataclass(frozen=True, slots=True)
class RequestBody:
    """A request body in a file."""

    dialect: str
    body: dict[str, Any]
    raw: bytes
    is_list: bool = False  # the file contains only the messages


def read_body(path: str) -> RequestBody | None:
    """The body in a file that is one JSON document in an API's format; None for any other file."""
    try:
        raw = Path(path).read_bytes()
        value = parse(raw.decode("utf-8-sig"), path, 1)
    except (OSError, UnicodeDecodeError, TranscriptError):
        return None  # the transcript reader reports what is wrong
    format = format_of(value)
    if format is None or format.is_log:
        return None
    if isinstance(value, list):
        is_message = all(isinstance(item, dict) and "role" in item for item in value)
        if not value or not is_message or any("parts" in item for item in value):
            return None
        dialect = "anthropic" if is_anthropic(value, {}) else "openai"
        return RequestBody(dialect, {"messages": value}, raw, is_list=True)
    if isinstance(format, RequestBodyFormat):
        return RequestBody(format.dialect.name, value, raw)
    messages = value.get("messages")
    if not isinstance(messages, list):
        return None
    return RequestBody("anthropic" if is_anthropic(messages, value) else "openai", value, raw)


def format_dialect(transcript: Transcript) -> str:
    """The dialect of a conversation."""
    agent = writable_format(transcript.format)
    return agent.dialect.name if agent is not None else transcript.dialect.name
