"""LangChain's messages: one canonical message each."""

from collections.abc import Sequence
from typing import Any

from plimsoll.integrations.codec import HostGroup, WrittenMessage, one_by_one
from plimsoll.integrations.requirement import host_package
from plimsoll.messages import Message

with host_package("langchain", "langchain_core"):
    from langchain_core.messages import (
        AIMessage,
        BaseMessage,
        convert_to_messages,
        convert_to_openai_messages,
    )


class LangChainCodec:
    """LangChain's messages: one canonical message each."""

    def decode(self, messages: Sequence[BaseMessage]) -> list[HostGroup]:
        """The messages in OpenAI's format."""
        return one_by_one(messages, canonical)

    def encode(self, written: Sequence[WrittenMessage[BaseMessage]]) -> list[BaseMessage]:
        """Copies of the originals with the new content, and new messages."""
        return [_changed(message) for message in written]


def canonical(message: BaseMessage) -> Message:
    """The message in OpenAI's format."""
    found: Message = convert_to_openai_messages(message)
    if found.get("tool_calls") and found.get("content") == "":
        found["content"] = None
    return {**found, "is_error": True} if getattr(message, "status", "") == "error" else found


def _changed(written: WrittenMessage[BaseMessage]) -> BaseMessage:
    """A copy of the original with new content and calls, which keeps its id and metadata; or a new message."""
    plain = {key: value for key, value in written.message.items() if key != "is_error"}
    made: BaseMessage = convert_to_messages([plain])[0]
    if not isinstance(written.original, type(made)):
        return made
    calls = {"tool_calls": made.tool_calls} if isinstance(made, AIMessage) else {}
    content = _content(written.message.get("content"), written.original.content)
    return written.original.model_copy(update={"content": content, **calls})


def _content(content: Any, own: Any) -> Any:
    """New content; texts that stay are the host's own blocks, which may have cache markers."""
    if not isinstance(content, list):
        return content or ""
    blocks = [block for block in own if isinstance(block, dict)]
    texts = {block.get("text"): block for block in blocks if block.get("type") == "text"}
    return [texts.get(part.get("text"), part) if part.get("type") == "text" else part for part in content]
