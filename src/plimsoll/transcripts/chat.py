"""Conversations of the two chat APIs: OpenAI messages and Anthropic messages.

    […]                                   a list of messages
    {"messages": […], "id": …, …}         an object; its other keys are kept
    {"system": …, "messages": […], …}     Anthropic; becomes canonical through `plimsoll.dialects`

What the provider's shape does not allow at all is an error with the message's
number, and so is a conversation without a message. What a compaction can put
right (an orphaned result, say) is let through.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from plimsoll.dialects import decode_anthropic_conversation
from plimsoll.errors import InvalidConversation, TranscriptError
from plimsoll.messages import Message, Violation, is_whole, repair, validate
from plimsoll.transcripts.detect import is_anthropic
from plimsoll.transcripts.transcript import LOGS, Format, Transcript

# Shapes that nothing downstream can read; every other violation is repairable.
_UNREADABLE = frozenset({"not_a_message", "unknown_role", "bad_content", "bad_part", "bad_tool_calls"})
_ID_KEYS = ("id", "session_id", "sessionId", "conversation_id")


def conversation(value: Any, source: str, line: int | None) -> Transcript:
    """One conversation from a list of messages or an object that contains one."""
    where = source if line is None else f"{source}: line {line}"
    messages = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(messages, list):
        found = f"an object with the keys {_some(value)}" if isinstance(value, dict) else _name(value)
        raise TranscriptError(f"{where} is not a conversation like the lines before it: found {found}.")
    if not messages:
        raise TranscriptError(f"{where} is a conversation without messages.")
    wrapper = {**value, "messages": None} if isinstance(value, dict) else {}
    anthropic = is_anthropic(messages, wrapper)
    readable = _from_anthropic(wrapper.get("system"), messages, where) if anthropic else messages
    return Transcript(
        messages=checked(readable, where),
        source=source,
        format="anthropic" if anthropic else "openai",
        line=line,
        id=_id_of(wrapper),
        shape="object" if isinstance(value, dict) else "list",
        wrapper=wrapper,
        model=wrapper["model"] if isinstance(wrapper.get("model"), str) else None,
    )


def one_message_per_line(numbered: Iterable[tuple[int, Any]], source: str) -> Transcript:
    """One conversation from a file whose every line is a message."""
    messages: list[Any] = []
    for line, record in numbered:
        if not isinstance(record, dict) or not isinstance(record.get("role"), str):
            raise TranscriptError(
                f"{source}: line {line} is not a message: the lines before it are messages with a role, "
                f"this is {_name(record)} without one."
            )
        messages.append(record)
    anthropic = is_anthropic(messages, {})
    readable = _from_anthropic(None, messages, source) if anthropic else messages
    return Transcript(
        messages=checked(readable, source),
        source=source,
        format="anthropic" if anthropic else "openai",
        shape="lines",
    )


def checked(messages: list[Any], where: str) -> list[Message]:
    """The messages as they are; an error where one is of a shape that no provider has."""
    for number, message in enumerate(messages, start=1):
        if isinstance(message, dict) and not isinstance(message.get("role"), str):
            raise TranscriptError(f"{where}: message {number} has no role.")
    for violation in validate(messages):
        if violation.code in _UNREADABLE:
            problem = _in_words(violation, messages[violation.index])
            raise TranscriptError(f"{where}: message {violation.index + 1} cannot be read: {problem}.")
    return messages


def log_records(
    numbered: Iterable[tuple[int, Any]], source: str, format: Format
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records of an agent's log with their line numbers; an error where a line is no object."""
    for line, record in numbered:
        if not isinstance(record, dict):
            raise TranscriptError(
                f"{source}: line {line} is not an object; every line of {LOGS[format]} must be an object."
            )
        yield line, record


def from_log(
    messages: list[Message],
    source: str,
    format: Format,
    session: str | None,
    model: str | None,
    notices: list[str],
) -> Transcript:
    """The conversation of an agent's log, put in order where the log was interrupted."""
    if not is_whole(messages):
        messages = repair(messages)
        notices = [
            *notices,
            "tool calls and results put back in order: the log was interrupted or interleaved",
        ]
    return Transcript(
        messages=checked(messages, source),
        source=source,
        format=format,
        id=session,
        model=model,
        notices=tuple(notices),
    )


def _in_words(violation: Violation, message: Any) -> str:
    """What is wrong with a message, in the words of JSON and not of the language that reads it."""
    if violation.code == "not_a_message":
        return f"expected an object, found {_name(message)}"
    if violation.code == "bad_content":
        return f"content is {_name(message.get('content'))}, not text or a list of parts"
    return violation.detail


def _from_anthropic(system: Any, messages: list[Any], where: str) -> list[Message]:
    for number, message in enumerate(messages, start=1):
        problem = anthropic_problem(message)
        if problem:
            raise TranscriptError(f"{where}: message {number} cannot be read: {problem}.")
    if system is not None and not isinstance(system, str) and not _are_blocks(system):
        raise TranscriptError(f"{where}: `system` is {_name(system)}, not text or blocks.")
    try:
        return decode_anthropic_conversation(system, messages)
    except InvalidConversation as error:
        raise TranscriptError(f"{where}: {error}.") from error


def anthropic_problem(message: Any) -> str | None:
    """What keeps a message from being one of Anthropic's, in words; None where nothing does."""
    if not isinstance(message, dict):
        return f"expected an object, found {_name(message)}"
    if message.get("role") not in ("user", "assistant", "system"):
        role = json.dumps(message.get("role"), ensure_ascii=False)[:60]
        return f"role {role} is not one of user, assistant, system"
    content = message.get("content")
    if not isinstance(content, str) and not _are_blocks(content):
        return f"content is {_name(content)}, not text or a list of blocks"
    return None


def _are_blocks(content: Any) -> bool:
    return isinstance(content, list) and all(
        isinstance(block, dict) and isinstance(block.get("type"), str) for block in content
    )


def _id_of(wrapper: dict[str, Any]) -> str | None:
    for key in _ID_KEYS:
        if isinstance(wrapper.get(key), str | int) and not isinstance(wrapper[key], bool):
            return str(wrapper[key])
    return None


def _name(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _some(value: dict[str, Any]) -> str:
    keys = [repr(str(key)[:40]) for key in list(value)[:6]]
    return ", ".join(keys) + (", …" if len(value) > 6 else "") if keys else "none"
