"""Pydantic AI: a capability that prepares every model request.

    message history  stays complete          prepare_model_request ──► the model sees the view

After an overflow, the conversation is compacted and the request is sent again, once.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from plimsoll.context.markers import NOTE
from plimsoll.integrations.history import HistoryCompactor
from plimsoll.integrations.pydantic_ai_messages import PydanticAiCodec
from plimsoll.integrations.requirement import host_package
from plimsoll.integrations.sent_views import SentViews
from plimsoll.integrations.wording import COMPACT, RECALL, definition_of

with host_package("pydantic-ai", "pydantic_ai"):
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.exceptions import RetryModelRequest
    from pydantic_ai.messages import InstructionPart, ModelResponse
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.tools import Tool
    from pydantic_ai.toolsets import FunctionToolset


@dataclass(init=False)
class PlimsollCapability(AbstractCapability[Any]):
    """Keeps an agent's requests within its model's window. Takes the options of `HistoryCompactor`.

    With `tools`, the agent can call `compact_context` and, with `recall`, read back removed content.
    """

    history: HistoryCompactor = field(repr=False, compare=False)

    def __init__(self, *, tools: bool = False, **options: Any) -> None:
        self.history = HistoryCompactor(**options)
        self._codec, self._offers_tools = PydanticAiCodec(), tools or self.history.options.recall
        self._sent = SentViews(self.history)

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """The request with the view."""
        messages, options = request_context.messages, _asked(request_context)
        view = await self.history.view_async(self._codec, messages, **options)
        self._sent.add(ctx.run_id, view)
        if not view.changed:
            return request_context
        parameters = request_context.model_request_parameters
        parts = parameters.instruction_parts
        if parts and any(map(_has_note, view.system)):
            parameters = replace(parameters, instruction_parts=[*parts, InstructionPart(NOTE)])
        return replace(request_context, messages=view.messages, model_request_parameters=parameters)

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Record the provider's token count."""
        self._sent.observe(ctx.run_id, response.usage.input_tokens)
        return response

    async def on_model_request_error(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        """After an overflow, send the request again with a smaller view."""
        if request_context.attempt > 1:
            raise error
        options = _asked(request_context)
        await self.history.view_after_overflow_async(error, self._codec, ctx.messages, **options)
        raise RetryModelRequest from error

    def get_toolset(self) -> FunctionToolset[Any] | None:
        """The tools for the agent."""

        async def compact_context(focus: str = "") -> str:
            return await self.history.answer_async(COMPACT, {"focus": focus})

        async def recall(ctx: RunContext[Any], query: str = "", handle: str = "", offset: int = 0) -> str:
            log = [message for group in self._codec.decode(ctx.messages) for message in group.messages]
            arguments = {"query": query, "handle": handle, "offset": offset}
            return await self.history.answer_async(RECALL, arguments, log)

        if not self._offers_tools:
            return None
        tools = [Tool(compact_context, takes_ctx=False, description=_description(COMPACT))]
        if self.history.options.recall:
            tools.append(Tool(recall, takes_ctx=True, description=_description(RECALL)))
        return FunctionToolset(tools)


def _description(name: str) -> str:
    return str(definition_of(name)["function"]["description"])


def _has_note(message: dict[str, Any]) -> bool:
    return NOTE in str(message.get("content"))


def _asked(context: ModelRequestContext) -> dict[str, Any]:
    parameters = context.model_request_parameters
    parts = parameters.instruction_parts or []
    tools = [*parameters.function_tools, *parameters.output_tools]
    return {
        "system": [{"role": "system", "content": part.content} for part in parts],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description or "",
                    "parameters": tool.parameters_json_schema,
                },
            }
            for tool in tools
        ],
        "model": context.model.model_name,
        "window": getattr(context.model, "context_window", None),
    }
