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
from plimsoll.integrations.agent_framework_messages import WRITTEN, AgentFrameworkCodec
from plimsoll.integrations.canonical import function_tool, message_of, text_part
from plimsoll.integrations.history import HistoryCompactor
from plimsoll.integrations.requirement import host_package

with host_package("agent-framework", "agent_framework"):
    from agent_framework import FunctionTool
    from agent_framework import Message as HostMessage

_EXCLUDED = "_excluded"  # the framework's own mark


class PlimsollStrategy:
    """Compacts conversations before model calls. Other options are those of `AdapterOptions`."""

    def __init__(self, *, instructions: str = "", tools: Sequence[Any] = (), **options: Any) -> None:
        self.history = HistoryCompactor(**options)
        self._codec = AgentFrameworkCodec()
        self._system = [message_of("system", [text_part(instructions)])] if instructions else []
        known = [tool for tool in tools if isinstance(tool, FunctionTool)]
        self._tools = [function_tool(item.name, item.description, item.parameters()) for item in known]

    @property
    def tools(self) -> list[Any]:
        """Tools for the agent: `compact_context`, and `recall` with the option `recall=True`."""
        return [self._tool(definition["function"]) for definition in self.history.tool_definitions]

    def _tool(self, function: dict[str, Any]) -> Any:
        async def answer(**arguments: Any) -> str:
            return await self.history.answer_async(function["name"], arguments)

        described = {"name": function["name"], "description": function["description"]}
        return FunctionTool(**described, func=answer, input_model=function["parameters"])

    async def __call__(self, messages: list[Any]) -> bool:
        """Change the list of this run, so that the included messages are the view."""
        own = [message for message in messages if not message.additional_properties.get(WRITTEN)]
        view = await self.history.view_async(self._codec, own, system=self._system, tools=self._tools)
        if not view.changed:
            return False
        note = [HostMessage("system", [NOTE], additional_properties={WRITTEN: True})]
        messages[:] = [*(note if view.has_note and self._system else []), *_marked(own, view.messages)]
        return True


def _marked(before: Sequence[Any], view: Sequence[Any]) -> list[Any]:
    """The history with the new messages inserted; copies get the marks, so stored messages get none."""
    place = {id(item): n for n, item in enumerate(before)}
    result, at = [], 0
    for message in view:
        n = place.get(id(message))
        if n is None:
            result.append(message)
            continue
        result += [_copied(gone, excluded=True) for gone in before[at:n]]
        result.append(_copied(message, excluded=False))
        at = n + 1
    return [*result, *(_copied(gone, excluded=True) for gone in before[at:])]


def _copied(message: Any, *, excluded: bool) -> Any:
    copied = copy.copy(message)
    copied.additional_properties = {**message.additional_properties, _EXCLUDED: excluded}
    return copied
