"""OpenAI Agents SDK: a model input filter, and a session that is stored in an archive.

    session, to_input_list()  stay complete          call_model_input_filter ──► the model sees the view

The filter sees the agent's listed tools, not those of MCP servers.
"""

import json
from contextvars import ContextVar
from typing import Any

from plimsoll.archive import OPERATOR, Owner
from plimsoll.dialects import dialect_named
from plimsoll.integrations.archived_items import ArchivedItems
from plimsoll.integrations.history import HistoryCompactor
from plimsoll.integrations.host_view import HostView
from plimsoll.integrations.requirement import host_package
from plimsoll.integrations.wire import HostRequest

with host_package("openai-agents", "agents"):
    from agents import FunctionTool, RunHooks
    from agents.memory import SessionSettings
    from agents.run import CallModelData, ModelInputData

_VIEW: ContextVar[HostView[dict[str, Any]] | None] = ContextVar("plimsoll_view", default=None)
_ITEMS = dialect_named("responses")


class PlimsollInputFilter:
    """For `RunConfig(call_model_input_filter=…)`. Takes the options of `HistoryCompactor`.

    `hooks` report the provider's token counts. `tools` are for the agent: `compact_context` and, with `recall`, a
    tool that reads back removed content.
    """

    def __init__(self, **options: Any) -> None:
        self.history = HistoryCompactor(**options)
        self.hooks: RunHooks[Any] = _UsageHooks(self.history)

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """The input with the view."""
        model_data, agent = data.model_data, data.agent
        body = {"input": list(model_data.input), "instructions": model_data.instructions or ""}
        model = agent.model if isinstance(agent.model, str) else getattr(agent.model, "model", "")
        tools = [_canonical_tool(tool) for tool in agent.tools if isinstance(tool, FunctionTool)]
        request = HostRequest(_ITEMS, body, tools=tools, model=str(model or ""))
        view = await request.view(self.history)
        _VIEW.set(view)
        return ModelInputData(request.with_view(view)["input"], model_data.instructions)

    @property
    def tools(self) -> list[FunctionTool]:
        """The tools for the agent."""
        return [
            _function_tool(definition["function"], self.history)
            for definition in self.history.tool_definitions
        ]


class ArchiveSession:
    """A session in an archive: complete, searchable, and the same after a restart.

    `archive` is a file or a URL, `owner` is the session's owner. Nothing is deleted: after removing an item or
    clearing the session, everything stays in the archive.
    """

    session_settings: SessionSettings | None = None

    def __init__(self, session_id: str, archive: str, owner: Owner = OPERATOR) -> None:
        self.session_id = session_id
        self._items = ArchivedItems(session_id, archive, owner, as_message=_message_of, as_items=_items_of)

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """All items, or the newest ones."""
        settings = self.session_settings
        return await self._items.get(limit if limit is not None else settings.limit if settings else None)

    async def add_items(self, items: list[Any]) -> None:
        """Append items."""
        await self._items.add(items)

    async def pop_item(self) -> Any | None:
        """Remove and return the newest item."""
        return await self._items.pop()

    async def clear_session(self) -> None:
        """Start again without items."""
        await self._items.clear()

    def close(self) -> None:
        """Close the archive."""
        self._items.close()


class _UsageHooks(RunHooks[Any]):
    """Records the provider's token counts."""

    def __init__(self, history: HistoryCompactor) -> None:
        self._history = history

    async def on_llm_end(self, context: Any, agent: Any, response: Any) -> None:
        view = _VIEW.get()
        if view is not None:
            self._history.observe(view, response.usage.input_tokens)


def _message_of(item: dict[str, Any]) -> dict[str, Any]:
    messages = _ITEMS.messages({"input": [{"role": "user", "content": ""}, item]})
    return _ITEMS.canonical(messages, len(messages) - 1)[0]


def _items_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = _ITEMS.with_messages({"input": []}, _ITEMS.written([message], ""))["input"]
    return items


def _canonical_tool(tool: FunctionTool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.params_json_schema}
    return {"type": "function", "function": function}


def _function_tool(function: dict[str, Any], history: HistoryCompactor) -> FunctionTool:
    async def invoke(_context: Any, arguments: str) -> str:
        return await history.answer_async(function["name"], json.loads(arguments or "{}"))

    return FunctionTool(
        name=function["name"],
        description=function["description"],
        params_json_schema=function["parameters"],
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )
