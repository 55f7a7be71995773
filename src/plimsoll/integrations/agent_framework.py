"""Microsoft Agent Framework: a compaction strategy. Stored histories stay complete.

    strategy = PlimsollStrategy(window=64_000, instructions=INSTRUCTIONS, tools=tools)
    agent = Agent(client, INSTRUCTIONS, tools=tools, compaction_strategy=strategy)

The framework calls a strategy before each model call, with the list of that run. Messages that the model does not see
stay in the list, marked as excluded. A strategy does not get the instructions and tools, so it takes them here.
"""

import copy
from collections.abc import Sequence
from typing import Any

from plimsoll.context.markers import NOTE
from plimsoll.integrations.canonical import (
    CALL,
    call_of,
    function_tool,
    image_part,
    message_of,
    redacted_thought,
    result_of,
    still_thought,
    text_part,
    thought,
    with_blocks,
)
from plimsoll.integrations.codec import HostGroup, WrittenMessage
from plimsoll.integrations.history import HistoryCompactor
from plimsoll.integrations.requirement import host_package
from plimsoll.messages import Message, Part, arguments_text, call_name, parts_of, text_of, tool_calls

with host_package("agent-framework", "agent_framework"):
    from agent_framework import Content, FunctionTool
    from agent_framework import Message as HostMessage

_WRITTEN = "_plimsoll_written"  # marks messages that a compaction wrote
_EXCLUDED = "_excluded"  # the framework's own mark


class AgentFrameworkCodec:
    """Messages with contents. A tool message may have several results."""

    def decode(self, messages: Sequence[Any]) -> list[HostGroup]:
        """Unsigned reasoning and other contents stay on the host's message."""
        return [HostGroup(1, _canonical(one)) for one in messages]

    def encode(self, written: Sequence[WrittenMessage[Any]]) -> list[Any]:
        """New messages, marked so that they are not mistaken for the history."""
        marked = {_WRITTEN: True}
        return [
            HostMessage(one.message["role"], _contents(one), additional_properties=dict(marked))
            for one in written
        ]


class PlimsollStrategy:
    """Compacts conversations before model calls. Other options are those of `AdapterOptions`."""

    def __init__(self, *, instructions: str = "", tools: Sequence[Any] = (), **options: Any) -> None:
        self.history = HistoryCompactor(**options)
        self._codec = AgentFrameworkCodec()
        self._system = [message_of("system", [text_part(instructions)])] if instructions else []
        known = [one for one in tools if isinstance(one, FunctionTool)]
        self._tools = [function_tool(one.name, one.description, one.parameters()) for one in known]

    @property
    def tools(self) -> list[Any]:
        """Tools for the agent: `compact_context`, and `recall` with the option `recall=True`."""
        return [self._tool(one["function"]) for one in self.history.tool_definitions]

    def _tool(self, function: dict[str, Any]) -> Any:
        async def answer(**arguments: Any) -> str:
            return await self.history.answer_async(function["name"], arguments)

        described = {"name": function["name"], "description": function["description"]}
        return FunctionTool(**described, func=answer, input_model=function["parameters"])

    async def __call__(self, messages: list[Any]) -> bool:
        """Change the list of this run, so that the included messages are the view."""
        given = [one for one in messages if not one.additional_properties.get(_WRITTEN)]
        view = await self.history.view_async(self._codec, given, system=self._system, tools=self._tools)
        if not view.changed:
            return False
        note = [HostMessage("system", [NOTE], additional_properties={_WRITTEN: True})]
        messages[:] = [*(note if view.has_note and self._system else []), *_marked(given, view.messages)]
        return True


def _marked(given: Sequence[Any], view: Sequence[Any]) -> list[Any]:
    """The history with the new messages inserted; copies get the marks, so stored messages get none."""
    place = {id(one): n for n, one in enumerate(given)}
    result, at = [], 0
    for one in view:
        n = place.get(id(one))
        if n is None:
            result.append(one)
            continue
        result += [_copied(gone, excluded=True) for gone in given[at:n]]
        result.append(_copied(one, excluded=False))
        at = n + 1
    return [*result, *(_copied(gone, excluded=True) for gone in given[at:])]


def _copied(message: Any, *, excluded: bool) -> Any:
    copied = copy.copy(message)
    copied.additional_properties = {**message.additional_properties, _EXCLUDED: excluded}
    return copied


def _canonical(message: Any) -> list[Message]:
    contents = list(message.contents)
    results = [result_of(one.call_id, _result(one)) for one in contents if one.type == "function_result"]
    calls = [call_of(one.call_id, one.name, one.arguments) for one in contents if one.type == "function_call"]
    said = [part for one in contents if (part := _part(one))]
    thinking = [found for one in contents if (found := _thought(one))]
    is_said = said or calls or thinking or not results
    return [*results, *([message_of(message.role, said, calls, thinking)] if is_said else [])]


def _thought(content: Any) -> dict[str, Any] | None:
    """Signed thinking; the framework keeps the signature or the encrypted content as protected data."""
    if content.type != "text_reasoning" or not content.protected_data:
        return None
    data = str(content.protected_data)
    return thought(content.text, data) if content.text else redacted_thought(data)


def _part(content: Any) -> Part | None:
    if content.type == "text":
        return text_part(content.text or "")
    if content.type in ("data", "uri") and content.has_top_level_media_type("image"):
        return image_part(content.uri)
    return None


def _result(content: Any) -> list[Part]:
    found = [part for one in content.items or () if (part := _part(one))]
    return found or [text_part("" if content.result is None else str(content.result))]


def _contents(written: WrittenMessage[Any]) -> list[Any]:
    message = written.message
    if message["role"] == "tool":
        return [Content.from_function_result(message["tool_call_id"], result=text_of(message))]
    before = [one for host in written.originals for one in host.contents if one.type != "function_result"]
    parts = parts_of(message)
    new: dict[str, list[Any]] = {
        "text": [Content.from_text(part["text"]) for part in parts if part.get("text")],
        "image_url": [one for one in before if _kind(one) == "image_url" and _part(one) in parts],
        CALL: [
            Content.from_function_call(call["id"], call_name(call), arguments=arguments_text(call))
            for call in tool_calls(message)
        ],
    }
    return with_blocks([one for one in before if still_thought(message, _thought(one))], _kind, new)


def _kind(content: Any) -> str:
    part = _part(content)
    return part["type"] if part else CALL if content.type == "function_call" else ""
