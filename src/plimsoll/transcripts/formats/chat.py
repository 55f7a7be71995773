"""Conversations of the two chat APIs: OpenAI messages and Anthropic messages.

    […]                                   a list of messages
    {"messages": […], "id": …, …}         an object; its other keys are kept
    {"system": …, "messages": […], …}     Anthropic; becomes canonical through `plimsoll.dialects`

A message that the provider's format does not allow is an error that states its
number, and so is an empty conversation. Problems that a compaction repairs, such
as an orphaned result, are accepted.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from plimsoll.dialects import decode_anthropic_conversation
from plimsoll.errors import InvalidConversation, TranscriptError
from plimsoll.messages import Message
from plimsoll.messages.untyped import objects_in
from plimsoll.transcripts.formats.format import Record, TranscriptFormat, one_or_lines
from plimsoll.transcripts.formats.log import checked, named
from plimsoll.transcripts.transcript import Transcript

_ANTHROPIC_BLOCKS = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "document"}
)
# Roles and keys that Anthropic's messages never have; one of them is enough to rule Anthropic out.
_OPENAI_ROLES = frozenset({"tool", "function"})
_OPENAI_KEYS = ("tool_calls", "tool_call_id", "function_call")
_ID_KEYS = ("id", "session_id", "sessionId", "conversation_id")


class ConversationFormat(TranscriptFormat):
    """Whole conversations: one in the file, one on each line, or a list of them."""

    name = "openai"
    title = "OpenAI or Anthropic messages"
    one_per_record = True
    is_log = False

    def recognises(self, record: Any) -> bool:
        return isinstance(record, list) or (
            isinstance(record, dict) and isinstance(record.get("messages"), list)
        )

    def read(self, records: Iterable[Record], source: str) -> Iterator[Transcript]:
        for line, value in one_or_lines(records):
            if line is None and _is_list_of_conversations(value):
                # One per line, as they are written; the line number identifies the conversation.
                yield from (conversation(item, source, number) for number, item in enumerate(value, start=1))
            else:
                yield conversation(value, source, line)


class MessageLinesFormat(TranscriptFormat):
    """One conversation, with a message on each line."""

    name = "openai-lines"
    title = "messages, one on each line"
    is_log = False

    def recognises(self, record: Any) -> bool:
        return isinstance(record, dict) and "role" in record

    def read(self, records: Iterable[Record], source: str) -> Iterator[Transcript]:
        yield one_message_per_line(records, source)


def _is_list_of_conversations(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, dict) and isinstance(item.get("messages"), list) for item in value)
    )


def is_anthropic(messages: Sequence[Any], wrapper: dict[str, Any]) -> bool:
    """Whether a conversation is Anthropic's, by its content blocks or a top-level `system`."""
    readable = [message for message in messages if isinstance(message, dict)]
    if any(str(m.get("role")) in _OPENAI_ROLES or any(m.get(key) for key in _OPENAI_KEYS) for m in readable):
        return False
    if any(_is_anthropic_block(block) for message in readable for block in blocks_of(message)):
        return True
    inline = any(str(message.get("role")) in ("system", "developer") for message in readable)
    return wrapper.get("system") is not None and not inline


def _is_anthropic_block(block: dict[str, Any]) -> bool:
    return str(block.get("type")) in _ANTHROPIC_BLOCKS or (block.get("type") == "image" and "source" in block)


def blocks_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects in a message's content."""
    return objects_in(message.get("content"))


def conversation(value: Any, source: str, line: int | None) -> Transcript:
    """One conversation from a list of messages or an object that contains one."""
    where = source if line is None else f"{source}: line {line}"
    messages = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(messages, list):
        found = f"an object with the keys {_some(value)}" if isinstance(value, dict) else named(value)
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
    """One conversation from a file with one message per line."""
    messages: list[Any] = []
    for line, record in numbered:
        if not isinstance(record, dict) or not isinstance(record.get("role"), str):
            raise TranscriptError(
                f"{source}: line {line} is not a message: the lines before it are messages with a role, "
                f"this is {named(record)} without one."
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


def _from_anthropic(system: Any, messages: list[Any], where: str) -> list[Message]:
    for number, message in enumerate(messages, start=1):
        problem = anthropic_problem(message)
        if problem:
            raise TranscriptError(f"{where}: message {number} cannot be read: {problem}.")
    if system is not None and not isinstance(system, str) and not _are_blocks(system):
        raise TranscriptError(f"{where}: `system` is {named(system)}, not text or blocks.")
    try:
        return decode_anthropic_conversation(system, messages)
    except InvalidConversation as error:
        raise TranscriptError(f"{where}: {error}.") from error


def anthropic_problem(message: Any) -> str | None:
    """Why a message is not a valid Anthropic message; None if it is valid."""
    if not isinstance(message, dict):
        return f"expected an object, found {named(message)}"
    if message.get("role") not in ("user", "assistant", "system"):
        role = json.dumps(message.get("role"), ensure_ascii=False)[:60]
        return f"role {role} is not one of user, assistant, system"
    content = message.get("content")
    if not isinstance(content, str) and not _are_blocks(content):
        return f"content is {named(content)}, not text or a list of blocks"
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


def _some(value: dict[str, Any]) -> str:
    keys = [repr(str(key)[:40]) for key in list(value)[:6]]
    return ", ".join(keys) + (", …" if len(value) > 6 else "") if keys else "none"
