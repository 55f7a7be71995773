"""Inspect: a compaction strategy for `react()` and `compaction()`. The task's messages stay complete.

    react(tools=tools, compaction=PlimsollCompaction(window=64_000))

Inspect decides when: it calls the strategy when its own count passes the threshold, and goes on from the result.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

from plimsoll.integrations.canonical import (
    call_of,
    function_tool,
    image_part,
    message_of,
    result_of,
    text_part,
)
from plimsoll.integrations.codec import HostGroup, WrittenMessage, one_by_one
from plimsoll.integrations.history import HistoryCompactor
from plimsoll.integrations.requirement import host_package
from plimsoll.messages import Message, Part, arguments_of, call_name, parts_of, text_of, tool_calls

with host_package("inspect-ai", "inspect_ai"):
    from inspect_ai.model import (
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageTool,
        ChatMessageUser,
        CompactionStrategy,
        ContentImage,
        ContentText,
    )
    from inspect_ai.tool import ToolCall, ToolDef

_CLASSES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


class InspectCodec:
    """Chat messages with ids; one canonical message each."""

    def decode(self, messages: Sequence[Any]) -> list[HostGroup]:
        """Reasoning stays on the host's message."""
        return one_by_one(messages, _canonical)

    def encode(self, written: Sequence[WrittenMessage[Any]]) -> list[Any]:
        """A changed message keeps its id, by which Inspect knows it."""
        return [_host_message(one) for one in written]


class PlimsollCompaction(CompactionStrategy):
    """Compacts what Inspect is about to send. Options are those of `AdapterOptions`.

    `memory` stays off: Inspect would tell the model that its context fills up.
    """

    def __init__(self, **options: Any) -> None:
        self.history = HistoryCompactor(**options)
        given = self.history.options
        limit = int(given.window * given.threshold) if given.window else given.threshold
        super().__init__(type="summary", threshold=limit, memory=False)
        self._codec = InspectCodec()

    @property
    def tools(self) -> list[Any]:
        """The tool `recall` for the agent, with the option `recall=True`."""
        functions = [one["function"] for one in self.history.tool_definitions]
        return [self._tool(one) for one in functions if one["name"] == "recall"]

    def _tool(self, function: dict[str, Any]) -> Any:
        async def answer(handle: str = "", query: str = "", offset: int = 0) -> str:
            asked = {"handle": handle, "query": query, "offset": offset}
            return await self.history.answer_async(function["name"], asked)

        described = function["parameters"]["properties"]
        parameters = {name: one["description"] for name, one in described.items()}
        return ToolDef(answer, function["name"], function["description"], parameters).as_tool()

    async def compact(self, model: Any, messages: list[Any], tools: list[Any]) -> tuple[list[Any], None]:
        """The messages to send from now on; nothing is added to the task's own."""
        schemas = [
            function_tool(one.name, one.description, one.parameters.model_dump(exclude_none=True))
            for one in tools
        ]
        view = await self.history.view_async(
            self._codec, messages, tools=schemas, model=model.name, force=True
        )
        self.history.replaced(self._codec, view)
        return view.messages, None


def _canonical(message: Any) -> Message:
    parts = _parts(message.content)
    if message.role == "tool":
        call_id = message.tool_call_id or ""
        failed = message.error is not None
        return result_of(call_id, parts, name=message.function or "", failed=failed)
    calls = getattr(message, "tool_calls", None) or ()
    return message_of(message.role, parts, [call_of(one.id, one.function, one.arguments) for one in calls])


def _parts(content: Any) -> list[Part]:
    if isinstance(content, str):
        return [text_part(content)] if content else []
    texts = [text_part(one.text) if one.type == "text" else None for one in content]
    images = [image_part(one.image) if one.type == "image" else None for one in content]
    return [part for pair in zip(texts, images, strict=True) for part in pair if part]


def _host_message(written: WrittenMessage[Any]) -> Any:
    message, before = written.message, written.original
    content: Any = message.get("content") or ""
    if not isinstance(content, str):
        content = [_content(part) for part in parts_of(message)]
    if before is not None and before.role == message["role"]:
        return before.model_copy(update={"content": content})
    made = hashlib.sha256(text_of(message).encode()).hexdigest()[:22]
    if message["role"] == "tool":
        return ChatMessageTool(id=made, content=content, tool_call_id=message["tool_call_id"])
    calls = [
        ToolCall(id=call["id"], function=call_name(call), arguments=arguments_of(call))
        for call in tool_calls(message)
    ]
    return _CLASSES[message["role"]](id=made, content=content, **({"tool_calls": calls} if calls else {}))


def _content(part: Part) -> Any:
    if part.get("type") == "image_url":
        return ContentImage(image=part["image_url"]["url"])
    return ContentText(text=str(part.get("text") or ""))
