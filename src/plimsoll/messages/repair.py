"""Repairs the structure of a conversation with as little loss as possible.

A result without a call is removed, a call without a result gets a stub result, a misplaced
result moves to its call, and missing content that a provider needs becomes the empty string.
A valid conversation is returned unchanged.
"""

from collections.abc import Sequence

from plimsoll.messages.calls import answers, call_ids, call_name, tool_calls
from plimsoll.messages.content import Message

_REPLACES_CONTENT = ("tool_calls", "function_call", "refusal", "audio")
STUB_RESULT = "[Result unavailable: it was not recorded in this conversation]"


def repair(messages: Sequence[Message]) -> list[Message]:
    """A list in which exactly its results follow each call; valid messages are shared, not copied."""
    results: dict[tuple[int, str], Message] = {}
    for answer in answers(messages):
        results[answer.call_at, answer.call["id"]] = messages[answer.result_at]
    whole: list[Message] = []
    for position, message in enumerate(messages):
        if message.get("role") == "tool":
            continue
        whole.append(_normalised(message))
        seen: set[str] = set()
        for call in tool_calls(message):
            call_id = call.get("id")
            if isinstance(call_id, str) and call_id not in seen:
                seen.add(call_id)
                found = results.get((position, call_id))
                whole.append(_normalised(found) if found else stub_result(call_id, call_name(call)))
    return whole


def stub_result(call_id: str, name: str) -> Message:
    """The stub for a missing result."""
    return {"role": "tool", "tool_call_id": call_id, "name": name, "content": STUB_RESULT}


def is_whole(messages: Sequence[Message]) -> bool:
    """Whether results directly follow their calls, every result has a call, and all content is valid."""
    waiting: list[str] = []
    for message in messages:
        if _normalised(message) is not message:
            return False
        if message.get("role") == "tool":
            answered = message.get("tool_call_id")
            if answered not in waiting:
                return False
            waiting.remove(answered)
        elif waiting:
            return False
        elif message.get("tool_calls"):
            waiting = list(dict.fromkeys(call_ids(message)))
    return not waiting


def _normalised(message: Message) -> Message:
    """The message with content that every wire format accepts; the same object if nothing changes."""
    content = message.get("content")
    normalised = message
    if message.get("tool_calls") == []:
        normalised = {key: value for key, value in message.items() if key != "tool_calls"}
    if isinstance(content, str):
        return normalised
    if isinstance(content, list) and any(isinstance(part, str) for part in content):
        parts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
        return {**normalised, "content": parts}
    if content == [] or (content is None and not any(normalised.get(key) for key in _REPLACES_CONTENT)):
        return {**normalised, "content": ""}
    return normalised
