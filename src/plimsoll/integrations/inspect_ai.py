"""Inspect: a compaction strategy for `react()` and `compaction()`. The task's messages stay complete.

    react(tools=tools, compaction=PlimsollCompaction(window=64_000))

Inspect decides when: it calls the strategy when its own count exceeds the threshold, and continues from the result.
"""

from typing import Any

from plimsoll.integrations.canonical import function_tool
from plimsoll.integrations.history import HistoryCompactor
from plimsoll.integrations.inspect_ai_messages import InspectCodec
from plimsoll.integrations.requirement import host_package

with host_package("inspect-ai", "inspect_ai"):
    from inspect_ai.model import CompactionStrategy
    from inspect_ai.tool import ToolDef


class PlimsollCompaction(CompactionStrategy):
    """Compacts what Inspect is about to send. Options are those of `AdapterOptions`.

    `memory` stays off: Inspect would tell the model that its context is filling up.
    """

    def __init__(self, **options: Any) -> None:
        self.history = HistoryCompactor(**options)
        stated = self.history.options
        limit = int(stated.window * stated.threshold) if stated.window else stated.threshold
        super().__init__(type="summary", threshold=limit, memory=False)
        self._codec = InspectCodec()

    @property
    def tools(self) -> list[Any]:
        """The tool `recall` for the agent, with the option `recall=True`."""
        functions = [definition["function"] for definition in self.history.tool_definitions]
        return [self._tool(function) for function in functions if function["name"] == "recall"]

    def _tool(self, function: dict[str, Any]) -> Any:
        async def answer(handle: str = "", query: str = "", offset: int = 0) -> str:
            arguments = {"handle": handle, "query": query, "offset": offset}
            return await self.history.answer_async(function["name"], arguments)

        described = function["parameters"]["properties"]
        parameters = {name: value["description"] for name, value in described.items()}
        return ToolDef(answer, function["name"], function["description"], parameters).as_tool()

    async def compact(self, model: Any, messages: list[Any], tools: list[Any]) -> tuple[list[Any], None]:
        """The messages to send from now on; nothing is added to the task's own."""
        schemas = [
            function_tool(tool.name, tool.description, tool.parameters.model_dump(exclude_none=True))
            for tool in tools
        ]
        view = await self.history.view_async(
            self._codec, messages, tools=schemas, model=model.name, force=True
        )
        self.history.replaced(self._codec, view)
        return view.messages, None
