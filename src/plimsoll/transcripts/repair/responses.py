"""Repairs the input items of a request to OpenAI's Responses API.

reasoning      without a following item, or encrypted by another provider: removed, with the ids that follow it
compaction     readable: a user message; encrypted by another provider: a line that says so
calls          unique call ids, legal names, a string as arguments; one output each
outputs        text or parts; without a call, or repeated: removed
messages       not empty; input parts for the user, output parts for the assistant
ids            with the prefix of their type, and unique: otherwise removed
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from plimsoll.dialects.responses.calls import is_call
from plimsoll.dialects.responses.compaction_items import (
    ENCRYPTED_PREFIX,
    TRIGGER,
    as_message,
    is_compaction,
    is_readable,
    message_of_compaction,
)
from plimsoll.dialects.responses.items import is_of_answer, items_of
from plimsoll.dialects.responses.outputs import is_output
from plimsoll.transcripts.portable import legal_name
from plimsoll.transcripts.repair.findings import MISSING_RESULT, FindingList, shown_value
from plimsoll.transcripts.repair.images import OPENAI_IMAGES, url_problem

Item = dict[str, Any]
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ROLES = ("user", "assistant", "system", "developer")
_PREFIXES = {
    "message": "msg_",
    "reasoning": "rs_",
    "function_call": "fc_",
    "custom_tool_call": "ctc_",
}
_NAMED_CALLS = ("function_call", "custom_tool_call")
_NAMED_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_OUTPUT_KINDS = {"input_text": "output_text", "text": "output_text"}
_INPUT_KINDS = {"output_text": "input_text", "text": "input_text"}


def repair_responses(
    body: dict[str, Any], found: FindingList, is_portable: bool, _model: str
) -> dict[str, Any]:
    """The body with items that the API accepts."""
    listed = body.get("input")
    if not isinstance(listed, list):
        return body
    items = _well_formed(listed, found)
    items = _without_foreign_content(items, found, is_portable)
    items = _paired(_with_call_ids(items, found), found)
    items = _with_legal_ids(items, found)
    items = _reasoning_followed(items, found)
    return {**body, "input": items}


def _well_formed(listed: Sequence[Any], found: FindingList) -> list[Item]:
    items: list[Item] = []
    for index, item in enumerate(listed):
        place = f"item {index + 1}"
        if not isinstance(item, dict) or not isinstance(item.get("type", item.get("role")), str):
            found.add(place, "it is not an item", "Removed it")
        elif item.get("type") == TRIGGER and index < len(listed) - 1:
            found.add(place, "a compaction request is not the last item", "Removed the item")
        elif item.get("type", "message") == "message":
            if (message := _message(item, place, found)) is not None:
                items.append(message)
        elif item.get("type") in (*_NAMED_CALLS, *_NAMED_OUTPUTS):
            items.append(_call_or_output(item, place, found))
        else:
            items.append(item)
    return items


def _message(item: Item, place: str, found: FindingList) -> Item | None:
    role, content = item.get("role"), item.get("content")
    if role not in _ROLES:
        found.add(place, f"the role {shown_value(role)} is unknown", "Changed it to user")
        item = {**item, "role": "user"}
    if not content or content == [{}]:
        found.add(place, "the message is empty", "Removed it")
        return None
    if not isinstance(content, list):
        return item
    kinds = _OUTPUT_KINDS if item["role"] == "assistant" else _INPUT_KINDS
    parts = [_part(part, kinds, place, found) for part in content]
    return item if parts == content else {**item, "content": parts}


def _part(part: Any, kinds: dict[str, str], place: str, found: FindingList) -> Any:
    if not isinstance(part, dict):
        return part
    kind = part.get("type")
    if kind in kinds:
        found.add(place, f"a part of the type {kind} is not accepted here", f"Changed it to {kinds[kind]}")
        return {**part, "type": kinds[kind]}
    if kind == "input_image" and isinstance(part.get("image_url"), str):
        problem = url_problem(part["image_url"], OPENAI_IMAGES)
        if problem is not None:
            found.add(place, problem[0], "Replaced it with a line of text")
            return {"type": "input_text", "text": problem[1]}
    return part


def _call_or_output(item: Item, place: str, found: FindingList) -> Item:
    if item["type"] in _NAMED_OUTPUTS:
        output = item.get("output")
        if isinstance(output, str):
            return item
        if not isinstance(output, list):
            found.add(place, "the output is neither text nor a list", "Converted it to text")
            text = "" if output is None else json.dumps(output, ensure_ascii=False)
            return {**item, "output": text}
        parts = [_part(part, {}, place, found) for part in output]
        return item if parts == output else {**item, "output": parts}
    name, arguments = item.get("name"), item.get("arguments")
    if item["type"] == "function_call" and (not isinstance(name, str) or not _NAME.fullmatch(name)):
        legal = legal_name(str(name or ""))
        found.add(place, f"the tool name {shown_value(name)} is not allowed", f"Renamed it to {legal!r}")
        item = {**item, "name": legal}
    if item["type"] == "function_call" and not isinstance(arguments, str):
        found.add(place, "the arguments of a call are not a string", "Serialised them as JSON")
        item = {**item, "arguments": json.dumps(arguments or {}, ensure_ascii=False)}
    return item


def _without_foreign_content(items: list[Item], found: FindingList, is_portable: bool) -> list[Item]:
    """The items without encrypted content of other providers; with `is_portable`, without any encrypted content."""
    kept: list[Item] = []
    lacks_reasoning = False  # whether the reasoning that the reply's item ids refer to was removed
    for index, item in enumerate(items):
        place = f"item {index + 1}"
        if is_compaction(item):
            kept += _readable_compaction(item, place, found, is_portable)
        elif item.get("type") == "reasoning" and (is_portable or _is_foreign(item)):
            found.add(place, "a reasoning item was encrypted by another provider", "Removed it")
            lacks_reasoning = True
            continue
        elif (lacks_reasoning or is_portable) and is_of_answer(item):
            kept.append({key: value for key, value in item.items() if key != "id"})
        else:
            kept.append(item)
        lacks_reasoning = lacks_reasoning and is_of_answer(item)
    return kept


def _is_foreign(item: Item) -> bool:
    """Whether the encrypted content is not OpenAI's."""
    content = item.get("encrypted_content")
    return isinstance(content, str) and not content.startswith(ENCRYPTED_PREFIX)


def _readable_compaction(item: Item, place: str, found: FindingList, is_portable: bool) -> list[Item]:
    if is_readable(item):
        found.add(
            place, "a compaction item contains plain text instead of encrypted content", "Made it a message"
        )
        return [as_message(item)]
    if not is_portable and not _is_foreign(item):
        return [item]
    found.add(place, "an encrypted compaction item is unreadable here", "Replaced it with a line of text")
    message = {**message_of_compaction(item)}
    message.pop("responses", None)
    return items_of(message)


def _with_call_ids(items: list[Item], found: FindingList) -> list[Item]:
    """Give calls without an id one. An output without an id answers the first call that has no output."""
    answered = {item.get("call_id") for item in items if item.get("type") in _NAMED_OUTPUTS}
    kept: list[Item] = []
    waiting: list[str] = []
    for index, item in enumerate(items):
        place, kind, call_id = f"item {index + 1}", item.get("type"), item.get("call_id")
        if kind in _NAMED_OUTPUTS and not (isinstance(call_id, str) and call_id):
            if not waiting:
                found.add(
                    place, "the tool output has no call id, and no call waits for it", "Removed the output"
                )
                continue
            found.add(place, "the tool output has no call id", f"Gave it the id {waiting[0]!r}")
            item = {**item, "call_id": waiting.pop(0)}
        elif kind in _NAMED_CALLS:
            if not (isinstance(call_id, str) and call_id):
                call_id = f"call_unnamed_{index + 1}"
                found.add(place, "the tool call has no id", f"Gave it the id {call_id!r}")
                item = {**item, "call_id": call_id}
            if call_id not in answered:
                waiting.append(call_id)
        kept.append(item)
    return kept


def _paired(items: list[Item], found: FindingList) -> list[Item]:
    calls = {str(item["call_id"]) for item in items if is_call(item)}
    outputs: dict[str, tuple[int, Item]] = {}  # the first output of each call, and its place
    for index, item in enumerate(items):
        if is_output(item):
            outputs.setdefault(_call_id(item), (index, item))
    kept: list[Item] = []
    waiting: list[Item] = []  # missing outputs for the calls of this reply
    called: set[str] = set()
    for index, item in enumerate(items):
        if waiting and not is_of_answer(item):
            kept, waiting = [*kept, *waiting], []
        if is_call(item):
            call_id = str(item["call_id"])
            if call_id in called:
                problem = f"the call id {call_id!r} is used twice"
                found.add(f"item {index + 1}", problem, "Removed the second call")
                continue
            called.add(call_id)
            waiting += _missing_output(item, index, outputs.get(call_id), found)
        elif is_output(item) and not _is_in_place(item, calls, called, outputs, index, found):
            continue
        kept.append(item)
    return [*kept, *waiting]


def _missing_output(
    call: Item, index: int, output: tuple[int, Item] | None, found: FindingList
) -> list[Item]:
    """The missing output of a call, as a list; empty if the output follows the call."""
    place, call_id = f"item {index + 1}", str(call["call_id"])
    if output is None:
        found.add(place, f"the tool call {call_id!r} has no output", "Added an output that says so")
        return [_stub(call)]
    if output[0] < index:
        found.add(
            place, f"the output of the tool call {call_id!r} comes before it", "Moved it after the call"
        )
        return [output[1]]
    return []


def _is_in_place(
    output: Item,
    calls: set[str],
    called: set[str],
    outputs: dict[str, tuple[int, Item]],
    index: int,
    found: FindingList,
) -> bool:
    """Whether an output stays in place: it follows its call and is the call's first output."""
    call_id = _call_id(output)
    if call_id not in calls or outputs[call_id][0] != index:
        found.add(f"item {index + 1}", f"the tool output {call_id!r} has no open call", "Removed the output")
        return False
    return call_id in called  # otherwise it is moved after its call


def _call_id(item: Item) -> str:
    return str(item.get("call_id", item.get("id")))


def _stub(call: Item) -> Item:
    kind = "custom_tool_call_output" if call["type"] == "custom_tool_call" else "function_call_output"
    return {"type": kind, "call_id": call["call_id"], "output": MISSING_RESULT}


def _with_legal_ids(items: list[Item], found: FindingList) -> list[Item]:
    kept: list[Item] = []
    seen: set[str] = set()
    for index, item in enumerate(items):
        item_id, kind = item.get("id"), str(item.get("type", "message"))
        prefix = _PREFIXES.get(kind, "")
        problem = ""
        if isinstance(item_id, str) and item_id in seen:
            problem = f"the id {shown_value(item_id)} is used twice"
        elif isinstance(item_id, str) and not item_id.startswith(prefix):
            problem = f"the id {shown_value(item_id)} does not begin with {prefix!r}"
        elif isinstance(item_id, str):
            seen.add(item_id)
        if problem and kind == "reasoning":
            found.add(f"item {index + 1}", problem, "Removed the item")
            continue
        if problem:
            found.add(f"item {index + 1}", problem, "Removed the id")
            item = {key: value for key, value in item.items() if key != "id"}
        kept.append(item)
    return kept


def _reasoning_followed(items: list[Item], found: FindingList) -> list[Item]:
    """Remove reasoning items that no other item of their reply follows."""
    kept: list[Item] = []
    for index in range(len(items) - 1, -1, -1):
        item = items[index]
        if item.get("type") == "reasoning" and not (kept and is_of_answer(kept[0])):
            problem = f"no item follows the reasoning item {shown_value(item.get('id'))}"
            found.add(f"item {index + 1}", problem, "Removed it")
            continue
        kept.insert(0, item)
    return kept
