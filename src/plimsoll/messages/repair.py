"""Make a conversation structurally whole again, losing as little as possible.

A result whose call is gone is removed, a call whose result is gone gets a stub
result, a result that drifted away from its call moves back behind it, and a
content that is missing where the wire needs one becomes the empty string. A
conversation that needs none of this comes back equal.
"""

from collections.abc import Sequence

from plimsoll.messages.calls import answers, call_ids, call_name, tool_calls
from plimsoll.messages.content import Message

STUB_RESULT = "[Result unavailable: it was not recorded in this conversation]"


def repair(messages: Sequence[Message]) -> list[Message]:
    """A list in which every call is followed by exactly its results; messages that are fine are shared."""
    results: dict[tuple[int, str], Message] = {}
    for answer in answers(messages):
        results[answer.call_at, answer.call["id"]] = messages[answer.result_at]
    whole: list[Message] = []
    for position, message in enumerate(messages):
        if message.get("role") == "tool":
            continue
        whole.append(_with_content(message))
        seen: set[str] = set()
        for call in tool_calls(message):
            call_id = call.get("id")
            if isinstance(call_id, str) and call_id not in seen:
                seen.add(call_id)
                found = results.get((position, call_id))
                whole.append(_with_content(found) if found else stub_result(call_id, call_name(call)))
    return whole


def stub_result(call_id: str, name: str) -> Message:
    """The result that stands in for one that is not there."""
    return {"role": "tool", "tool_call_id": call_id, "name": name, "content": STUB_RESULT}


def is_whole(messages: Sequence[Message]) -> bool:
    """Whether every call is directly followed by its results and every result has its call."""
    waiting: list[str] = []
    for message in messages:
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


def _with_content(message: Message) -> Message:
    missing = message.get("content") is None
    return {**message, "content": ""} if missing and message.get("role") != "assistant" else message
