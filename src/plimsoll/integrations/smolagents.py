"""smolagents: wraps the agent's model.

    agent.memory  stays complete          PlimsollModel.generate ──► the model sees the view

The host sends tool calls and results as text, and joins neighbours of one role. The view is built from joined
messages, so it is the same as through the gateway.
"""

from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from itertools import chain, islice
from typing import Any, ClassVar

from plimsoll.integrations.history import HistoryCompactor
from plimsoll.integrations.host_view import HostView
from plimsoll.integrations.requirement import host_package
from plimsoll.integrations.smolagents_messages import SmolagentsCodec, asked_focus, searched

with host_package("smolagents", "smolagents"):
    from smolagents import ChatMessage, Model, Tool
    from smolagents.models import get_tool_json_schema

# What this agent sent last; unset in the threads in which a `CodeAgent` runs code.
_NEWEST: ContextVar[Sequence[ChatMessage] | None] = ContextVar("plimsoll_smolagents_messages", default=None)


class PlimsollModel(Model):
    """Any model, with requests that stay within its window. Takes the options of `HistoryCompactor`.

    `tools` are for the agent: `compact_context` and, with `recall`, a tool that reads back removed content.
    """

    def __init__(self, model: Model, **options: Any) -> None:
        super().__init__(
            flatten_messages_as_text=model.flatten_messages_as_text,
            tool_name_key=model.tool_name_key,
            tool_arguments_key=model.tool_arguments_key,
            model_id=model.model_id,
        )
        self.model, self.history, self._codec = model, HistoryCompactor(**options), SmolagentsCodec()

    def generate(self, messages: list[ChatMessage], *args: Any, **named: Any) -> ChatMessage:
        """Call the model with the view; after an overflow, with a smaller one."""
        view = self._view(messages, named)
        try:
            reply = self.model.generate(view.messages, *args, **named)
        except Exception as error:
            view = self.history.view_after_overflow(error, self._codec, messages, **self._asked(named))
            reply = self.model.generate(view.messages, *args, **named)
        if reply.token_usage is not None:
            self.history.observe(view, reply.token_usage.input_tokens)
        return reply

    def generate_stream(self, messages: list[ChatMessage], *args: Any, **named: Any) -> Iterator[Any]:
        """The same for a streamed reply; after an overflow, nothing has been streamed yet."""
        view = self._view(messages, named)
        try:
            deltas = self._begun(view, *args, **named)
        except Exception as error:
            view = self.history.view_after_overflow(error, self._codec, messages, **self._asked(named))
            deltas = self._begun(view, *args, **named)
        for delta in deltas:
            yield delta
            if delta.token_usage is not None and delta.token_usage.input_tokens:
                self.history.observe(view, delta.token_usage.input_tokens)

    def _begun(self, view: HostView[ChatMessage], *args: Any, **named: Any) -> Iterator[Any]:
        """A streamed reply whose first delta has arrived."""
        deltas = iter(self.model.generate_stream(view.messages, *args, **named))
        return chain(list(islice(deltas, 1)), deltas)

    @property
    def tools(self) -> list[Tool]:
        """The tools for the agent."""
        return [_tool(definition["function"], self.history) for definition in self.history.tool_definitions]

    def _view(self, messages: list[ChatMessage], named: dict[str, Any]) -> HostView[ChatMessage]:
        options = {**self._asked(named), "compact": asked_focus(messages)}
        _NEWEST.set(tuple(messages))
        return self.history.view(self._codec, messages, **options)

    def _asked(self, named: dict[str, Any]) -> dict[str, Any]:
        tools = named.get("tools_to_call_from") or []
        return {"tools": [get_tool_json_schema(tool) for tool in tools], "model": self.model_id or ""}


def _tool(function: dict[str, Any], history: HistoryCompactor) -> Tool:
    properties = function["parameters"]["properties"]

    class ContextTool(Tool):
        name, description, output_type = function["name"], function["description"], "string"
        inputs: ClassVar[dict[str, Any]] = {
            key: {**value, "nullable": True} for key, value in properties.items()
        }
        skip_forward_signature_validation = True

        def forward(self, **arguments: Any) -> str:
            newest = _NEWEST.get()
            if newest is None:
                return f"{self.name} does nothing here: it works in a ToolCallingAgent, not in code."
            stated = {key: value for key, value in arguments.items() if value}
            # A handle is that of a message as it was sent; a search needs the host's own messages.
            log = None if stated.get("handle") else searched(newest)
            return history.answer(self.name, stated, log)

    return ContextTool()
