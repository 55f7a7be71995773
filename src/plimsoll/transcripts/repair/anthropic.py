"""Repairs the messages of a request to Anthropic.

roles          user and assistant; a system message moves to `system`, or stays in place between tags
empty          messages and text blocks that contain only white space are removed
calls          legal, unique ids and names; an object as input
results        at the beginning of the next user message, one per call; a missing one becomes a stub
thinking       without a signature, or at the end of a message: removed
images         too large, or of an unsupported type: replaced with a line of text
"""

import re
from collections.abc import Iterator
from typing import Any

from plimsoll.dialects.blocks.arguments import input_of
from plimsoll.dialects.blocks.assistant import THINKING_TYPES
from plimsoll.dialects.blocks.tool_ids import CallIds, legal_id
from plimsoll.messages.untyped import list_of, objects_in, string_of
from plimsoll.transcripts.portable import legal_name
from plimsoll.transcripts.repair.findings import MISSING_RESULT, OPENING, FindingList, shown_value
from plimsoll.transcripts.repair.images import ANTHROPIC_IMAGES, image_problem
from plimsoll.transcripts.repair.shapes import sound_messages

Block = dict[str, Any]
WireMessage = dict[str, Any]
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


def repair_anthropic(
    body: dict[str, Any], found: FindingList, is_portable: bool, _model: str
) -> dict[str, Any]:
    """The body with messages that Anthropic accepts."""
    messages = sound_messages(body.get("messages"), found, roles=("user", "assistant", "system"))
    body, messages = _without_system_roles(body, messages, found)
    body = _with_system(body, found)
    ids = CallIds()
    repaired: list[WireMessage] = []
    for index, message in enumerate(messages):
        place = f"message {index + 1}"
        content: Any = message.get("content") or ""
        if isinstance(content, str):
            if content.strip():
                repaired.append(message)
            else:
                found.add(place, f"the {message['role']} message is empty", "Removed it")
            continue
        blocks = [b for block in content for b in _block(block, place, message["role"], ids, found)]
        if is_portable:
            blocks = _without_thinking(blocks, place, found)
        while blocks and message["role"] == "assistant" and blocks[-1].get("type") in THINKING_TYPES:
            found.add(place, "the last block is thinking", "Removed the block")
            blocks = blocks[:-1]
        if blocks:
            repaired.append({**message, "content": blocks} if blocks != content else message)
        else:
            found.add(place, f"the {message['role']} message has no content", "Removed it")
    repaired = _paired(repaired, found)
    if repaired and repaired[0]["role"] == "assistant":
        found.add("message 1", "the conversation begins with the assistant", "Added a user message before it")
        repaired = [{"role": "user", "content": OPENING}, *repaired]
    repaired = _without_trailing_space(repaired, found)
    return {**body, "messages": repaired}


def _without_system_roles(
    body: dict[str, Any], messages: list[WireMessage], found: FindingList
) -> tuple[dict[str, Any], list[WireMessage]]:
    kept: list[WireMessage] = []
    for index, message in enumerate(messages):
        if message["role"] != "system":
            kept.append(message)
            continue
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        texts = [
            block for block in blocks if isinstance(block, dict) and str(block.get("text") or "").strip()
        ]
        if kept:
            repair = "Changed it to a user message between tags"
            tagged = [{**b, "text": f"<system-message>\n{b['text']}\n</system-message>"} for b in texts]
            kept += [{"role": "user", "content": tagged}] if tagged else []
        else:
            repair = "Moved it to `system`"
            body = {**body, "system": [*_system_blocks(body.get("system")), *texts]}
        found.add(f"message {index + 1}", "the role system is not accepted among the messages", repair)
    return body, kept


def _system_blocks(system: Any) -> list[Block]:
    if isinstance(system, str):
        return [{"type": "text", "text": system}] if system.strip() else []
    return objects_in(system)


def _with_system(body: dict[str, Any], found: FindingList) -> dict[str, Any]:
    system = body.get("system")
    if not isinstance(system, list):
        return body
    kept = [block for block in system if isinstance(block, dict) and str(block.get("text") or "").strip()]
    if len(kept) == len(system):
        return body
    found.add("system", "a text block is empty", "Removed the block")
    rest = {key: value for key, value in body.items() if key != "system"}
    return {**rest, "system": kept} if kept else rest


def _block(block: Any, place: str, role: str, ids: CallIds, found: FindingList) -> Iterator[Block]:
    kind = block.get("type")
    if kind == "text":
        if str(block.get("text") or "").strip():
            yield block
        else:
            found.add(place, "a text block is empty", "Removed the block")
    elif kind == "tool_use":
        if role == "assistant":
            yield _call(block, place, ids, found)
        else:
            found.add(place, "a user message contains a tool call", "Removed the call")
    elif kind == "tool_result":
        if role == "user":
            yield _result(block, place, ids, found)
        else:
            found.add(place, "an assistant message contains a tool result", "Removed the result")
    elif kind in THINKING_TYPES and not block.get("signature" if kind == "thinking" else "data"):
        found.add(place, "a thinking block has no signature", "Removed the block")
    elif kind == "image":
        yield _image(block, place, found)
    else:
        yield block


def _call(block: Block, place: str, ids: CallIds, found: FindingList) -> Block:
    call_id, name = str(block.get("id") or ""), str(block.get("name") or "")
    new_id = ids.for_call(call_id)
    repaired = dict(block)
    if new_id != block.get("id"):
        problem = "is used twice" if call_id and legal_id(call_id) == call_id else "has illegal characters"
        found.add(place, f"the tool call id {shown_value(call_id)} {problem}", f"Renamed it to {new_id!r}")
        repaired["id"] = new_id
    if not _NAME.fullmatch(name):
        repaired["name"] = legal_name(name)
        found.add(
            place, f"the tool name {shown_value(name)} is not allowed", f"Renamed it to {repaired['name']!r}"
        )
    if not isinstance(block.get("input"), dict):
        repaired["input"] = input_of(string_of(block.get("input")))
        found.add(place, f"the input of the call {new_id!r} is not an object", "Wrapped it in one")
    return repaired


def _result(block: Block, place: str, ids: CallIds, found: FindingList) -> Block:
    answered = ids.for_result(str(block.get("tool_use_id") or ""))
    content = block.get("content")
    if isinstance(content, list):
        kept = [
            inner
            for part in content
            if isinstance(part, dict)
            for inner in _block(part, place, "result", ids, found)
        ]
        if kept != content:
            block = {key: value for key, value in block.items() if key != "content"}
            block = {**block, "content": kept} if kept else block
    return block if block.get("tool_use_id") == answered else {**block, "tool_use_id": answered}


def _image(block: Block, place: str, found: FindingList) -> Block:
    source = block.get("source")
    if not isinstance(source, dict) or source.get("type") != "base64":
        return block
    problem = image_problem(
        str(source.get("media_type") or ""), str(source.get("data") or ""), ANTHROPIC_IMAGES
    )
    if problem is None:
        return block
    found.add(place, problem[0], "Replaced it with a line of text")
    return {"type": "text", "text": problem[1]}


def _without_thinking(blocks: list[Block], place: str, found: FindingList) -> list[Block]:
    kept = [block for block in blocks if block.get("type") not in THINKING_TYPES]
    if len(kept) < len(blocks):
        found.add(place, "thinking is signed for one provider and conversation", "Removed it")
    return kept


def _paired(messages: list[WireMessage], found: FindingList) -> list[WireMessage]:
    """Answer each call at the beginning of the next message, and remove all other results."""
    repaired: list[WireMessage] = []
    moved: set[int] = set()  # results that were moved to their calls
    for index, message in enumerate(messages):
        calls = _open_calls(repaired)
        answer = _answers(calls, messages[index:], moved, f"message {index}", found)
        if answer and message["role"] == "assistant":
            repaired.append({"role": "user", "content": answer})
            answer = []
        message = _answering(message, answer, moved, f"message {index + 1}", found)
        if message["content"]:
            repaired.append(message)
    if calls := _open_calls(repaired):
        answer = _answers(calls, [], moved, f"message {len(messages)}", found)
        repaired.append({"role": "user", "content": answer})
    return repaired


def _open_calls(messages: list[WireMessage]) -> list[str]:
    """The ids of the calls that the next message must answer."""
    last = messages[-1] if messages else {"role": "user"}
    return (
        [str(block.get("id")) for block in _blocks(last, "tool_use")] if last["role"] == "assistant" else []
    )


def _blocks(message: WireMessage, kind: str) -> list[Block]:
    """The blocks of one type."""
    blocks = list_of(message["content"])
    return [block for block in blocks if block.get("type") == kind]


def _answering(
    message: WireMessage, answer: list[Block], moved: set[int], place: str, found: FindingList
) -> WireMessage:
    """The message with only these results, at its beginning."""
    for block in _blocks(message, "tool_result"):
        if id(block) not in moved:
            answered = shown_value(block.get("tool_use_id"))
            problem = (
                f"the tool result for {answered} has no preceding call, or the call already has a result"
            )
            found.add(place, problem, "Removed the result")
    content = message["content"]
    if isinstance(content, str):
        return {**message, "content": [*answer, {"type": "text", "text": content}]} if answer else message
    new = [*answer, *(block for block in content if block.get("type") != "tool_result")]
    if [id(block) for block in new] == [id(block) for block in content]:
        return message
    own = [block for block in content if id(block) in moved]
    if any(block.get("type") != "tool_result" for block in content[: len(own)]):
        found.add(place, "tool results do not come first", "Moved them to the beginning")
    return {**message, "content": new}


def _answers(
    calls: list[str], following: list[WireMessage], moved: set[int], place: str, found: FindingList
) -> list[Block]:
    """A result for each call: the first one that follows, or a stub."""
    results: dict[str, Block] = {}
    for message in following if calls else ():
        for block in _blocks(message, "tool_result"):
            results.setdefault(str(block.get("tool_use_id")), block)
    near = _blocks(following[0], "tool_result") if following else []
    ordered = [str(block.get("tool_use_id")) for block in near]
    answer: list[Block] = []
    for call in sorted(calls, key=lambda item: ordered.index(item) if item in ordered else len(ordered)):
        result = results.get(call)
        if result is None:
            found.add(place, f"the tool call {call!r} has no result", "Added a result that says so")
            result = {"type": "tool_result", "tool_use_id": call, "content": MISSING_RESULT, "is_error": True}
        elif call not in ordered:
            found.add(
                place, f"the result of the tool call {call!r} comes too late", "Moved it after the call"
            )
        moved.add(id(result))
        answer.append(result)
    return answer


def _without_trailing_space(messages: list[WireMessage], found: FindingList) -> list[WireMessage]:
    last = messages[-1] if messages else {"role": "user", "content": ""}
    content = last["content"]
    text = content if isinstance(content, str) else str(content[-1].get("text") or "") if content else ""
    if last["role"] != "assistant" or not text or text == text.rstrip():
        return messages
    found.add(
        f"message {len(messages)}", "the last assistant message ends with white space", "Removed the space"
    )
    if isinstance(content, str):
        return [*messages[:-1], {**last, "content": content.rstrip()}]
    ending = {**content[-1], "text": text.rstrip()}
    return [*messages[:-1], {**last, "content": [*content[:-1], ending]}]
