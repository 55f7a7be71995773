"""Strands Agents: a conversation manager that shortens what the model sees. `agent.messages` stays complete.

    agent = Agent(model=model, tools=tools, conversation_manager=PlimsollConversationManager(window=64_000))

It replaces Strands' own managers, so nothing is trimmed or summarised twice. Several agents may share a manager.
"""

from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from plimsoll.context.markers import NOTE
from plimsoll.integrations.bedrock import BedrockCodec, alternating, bedrock_parts
from plimsoll.integrations.canonical import function_tool, message_of
from plimsoll.integrations.history import HistoryCompactor
from plimsoll.integrations.host_view import HostView
from plimsoll.integrations.requirement import host_package

with host_package("strands", "strands"):
    from strands.agent.conversation_manager import ConversationManager
    from strands.hooks import AfterModelCallEvent, AgentInitializedEvent
    from strands.middleware import InvokeModelStage
    from strands.tools import PythonAgentTool


@dataclass(slots=True)
class _Invocation:
    """What is known about the running invocation of an agent."""

    sent: HostView[Any] | None = None
    overflow: Exception | None = None  # the provider's error for the previous request
    is_retried: bool = False  # the last request was sent again after an overflow


class PlimsollConversationManager(ConversationManager):
    """Compacts conversations before model calls. Options are those of `AdapterOptions`."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.history = HistoryCompactor(**options)
        self._codec = BedrockCodec()
        self._running: WeakKeyDictionary[Any, _Invocation] = WeakKeyDictionary()

    @property
    def tools(self) -> list[Any]:
        """Tools for the agent: `compact_context`, and `recall` with the option `recall=True`."""
        return [self._tool(definition["function"]) for definition in self.history.tool_definitions]

    def _tool(self, function: dict[str, Any]) -> Any:
        async def answer(use: Any, **_: Any) -> dict[str, Any]:
            text = await self.history.answer_async(function["name"], use["input"])
            return {"toolUseId": use["toolUseId"], "status": "success", "content": [{"text": text}]}

        schema = {"json": function["parameters"]}
        spec = {"name": function["name"], "description": function["description"], "inputSchema": schema}
        return PythonAgentTool(function["name"], spec, answer)

    def register_hooks(self, registry: Any, **kwargs: Any) -> None:
        """Register for every model call of the agent."""
        super().register_hooks(registry, **kwargs)
        registry.add_callback(
            AgentInitializedEvent,
            lambda event: event.agent.add_middleware(InvokeModelStage.Input, self._shorten),
        )
        registry.add_callback(AfterModelCallEvent, self._observe)

    async def _shorten(self, context: Any) -> Any:
        system_prompt = context.system_prompt or []
        prompt = [{"text": system_prompt}] if isinstance(system_prompt, str) else list(system_prompt)
        specs = context.tool_specs or ()
        options = {
            "system": [message_of("system", bedrock_parts(prompt))] if prompt else (),
            "tools": [function_tool(s["name"], s["description"], s["inputSchema"]["json"]) for s in specs],
            "model": str((context.model.get_config() or {}).get("model_id") or ""),
        }
        running = self._of(context.agent)
        error, running.overflow = running.overflow, None
        if error is None:
            view = await self.history.view_async(self._codec, context.messages, **options)
        else:
            view = await self.history.view_after_overflow_async(
                error, self._codec, context.messages, **options
            )
        running.sent = view
        if view.has_note:
            context = context.replace(system_prompt=[*prompt, {"text": NOTE}])
        if not view.changed:
            return context
        return context.replace(messages=alternating(view.messages, context.messages))

    def _observe(self, event: Any) -> None:
        running = self._of(event.agent)
        if event.stop_response is None or running.sent is None:
            return
        running.is_retried = False
        usage = event.stop_response.message.get("metadata", {}).get("usage", {})
        # Bedrock counts cache reads in the total, not in the input.
        counted = usage.get("totalTokens", 0) - usage.get("outputTokens", 0)
        self.history.observe(running.sent, max(counted, usage.get("inputTokens", 0)))

    def _of(self, agent: Any) -> _Invocation:
        return self._running.setdefault(agent, _Invocation())

    def apply_management(self, agent: Any, **kwargs: Any) -> None:
        """The end of an invocation; the history does not change."""
        self._running.pop(agent, None)

    def reduce_context(self, agent: Any, e: Exception | None = None, **kwargs: Any) -> None:
        """After an overflow, compact before the next attempt; raise the error if that was not enough."""
        running = self._of(agent)
        if e is not None and running.is_retried:
            raise e
        running.overflow, running.is_retried = e, e is not None
