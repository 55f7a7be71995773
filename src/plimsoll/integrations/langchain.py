"""LangChain and LangGraph: middleware for `create_agent`.

    state["messages"]  stays complete          wrap_model_call ──► the model sees the view

The view is created for each model call. After an overflow, the conversation is compacted and sent again, once.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from plimsoll.integrations.history import HistoryCompactor
from plimsoll.integrations.host_view import HostView
from plimsoll.integrations.langchain_messages import LangChainCodec, canonical
from plimsoll.integrations.requirement import host_package
from plimsoll.integrations.wording import COMPACT, RECALL, definition_of

with host_package("langchain", "langchain"):
    from langchain.agents.middleware import AgentMiddleware
    from langchain.tools import ToolRuntime
    from langchain_core.messages import BaseMessage
    from langchain_core.tools import StructuredTool
    from langchain_core.utils.function_calling import convert_to_openai_tool


class PlimsollMiddleware(AgentMiddleware):
    """Keeps an agent's requests within its model's window. Takes the options of `HistoryCompactor`.

    With `tools`, the agent can call `compact_context` and, with `recall`, read back removed content.
    """

    def __init__(self, *, tools: bool = False, **options: Any) -> None:
        super().__init__()
        self.history = HistoryCompactor(**options)
        self._codec = LangChainCodec()
        self.tools = self._tools() if tools or self.history.options.recall else []

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Send the view; after an overflow, a smaller one."""
        options = _asked(request)
        view = self.history.view(self._codec, request.messages, **options)
        try:
            response = handler(_with_view(request, view))
        except Exception as error:
            view = self.history.view_after_overflow(error, self._codec, request.messages, **options)
            response = handler(_with_view(request, view))
        self.history.observe(view, _prompt_tokens(response))
        return response

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """The same for `ainvoke` and `astream`."""
        options = _asked(request)
        view = await self.history.view_async(self._codec, request.messages, **options)
        try:
            response = await handler(_with_view(request, view))
        except Exception as error:
            view = await self.history.view_after_overflow_async(
                error, self._codec, request.messages, **options
            )
            response = await handler(_with_view(request, view))
        self.history.observe(view, _prompt_tokens(response))
        return response

    def _tools(self) -> list[StructuredTool]:
        def compact_context(focus: str = "") -> str:
            return self.history.answer(COMPACT, {"focus": focus})

        def recall(runtime: ToolRuntime, query: str = "", handle: str = "", offset: int = 0) -> str:
            log = [
                message
                for group in self._codec.decode(runtime.state["messages"])
                for message in group.messages
            ]
            return self.history.answer(RECALL, {"query": query, "handle": handle, "offset": offset}, log)

        functions: list[Callable[..., str]] = [compact_context]
        functions += [recall] if self.history.options.recall else []
        descriptions = {name: definition_of(name)["function"]["description"] for name in (COMPACT, RECALL)}
        return [
            StructuredTool.from_function(function, description=descriptions[function.__name__])
            for function in functions
        ]


def _asked(request: Any) -> dict[str, Any]:
    system, profile = request.system_message, getattr(request.model, "profile", None) or {}
    return {
        "system": [canonical(system)] if system is not None else [],
        "tools": [convert_to_openai_tool(tool) for tool in request.tools],
        "model": str(getattr(request.model, "model_name", "") or getattr(request.model, "model", "")),
        "window": profile.get("max_input_tokens"),
    }


def _with_view(request: Any, view: HostView[BaseMessage]) -> Any:
    if not view.changed:
        return request
    system = request.system_message
    if system is not None and view.has_note:
        system = system.model_copy(update={"content": view.system[0]["content"]})
    return request.override(messages=view.messages, system_message=system)


def _prompt_tokens(response: Any) -> int:
    """The provider's token count for the prompt; 0 if not reported."""
    found = [getattr(item, "usage_metadata", None) or {} for item in getattr(response, "result", [response])]
    return next((int(usage.get("input_tokens") or 0) for usage in found), 0)
