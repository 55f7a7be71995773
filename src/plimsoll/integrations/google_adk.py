"""Google ADK: a plugin that shortens what the model sees. The session keeps every event.

    app = App(name="app", root_agent=agent, plugins=[PlimsollPlugin(window=64_000)])

The plugin changes one request at a time, before the model call. Do not combine it with `EventsCompactionConfig`: ADK
would compact the compacted view again.
"""

import json
from collections.abc import Sequence
from typing import Any

from plimsoll.dialects import dialect_named
from plimsoll.integrations.codec import HostGroup, WrittenMessage
from plimsoll.integrations.history import HistoryCompactor
from plimsoll.integrations.requirement import host_package
from plimsoll.integrations.sent_views import SentViews
from plimsoll.messages import Message, parts_of

with host_package("google-adk", "google.adk"):
    from google.adk.plugins.base_plugin import BasePlugin
    from google.adk.tools.base_tool import BaseTool
    from google.genai import types


class AdkContentCodec:
    """`Content` objects are Google's wire format, which Plimsoll reads and writes as a dialect."""

    _dialect = dialect_named("gemini")

    def decode(self, messages: Sequence[Any]) -> list[HostGroup]:
        """One content may have several function responses."""
        wire = [_dumped(message) for message in messages]
        return [HostGroup(1, self._dialect.canonical(wire, place)) for place in range(len(wire))]

    def encode(self, written: Sequence[WrittenMessage[Any]]) -> list[Any]:
        """Contents for messages that a compaction wrote; signatures of changed calls are dropped."""
        wire = self._dialect.written([message.message for message in written], "")
        return [types.Content.model_validate(item) for item in wire]

    def system(self, config: Any) -> tuple[Message, ...]:
        """The system instruction in canonical form."""
        instruction = config.system_instruction
        wire = {"parts": [{"text": instruction}]} if isinstance(instruction, str) else _dumped(instruction)
        return self._dialect.lead({"systemInstruction": wire})

    def tools(self, config: Any) -> list[dict[str, Any]]:
        """The declared functions in OpenAI form."""
        return self._dialect.canonical_tools([_dumped(tool) for tool in config.tools or ()])


class PlimsollPlugin(BasePlugin):
    """Compacts conversations before model calls. Options are those of `AdapterOptions`."""

    def __init__(self, name: str = "plimsoll", **options: Any) -> None:
        super().__init__(name=name)
        self.history = HistoryCompactor(**options)
        self._codec = AdkContentCodec()
        self._sent = SentViews(self.history)

    @property
    def tools(self) -> list[Any]:
        """Tools for the agent: `compact_context`, and `recall` with the option `recall=True`."""
        return [
            AdkContextTool(self.history, definition["function"])
            for definition in self.history.tool_definitions
        ]

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        """Send the view instead of the history."""
        speaker = (*_session(callback_context), callback_context.agent_name)
        config = llm_request.config
        view = await self.history.view_async(
            self._codec,
            llm_request.contents,
            system=self._codec.system(config),
            tools=self._codec.tools(config),
            conversation=json.dumps(speaker),
            model=llm_request.model or "",
        )
        self._sent.add((callback_context.invocation_id, *speaker), view)
        if view.changed:
            llm_request.contents = view.messages
        if view.has_note:
            texts = [part["text"] for item in view.system for part in parts_of(item)]
            parts = [types.Part(text=text) for text in texts]
            config.system_instruction = types.Content(role="user", parts=parts)

    async def after_model_callback(self, *, callback_context: Any, llm_response: Any) -> None:
        """Record the provider's token count, which the last part of a stream has."""
        usage = llm_response.usage_metadata
        if usage is not None:
            speaker = (*_session(callback_context), callback_context.agent_name)
            self._sent.observe((callback_context.invocation_id, *speaker), usage.prompt_token_count)

    async def close(self) -> None:
        """Close the compactor with its runner."""
        self.history.close()


class AdkContextTool(BaseTool):
    """A context tool as ADK calls it."""

    def __init__(self, history: HistoryCompactor, function: dict[str, Any]) -> None:
        super().__init__(name=function["name"], description=function["description"])
        self._history, self._parameters = history, function["parameters"]

    def _get_declaration(self) -> Any:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._parameters
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> dict[str, str]:
        """Answer a call."""
        return {"result": await self._history.answer_async(self.name, args)}


def _session(context: Any) -> tuple[str, ...]:
    """Identifies a session: another user or app may have the same session id."""
    return (context.session.app_name, context.session.user_id, context.session.id)


def _dumped(value: Any) -> dict[str, Any]:
    dumped: dict[str, Any] = value.model_dump(mode="json", by_alias=True, exclude_none=True) if value else {}
    return dumped
