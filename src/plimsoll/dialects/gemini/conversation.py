"""A whole conversation ⇄ Google's `systemInstruction` and `contents`.

    canonical                               Google
    system, developer (at the start)    ⇄   systemInstruction: one part for each text
    user                                ⇄   user: parts
    assistant (+ tool_calls)            ⇄   model: thoughts, texts, functionCalls
    tool · tool                         ⇄   user: functionResponse, functionResponse
    system, developer (later)           →   user: text between tags, in its place

Calls may have no ids. Then a call is identified by its position, and a response answers the first open call of its
name in the preceding model content. Generated ids are not sent. Responses to the calls of one message are in one
content, as Google requires. A content with calls must follow a user content and precede the responses, so an
assistant message with calls shares one content with adjacent assistant messages.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from plimsoll.dialects.blocks.arguments import arguments_from, input_of
from plimsoll.dialects.blocks.assistant import Entry, content_from, entries_of, message_from
from plimsoll.dialects.gemini.parts import part_from_wire, part_to_wire
from plimsoll.dialects.gemini.rules import EXACT, GeminiRules
from plimsoll.dialects.gemini.signatures import SKIP, signature_of, signed
from plimsoll.dialects.gemini.spelling import camel_cased, field
from plimsoll.errors import InvalidConversation
from plimsoll.messages import (
    SYSTEM_ROLES,
    Message,
    Part,
    arguments_text,
    call_name,
    parts_of,
    text_of,
    tool_calls,
)
from plimsoll.messages.untyped import object_of, string_of

WirePart = dict[str, Any]
_MADE_UP = re.compile(r"unnamed-\d+-\d+")
_CALL_FIELDS = frozenset({"functionCall", "thoughtSignature", "thought"})
_MEDIA = frozenset({"inlineData", "fileData"})
_RESULT_ROLES = frozenset({"tool", "function"})


def encode_contents(
    messages: Sequence[Message], rules: GeminiRules = EXACT, *, rewritten: bool = False
) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """The `systemInstruction` (None if there is none) and the `contents` of a request.

    `rewritten`: the messages come from a compaction, so the signatures of their calls are invalid.
    """
    start = next((n for n, m in enumerate(messages) if m.get("role") not in SYSTEM_ROLES), len(messages))
    texts = [wire for m in messages[:start] for wire in _wire_parts(parts_of(m)) if "text" in wire]
    contents: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    before: Message = {}  # the message of the last content
    for message in messages[start:]:
        names |= {str(call.get("id")): call_name(call) for call in tool_calls(message)}
        is_result = message.get("role") in _RESULT_ROLES
        parts = (
            _response_parts(message, names, rules) if is_result else _message_parts(message, rules, rewritten)
        )
        if not parts:
            continue
        if _shares_content(before, message):
            contents[-1]["parts"] += parts
        else:
            contents.append({"role": _wire_role(message), "parts": parts})
        before = message
    return ({"parts": texts} if texts else None), contents


def _shares_content(before: Message, message: Message) -> bool:
    """Whether Google requires a message in the same content as the previous one."""
    roles = {before.get("role"), message.get("role")}
    if roles == {"assistant"}:
        return bool(tool_calls(before) or tool_calls(message))
    return roles <= _RESULT_ROLES


def _wire_role(message: Message) -> str:
    return "model" if message.get("role") == "assistant" else "user"


def _message_parts(message: Message, rules: GeminiRules, rewritten: bool) -> list[WirePart]:
    """The parts of a message that is not a tool result."""
    role = message.get("role")
    if role == "assistant":
        return list(_model_parts(entries_of(message), rules, rewritten))
    if role in SYSTEM_ROLES:
        return [{"text": f"<system-message>\n{text_of(message)}\n</system-message>"}]
    if role != "user":
        raise InvalidConversation(
            f"role {role!r} is none of system, developer, user, assistant, tool, function"
        )
    return list(_wire_parts(parts_of(message)))


def decode_contents(system: Any, contents: Sequence[Any]) -> list[Message]:
    """The canonical conversation of a request's `systemInstruction` and `contents`."""
    lead = system_message(system)
    messages = [message for index in range(len(contents)) for message in messages_at(contents, index)]
    return [lead, *messages] if lead else messages


def system_message(system: Any) -> Message | None:
    """The canonical system message; None if there is none."""
    parts = [part for wire in _listed(system) if (part := part_from_wire(wire))]
    return {"role": "system", "content": content_from(parts)} if parts else None


def messages_at(contents: Sequence[Any], index: int) -> list[Message]:
    """The canonical messages in one content."""
    content = contents[index]
    if is_model(content):
        entries = list(_model_entries(content, index))
        return [message_from(entries)] if entries else []
    responses = [_response(part) for part in _listed(content) if _is_response(part)]
    parts = [part for wire in _listed(content) if not _is_response(wire) and (part := part_from_wire(wire))]
    ids = _answered_ids(contents, index, responses)
    messages = [_tool_message(response, ids[number]) for number, response in enumerate(responses)]
    return [*messages, {"role": "user", "content": content_from(parts)}] if parts else messages


def is_model(content: Any) -> bool:
    """Whether a content is the model's."""
    return isinstance(content, dict) and content.get("role") == "model"


def call_from_wire(wire: WirePart, made_up: str) -> dict[str, Any]:
    """The canonical call of a part; `made_up` is its id if the part has none."""
    call = wire["functionCall"]
    function = {"name": str(call.get("name") or ""), "arguments": arguments_from(call.get("args"))}
    found = {"id": str(call.get("id") or made_up), "type": "function", "function": function}
    rest = {name: value for name, value in wire.items() if name not in _CALL_FIELDS and value is not None}
    return {**found, **signed(wire.get("thoughtSignature")), **({"gemini": rest} if rest else {})}


def _model_entries(content: dict[str, Any], index: int) -> Iterator[Entry]:
    calls = 0
    for wire in map(camel_cased, _listed(content)):
        if isinstance(wire, dict) and isinstance(wire.get("functionCall"), dict):
            yield Entry("tool_use", call_from_wire(wire, f"unnamed-{index}-{calls}"))
            calls += 1
        elif isinstance(wire, dict) and wire.get("thought") is True and isinstance(wire.get("text"), str):
            if wire["text"]:
                seal = str(wire.get("thoughtSignature") or "")
                yield Entry("thinking", {"type": "thinking", "thinking": wire["text"], "signature": seal})
        elif part := part_from_wire(wire):
            yield Entry("content", part)


def _model_parts(entries: Sequence[Entry], rules: GeminiRules, rewritten: bool) -> Iterator[WirePart]:
    needs_seal = rules.signed_calls
    for entry in entries:
        item = entry.item
        if entry.kind == "tool_use":
            extras = item.get("gemini")
            seal = "" if rewritten else signature_of(item)
            seal = seal or (SKIP if needs_seal else "")
            needs_seal = False
            yield {
                "functionCall": _call(item),
                **({"thoughtSignature": seal} if seal else {}),
                **object_of(extras),
            }
        elif entry.kind == "thinking":
            text, seal = item.get("thinking"), str(item.get("signature") or "")
            if rules.thoughts and isinstance(text, str) and text:
                yield {"text": text, "thought": True, **({"thoughtSignature": seal} if seal else {})}
        elif (wire := part_to_wire(item)) is not None:
            yield wire


def _call(call: dict[str, Any]) -> dict[str, Any]:
    call_id = str(call.get("id") or "")
    named = {} if not call_id or _MADE_UP.fullmatch(call_id) else {"id": call_id}
    return {**named, "name": call_name(call), "args": input_of(arguments_text(call))}


def _response_parts(message: Message, names: dict[str, str], rules: GeminiRules) -> list[WirePart]:
    call_id = str(message.get("tool_call_id") or "")
    wire = list(_wire_parts(parts_of(message)))
    media = [part for part in wire if not _MEDIA.isdisjoint(part)]
    text = string_of(message.get("content")).join(part.get("text", "") for part in wire)
    response: dict[str, Any] = {} if not call_id or _MADE_UP.fullmatch(call_id) else {"id": call_id}
    response["name"] = str(message.get("name") or names.get(call_id) or "tool")
    response["response"] = {"error" if message.get("is_error") else "output": text}
    if media and rules.response_parts:
        response["parts"] = media
        media = []
    return [{"functionResponse": response}, *media]


def _tool_message(response: dict[str, Any], call_id: str) -> Message:
    message: Message = {"role": "tool", "tool_call_id": call_id, "name": str(response.get("name") or "")}
    value, is_error = _result(response.get("response"))
    media = [part for wire in _listed(response) if (part := part_from_wire(wire))]
    text: list[Part] = [{"type": "text", "text": value}] if value else []
    message["content"] = content_from([*text, *media]) if media else value
    return {**message, "is_error": True} if is_error else message


def _result(response: Any) -> tuple[str, bool]:
    """The text of a response, and whether the call failed."""
    if isinstance(response, dict) and len(response) == 1:
        ((name, value),) = response.items()
        if name in ("output", "result", "error") and isinstance(value, str):
            return value, name == "error"
    text = (
        response if isinstance(response, str) else json.dumps(response or {}, ensure_ascii=False, default=str)
    )
    return text, isinstance(response, dict) and response.keys() == {"error"}


def _answered_ids(contents: Sequence[Any], index: int, responses: Sequence[dict[str, Any]]) -> list[str]:
    """The ids of the calls that the responses in a content answer."""
    if not responses:
        return []
    first = index
    while first and not is_model(contents[first - 1]):
        first -= 1
    calls: list[dict[str, Any]] = []
    while first and is_model(contents[first - 1]):  # some clients split one reply into several contents
        first -= 1
        calls = [e.item for e in _model_entries(contents[first], first) if e.kind == "tool_use"] + calls
    earlier = [
        _response(part) for content in contents[first:index] if not is_model(content)
        for part in _listed(content) if _is_response(part)
    ]  # fmt: skip
    ids = [
        _taken(calls, item, f"unnamed-{index}-{number}") for number, item in enumerate([*earlier, *responses])
    ]
    return ids[len(earlier) :]


def _taken(calls: list[dict[str, Any]], response: dict[str, Any], otherwise: str) -> str:
    """The id of the call that a response answers; removes the call from the open ones."""
    own, name = str(response.get("id") or ""), response.get("name")
    found = next((call for call in calls if own and call["id"] == own), None)
    found = found or next((call for call in calls if call_name(call) == name), None)
    if found is None:
        return own or otherwise
    calls.remove(found)
    return str(found["id"])


def _is_response(part: Any) -> bool:
    return isinstance(field(part, "functionResponse"), dict)


def _response(part: Any) -> dict[str, Any]:
    response: dict[str, Any] = camel_cased(field(part, "functionResponse"))
    return response


def _wire_parts(parts: Sequence[Part]) -> Iterator[WirePart]:
    for part in parts:
        if (wire := part_to_wire(part)) is not None:
            yield wire


def _listed(content: Any) -> list[Any]:
    """The parts of a content."""
    if isinstance(content, str):
        return [{"text": content}] if content else []
    parts = object_of(content).get("parts")
    return parts if isinstance(parts, list) else [parts] if isinstance(parts, dict) else []
