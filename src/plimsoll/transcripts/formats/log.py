"""Shared code of the log readers: complete, validated messages in an order that providers accept."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from plimsoll.errors import TranscriptError
from plimsoll.messages import Message, Violation, is_whole, repair, validate
from plimsoll.transcripts.formats.format import Record, TranscriptFormat, one_or_lines
from plimsoll.transcripts.transcript import Transcript

# Shapes that nothing downstream can read; every other violation is repairable.
_UNREADABLE = frozenset({"not_a_message", "unknown_role", "bad_content", "bad_part", "bad_tool_calls"})


def log_records(
    records: Iterable[Record], source: str, format: TranscriptFormat
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records of an agent's log with their line numbers. Raises an error if a line is not an object."""
    for line, record in records:
        if not isinstance(record, dict):
            raise TranscriptError(
                f"{source}: line {line} is not an object; every line of {format.title} must be an object."
            )
        yield line, record


def documents(
    records: Iterable[Record], source: str, format: TranscriptFormat
) -> Iterator[tuple[int | None, dict[str, Any]]]:
    """The conversations of a file that has one, or one per line; the line is None if there is only one."""
    for line, value in one_or_lines(records):
        if not isinstance(value, dict):
            where = source if line is None else f"{source}: line {line}"
            raise TranscriptError(f"{where} is {named(value)}, not {format.title}.")
        yield line, value


def from_log(
    messages: list[Message],
    source: str,
    format: TranscriptFormat,
    session: str | None = None,
    model: str | None = None,
    notices: Iterable[str] = (),
    project: str | None = None,
    line: int | None = None,
) -> Transcript:
    """The conversation of an agent's log, repaired if the log was interrupted."""
    notices = list(notices)
    if not any(message["role"] not in ("system", "developer") for message in messages):
        raise TranscriptError(f"{source} is {format.title} without messages.")
    if not is_whole(messages):
        messages = repair(messages)
        notices.append("tool calls and results put back in order: the log was interrupted or interleaved")
    return Transcript(
        messages=checked(messages, source),
        source=source,
        format=format.name,
        line=line,
        id=session,
        model=model,
        notices=tuple(notices),
        project=project,
    )


def checked(messages: list[Any], where: str) -> list[Message]:
    """The messages, unchanged. Raises an error if one has a shape that no provider accepts."""
    for number, message in enumerate(messages, start=1):
        if isinstance(message, dict) and not isinstance(message.get("role"), str):
            raise TranscriptError(f"{where}: message {number} has no role.")
    for violation in validate(messages):
        if violation.code in _UNREADABLE:
            problem = _in_words(violation, messages[violation.index])
            raise TranscriptError(f"{where}: message {violation.index + 1} cannot be read: {problem}.")
    return messages


def tool_call(call_id: str, name: str, arguments: Any) -> dict[str, Any]:
    """A canonical tool call; arguments that are not a string are serialised as JSON."""
    if not isinstance(arguments, str):
        arguments = json.dumps({} if arguments is None else arguments, ensure_ascii=False)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def assistant(text: str, calls: list[dict[str, Any]]) -> Message:
    """An assistant message with its calls."""
    if not calls:
        return {"role": "assistant", "content": text}
    return {"role": "assistant", "content": text or None, "tool_calls": calls}


def shown(value: Any) -> str:
    """A result as text: a string unchanged, null as the empty string, anything else as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def named(value: Any) -> str:
    """The type of a JSON value, for a sentence."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _in_words(violation: Violation, message: Any) -> str:
    """Describe a violation in terms of JSON, not of Python."""
    if violation.code == "not_a_message":
        return f"expected an object, found {named(message)}"
    if violation.code == "bad_content":
        return f"content is {named(message.get('content'))}, not text or a list of parts"
    return violation.detail
