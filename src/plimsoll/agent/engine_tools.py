"""The context engine's tools, offered to the model next to the agent's own.

    get_tool_schemas() ──► tools        handle_tool_call(name, args, messages=view) ──► result

The agent's tools keep their names; an engine's tool with the same name is skipped with a notice. A crash or a hang
becomes an error result.
"""

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from plimsoll.agent.engine_host import EngineHost
from plimsoll.agent.plugin_calls import DeadlineExceeded, error_text
from plimsoll.messages import Message
from plimsoll.tools import Definition, Tool, ToolContext, ToolResult
from plimsoll.tools.tool import failed

CALL_SECONDS = 60.0
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NO_PARAMETERS: dict[str, Any] = {"type": "object", "properties": {}}


class EngineTool(Tool):
    """A tool that the engine answers, with the current view."""

    is_read_only = True

    def __init__(
        self, definition: Definition, host: EngineHost, view: Callable[[], Sequence[Message]]
    ) -> None:
        super().__init__(definition)
        self._host, self._view = host, view
        self._owner = host.engine

    async def run(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        if self._host.engine is not self._owner:
            return failed(f"{self.name} is no longer available: its context engine stopped working.")
        try:
            answer = await self._host.answer_call(self.name, arguments, self._view(), CALL_SECONDS)
        except DeadlineExceeded as hung:
            return failed(f"{self.name} gave {hung}. It cannot be called again.")
        except Exception as error:  # plugin code may raise anything; it becomes the result
            return failed(f"{self.name} failed: {error_text(error)}")
        return ToolResult(answer)


async def engine_tools(
    host: EngineHost, reserved: Collection[str], view: Callable[[], Sequence[Message]]
) -> list[Tool]:
    """The engine's tools whose names are free."""
    schemas: Any = await host.ask("get_tool_schemas", [])
    tools: list[Tool] = []
    names = set(reserved)
    for schema in schemas if isinstance(schemas, list | tuple) else []:
        definition = _definition(schema)
        engine = host.engine.name
        if definition is None:
            host.notice("schema", f"Context engine {engine}: a tool without a usable schema was skipped.")
        elif definition.name in names:
            host.notice(
                f"tool {definition.name}",
                f"Context engine {engine}: its tool {definition.name} was skipped, because another tool has "
                "that name.",
            )
        else:
            names.add(definition.name)
            tools.append(EngineTool(definition, host, view))
    return tools


def _definition(schema: Any) -> Definition | None:
    """The definition in an OpenAI function schema, wrapped or bare; None for anything else."""
    function = schema.get("function", schema) if isinstance(schema, dict) else None
    if not isinstance(function, dict) or not _NAME.fullmatch(str(function.get("name") or "")):
        return None
    parameters = function.get("parameters")
    if not isinstance(parameters, dict):
        parameters = _NO_PARAMETERS
    return Definition(function["name"], str(function.get("description") or ""), parameters)
