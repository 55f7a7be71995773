"""smolagents' messages: calls and results are text, and neighbours of one role are sent as one message."""

import ast
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from plimsoll.integrations.codec import HostGroup, WrittenMessage
from plimsoll.integrations.context_tools import focus_of, is_our_answer
from plimsoll.integrations.requirement import host_package
from plimsoll.integrations.wording import RECALL
from plimsoll.messages import Message, call_name, parts_of, text_of
from plimsoll.messages.untyped import list_of

with host_package("smolagents", "smolagents"):
    from smolagents import ChatMessage, MessageRole
    from smolagents.models import get_clean_message_list, tool_role_conversions


class SmolagentsCodec:
    """Neighbours of one role are one canonical message."""

    def decode(self, messages: Sequence[ChatMessage]) -> list[HostGroup]:
        """The messages as the host sends them."""
        groups = [list(group) for _, group in groupby(messages, key=_role)]
        return [HostGroup(len(group), [_joined(group)]) for group in groups]

    def encode(self, written: Sequence[WrittenMessage[ChatMessage]]) -> list[ChatMessage]:
        """One message each; the host needs parts to join neighbours."""
        return [
            ChatMessage(MessageRole(message.message["role"]), parts_of(message.message))
            for message in written
        ]


def asked_focus(messages: Sequence[ChatMessage]) -> str | None:
    """The focus with which the agent's last step called `compact_context`."""
    if not messages or messages[-1].role != MessageRole.TOOL_RESPONSE:
        return None
    if not is_our_answer({"role": "tool", "content": messages[-1].content}):
        return None
    newest = next((message for message in reversed(messages) if message.role == MessageRole.TOOL_CALL), None)
    return focus_of(_calls(newest)) if newest is not None else None


def _calls(message: ChatMessage) -> list[Any]:
    """The calls of a step, which the host sends as text."""
    try:
        listed = ast.literal_eval(text_of({"content": message.content}).partition("\n")[2])
    except (
        ValueError,
        SyntaxError,
        RecursionError,
        MemoryError,
    ):  # cut off, nested deeply, or written otherwise
        return []
    return list_of(listed)


def searched(messages: Sequence[ChatMessage]) -> list[Message]:
    """What a search reads: each message on its own, without the agent's earlier searches and their results."""
    found: list[Message] = []
    is_search = False
    for message in messages:
        if message.role == MessageRole.TOOL_CALL:
            names = {call_name(call) for call in _calls(message)}
            is_search = names == {RECALL}
        if not (is_search and message.role in (MessageRole.TOOL_CALL, MessageRole.TOOL_RESPONSE)):
            found.append(_joined([message]))
    return found


def _role(message: ChatMessage) -> str:
    role = tool_role_conversions.get(message.role, message.role)
    return str(getattr(role, "value", role))


def _joined(group: Sequence[ChatMessage]) -> Message:
    (message,) = get_clean_message_list(
        list(group), role_conversions=tool_role_conversions, convert_images_to_image_urls=True
    )
    return {"role": _role(group[0]), "content": message["content"]}
