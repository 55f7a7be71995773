"""What a conversation looks like once it has been over Anthropic's wire.

    decode(*encode(x)) == normalise(x)        normalise(normalise(x)) == normalise(x)

Two conversations mean the same to Anthropic when their normal forms are equal:
  - system messages at the start are one, in the role `system`; those further down
    stand as one behind the user's words of their turn, or, where the user said
    nothing in it, are the user's words between tags;
  - results stand before what the user said, neighbouring user messages are one,
    neighbouring assistant messages are one;
  - plain text alone is a string; what is empty is gone; calls without text have
    the content None;
  - call ids are legal and unique, results carry their tool's name, arguments are
    spelt in one way; keys that the wire does not know are gone;
  - reasoning that accompanies signed thinking is gone, being the same again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from plimsoll.dialects.anthropic.conversation import as_user_text
from plimsoll.dialects.blocks.arguments import normal_arguments
from plimsoll.dialects.blocks.assistant import Entry, content_from, entries_of, legacy_call_id, message_from
from plimsoll.dialects.blocks.parts import block_from_part, part_from_block, part_with_extras, with_extras
from plimsoll.dialects.blocks.tool_ids import CallIds
from plimsoll.messages import SYSTEM_ROLES, Message, Part, arguments_text, call_name, parts_of


@dataclass(frozen=True, slots=True)
class _Spoken:
    role: str
    parts: list[Part] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    result: Message | None = None

    @property
    def is_empty(self) -> bool:
        return not self.parts and not self.entries and self.result is None


def normalise(messages: Sequence[Message]) -> list[Message]:
    """The conversation in normal form."""
    ids, names = CallIds(), dict[str, str]()
    spoken = [each for message in messages if not (each := _spoken(message, ids, names)).is_empty]
    start = next((i for i, each in enumerate(spoken) if each.role != "system"), len(spoken))
    normal = _said("system", [part for each in spoken[:start] for part in each.parts])
    for is_assistant, run in groupby(spoken[start:], key=lambda each: each.role == "assistant"):
        turn = list(run)
        if is_assistant:
            normal.append(message_from([entry for each in turn for entry in each.entries]))
        else:
            normal += _user_turn(turn)
    return normal


def _user_turn(turn: Sequence[_Spoken]) -> list[Message]:
    results = [each.result for each in turn if each.result is not None]
    notes = [part for each in turn if each.role == "system" for part in each.parts]
    if len(turn) == sum(each.role == "system" for each in turn):
        return _said("user", [as_user_text(part) for part in notes])
    said = [part for each in turn if each.role == "user" for part in each.parts]
    return results + _said("user", said) + _said("system", notes)


def _said(role: str, parts: Sequence[Part]) -> list[Message]:
    return [{"role": role, "content": content_from(parts)}] if parts else []


def _spoken(message: Message, ids: CallIds, names: dict[str, str]) -> _Spoken:
    role = message.get("role")
    if role == "assistant":
        entries = [_normal_call(entry, ids, names) for entry in entries_of(message)]
        return _Spoken("assistant", entries=entries)
    if role in ("tool", "function"):
        return _Spoken("user", result=_normal_result(message, ids, names))
    parts = _normal_parts(message)
    marker = message.get("cache_control")
    if parts and marker is not None:
        parts[-1] = {"cache_control": marker, **parts[-1]}
    if role in SYSTEM_ROLES:
        return _Spoken("system", parts=[_as_text(part) for part in parts])
    return _Spoken("user", parts=parts)


def _normal_parts(message: Message) -> list[Part]:
    blocks = [block_from_part(part) for part in parts_of(message)]
    parts = [part_from_block(block) for block in blocks if block is not None]
    return [part for part in parts if part is not None]


def _as_text(part: Part) -> Part:
    if part.get("type") == "text":
        return part
    block = block_from_part(part) or part
    return {"type": "text", "text": f"[{block['type']} part left out]"}


def _normal_call(entry: Entry, ids: CallIds, names: dict[str, str]) -> Entry:
    if entry.kind != "tool_use":
        return entry
    call_id = ids.for_call(str(entry.item.get("id") or ""))
    names[call_id] = call_name(entry.item)
    function = {"name": call_name(entry.item), "arguments": normal_arguments(arguments_text(entry.item))}
    call = {"id": call_id, "type": "function", "function": function}
    return Entry("tool_use", _kept(call, entry.item, {"type", "id", "name", "input"}))


def _normal_result(message: Message, ids: CallIds, names: dict[str, str]) -> Message:
    answered = message.get("tool_call_id")
    if answered is None and message.get("role") == "function":
        answered = legacy_call_id(message.get("name"))
    call_id = ids.for_result(str(answered or ""))
    result: Message = {"role": "tool", "tool_call_id": call_id}
    if call_id in names:
        result["name"] = names[call_id]
    parts, content = _normal_parts(message), message.get("content")
    result["content"] = content_from(parts) if parts else content if isinstance(content, str) else ""
    if message.get("is_error"):
        result["is_error"] = True
    return _kept(result, message, {"type", "tool_use_id", "content", "is_error"})


def _kept(normal: dict[str, Any], item: dict[str, Any], own: set[str]) -> dict[str, Any]:
    """The normal form with the extra fields of the original, except those that the block itself has."""
    return part_with_extras(normal, with_extras(dict.fromkeys(own), item), own)
