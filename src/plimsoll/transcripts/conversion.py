"""Writes a conversation as a session that an agent resumes, or as the messages of an API.

    transcript ─► for_target ─► (compaction) ─► session ─► a new file in the agent's folder, or at your path

The original never changes: the written session is new and has its own id.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from plimsoll.dialects import dialect_named
from plimsoll.dialects.openai.messages import encode_messages
from plimsoll.errors import TranscriptError
from plimsoll.messages import Message
from plimsoll.models import estimate_messages_tokens_rough
from plimsoll.transcripts.agent_folders import FOLDERS, AgentFolder
from plimsoll.transcripts.formats.format import SessionStamp, WritableFormat
from plimsoll.transcripts.formats.registry import writable_format
from plimsoll.transcripts.portable import (
    made_valid,
    split_system_prompt,
    without_files,
    without_private_fields,
)
from plimsoll.transcripts.transcript import Transcript, counted
from plimsoll.transcripts.writer import json_line, write_file

# Targets by their names on the command line, with the format that each is written in.
AGENT_TARGETS = {"claude-code": "claude-code", "codex": "codex", "gemini": "gemini-cli"}
MESSAGE_TARGETS = ("openai", "anthropic")
TARGETS = (*AGENT_TARGETS, *MESSAGE_TARGETS)


def for_target(transcript: Transcript, target: str) -> Transcript:
    """The conversation for a target, before a compaction: without what the target cannot read."""
    format = _format(target)
    transcript = _with_readable_files(transcript, target)
    if format is None:
        return replace(transcript, written_as=target)
    system, messages = split_system_prompt(transcript.messages)
    if not system or (format.keeps_system_prompt and transcript.format == format.name):
        return replace(transcript, written_as=format.dialect.name)
    tokens = estimate_messages_tokens_rough(system)
    notice = f"the system prompt (about {tokens:,} tokens) is left out: {format.program} adds its own"
    if not messages:
        raise TranscriptError(f"{transcript.place} contains only a system prompt.")
    return replace(
        transcript, messages=messages, written_as=format.dialect.name, notices=(*transcript.notices, notice)
    )


def _with_readable_files(transcript: Transcript, target: str) -> Transcript:
    """The conversation with a description in place of each file that the target cannot read."""
    format, source = _format(target), writable_format(transcript.format)
    keeps_files = format is None or format.keeps_files
    dialect = format.dialect if format else dialect_named(target)
    issuer = source.dialect if source else transcript.dialect
    if keeps_files and dialect.provider == issuer.provider:
        return transcript
    messages, left_out = without_files(transcript.messages, stored_only=keeps_files)
    if not left_out:
        return transcript
    reader = format.program if format else dialect.title
    notice = f"{counted(left_out, 'file', 'files')} left out: {reader} cannot read {_them(left_out)}"
    return replace(transcript, messages=messages, notices=(*transcript.notices, notice))


def _them(number: int) -> str:
    return "it" if number == 1 else "them"


def converted(transcript: Transcript, target: str, *, is_changed: bool) -> Transcript:
    """The conversation to write. `is_changed`: it has been compacted since it was read."""
    format = _format(target)
    name = format.name if format else target
    messages: Sequence[Message] = transcript.messages
    if is_changed or transcript.format != name:
        messages = without_private_fields(messages)
    messages = made_valid(messages)
    if format is None:
        is_wire = dialect_named(name).is_canonical
        written = encode_messages(messages, markers=False) if is_wire else messages
        return replace(transcript, messages=written, format=name, shape="list", wrapper={}, line=None)
    return replace(transcript, messages=messages)


def session_bytes(transcript: Transcript, target: str, stamp: SessionStamp) -> Iterator[bytes]:
    """The file of a session, line by line."""
    format = _format(target)
    if format is None:
        raise ValueError(f"{target!r} is not an agent")
    return map(json_line, format.lines(transcript.messages, replace(stamp, model=transcript.model or "")))


@dataclass(frozen=True, slots=True)
class WrittenSession:
    """A new session, and how to resume it."""

    path: Path
    command: str
    project: str


def write_session(
    transcript: Transcript, target: str, stamp: SessionStamp, folder: AgentFolder
) -> WrittenSession:
    """Write a session to the agent's folder."""
    folder.prepare(stamp)
    path = folder.place(stamp)
    write_file(path, session_bytes(transcript, target, stamp))
    return WrittenSession(path, folder.command(stamp.id), stamp.project)


def folder_of(target: str) -> type[AgentFolder]:
    """The folder class of an agent."""
    return next(folder for folder in FOLDERS if folder.format == AGENT_TARGETS[target])


def _format(target: str) -> WritableFormat | None:
    return writable_format(AGENT_TARGETS[target]) if target in AGENT_TARGETS else None
