"""Finds the conversation in one row of a dataset.

    {"instance_id": "a7", "trajectory": [messages], "resolved": true}
      ──► Transcript(messages, wrapper={"instance_id": "a7", "messages": None, "resolved": true})

The row itself may have one of the formats of `plimsoll.transcripts` (ATIF, a request). Otherwise one of its columns
has the conversation, as values or as JSON text: messages, ShareGPT turns, OpenHands events, ATIF steps, or lines of
an agent's log. The other columns are kept. Every failure is a `TranscriptError`.
"""

import io
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from plimsoll.errors import TranscriptError
from plimsoll.transcripts import Transcript, read_stream
from plimsoll.transcripts.formats.registry import format_of

# The first of these columns that a row has contains its conversation.
COLUMNS = (
    "messages",
    "trajectory",
    "conversations",
    "conversation",
    "events",
    "history",
    "session",
    "transcript",
    "steps",
)
_IDS = ("id", "instance_id", "session_id", "trajectory_id", "conversation_id", "traj_id", "sessionId", "uuid")
# For formats with an object around the conversation: what becomes part of the messages.
_CONSUMED = frozenset({"steps", "conversations", "system"})
_ROLES = {"ai": "assistant", "human": "user"}  # the names in SWE-agent's published trajectories


def line_kind(value: object) -> bool | None:
    """Whether a line is a whole conversation; False if it is an event of a longer log, None if it is neither."""
    if isinstance(value, dict) and _column(value) is not None:
        return True
    format = format_of(value)
    return None if format is None else format.one_per_record


def conversation_in(value: Any, source: str, row: int | None) -> Transcript:
    """The conversation of a row, with the row's other columns as its wrapper."""
    where = source if row is None else f"{source}: row {row}"
    if isinstance(value, dict):
        return replace(_of_object(value, where), source=source, line=row)
    return replace(_only(_of_list(value, where), where), source=source, line=row)


def _of_object(value: dict[str, Any], where: str) -> Transcript:
    column = _column(value)
    if column is None:
        return _with_columns(_only(_of_record(value, where), where), value)
    inner = value[column]
    if column == "messages" and isinstance(inner, list):
        record = {**value, column: [_message(message) for message in inner]}
        found = _only(_of_record(record, where), where)
        return found if found.wrapper else _with_columns(found, value)
    found = _of_column(inner, where, value.get("system"))
    return replace(
        found,
        shape="object",
        wrapper={**found.wrapper, **_around(value, column)},
        id=_id(value) or found.id,
        model=found.model or _text(value.get("model")),
    )


def _of_column(inner: Any, where: str, system: Any) -> Transcript:
    if isinstance(inner, str):
        return _only(_of_text(inner, where), where)
    if isinstance(inner, dict):
        return _of_object(inner, where)
    return _only(_of_list(inner, where, system), where)


def _around(value: Mapping[str, Any], column: str) -> dict[str, Any]:
    """The other columns, with `messages` at the position of the conversation."""
    consumed = {"system"} if column == "conversations" else set()
    kept: dict[str, Any] = {}
    for key, message in value.items():
        if key == column:
            kept["messages"] = None
        elif key != "messages" and key not in consumed:
            kept[key] = message
    return kept


def _column(value: Mapping[str, Any]) -> str | None:
    """The column with the conversation; None if the row as a whole has a known format."""
    if isinstance(value.get("steps"), list) and "schema_version" in value:
        return None  # ATIF
    if isinstance(value.get("messages"), list) and ("info" in value or "projectHash" in value):
        return None  # OpenCode, Gemini CLI
    return next((name for name in COLUMNS if _may_contain_conversation(value.get(name))), None)


def _may_contain_conversation(inner: Any) -> bool:
    if isinstance(inner, str):
        return inner.lstrip()[:1] in ("[", "{")
    return isinstance(inner, list | dict) and bool(inner)


def _of_text(text: str, where: str) -> list[Transcript]:
    return list(read_stream(io.BytesIO(text.encode("utf-8", "surrogatepass")), where))


def _of_list(value: Any, where: str, system: Any = None) -> list[Transcript]:
    """A list in a column: turns, steps, events or messages, depending on its first element."""
    first = value[0] if isinstance(value, list) and value else None
    if not isinstance(first, dict):
        return _of_record(value, where)
    if "from" in first and "value" in first:
        return _of_record({"conversations": value, "system": system}, where)
    if "step_id" in first:
        return _of_record({"schema_version": "ATIF-v1", "steps": value}, where)
    format = format_of(first)
    if "role" not in first and format is not None and not format.one_per_record:
        return list(format.read(enumerate(value, start=1), where))
    return _of_record([_message(message) for message in value], where)


def _of_record(value: Any, where: str) -> list[Transcript]:
    format = format_of(value)
    if format is None:
        raise TranscriptError(f"{where} contains no conversation: {_found(value)}.")
    return list(format.read([(1, value)], where))


def _found(value: Any) -> str:
    if isinstance(value, dict):
        keys = ", ".join(repr(str(key)[:40]) for key in list(value)[:8])
        return f"its columns are {keys or 'none'}, and none of {', '.join(COLUMNS)} contains one"
    return "it is not an object or a list of messages"


def _only(found: list[Transcript], where: str) -> Transcript:
    if len(found) != 1:
        raise TranscriptError(
            f"{where} has {len(found)} conversations in one row; put each into its own row."
        )
    return found[0]


def _with_columns(found: Transcript, value: Mapping[str, Any]) -> Transcript:
    """The conversation with the row's other columns, if its format does not keep them."""
    if found.wrapper:
        return found
    kept = {key: message for key, message in value.items() if key not in _CONSUMED and key != "messages"}
    return replace(found, shape="object", wrapper={**kept, "messages": None}, id=found.id or _id(value))


def _message(message: Any) -> Any:
    """A message with the usual names for role and content."""
    if not isinstance(message, dict):
        return message
    role, named = message.get("role"), {}
    if isinstance(role, str) and role in _ROLES:
        named["role"] = _ROLES[role]
    if message.get("content") is None and isinstance(message.get("text"), str):
        named["content"] = message["text"]
        message = {key: value for key, value in message.items() if key != "text"}
    return {**message, **named} if named else message


def _id(value: Mapping[str, Any]) -> str | None:
    for key in _IDS:
        if isinstance(value.get(key), str | int) and not isinstance(value[key], bool):
            return str(value[key])
    return None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
