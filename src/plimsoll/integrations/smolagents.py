"""smolagents: a model around the agent's model.

    agent.memory  stays complete          PlimsollModel.generate ──► the model sees the view

The host sends tool calls and results as text, and joins neighbours of one role. The view is made of messages that are
already joined, so it is the same as through the gateway.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, ClassVar

from plimsoll.integrations.codec import HostGroup, WrittenMessage
from plimsoll.integrations.history import HistoryCompactor
from plimsoll.integrations.host_view import HostView
from plimsoll.integrations.requirement import host_package
from plimsoll.messages import Message, parts_of

with host_package("smolagents", "smolagents"):
    from smolagents import ChatMessage, MessageRole, Model, Tool
    from smolagents.models import get_clean_message_list, get_tool_json_schema, tool_role_conversions


class SmolagentsCodec:
    """Neighbours of one role are one canonical message."""

    def decode(self, messages: Sequence[ChatMessage]) -> list[HostGroup]:
        """The messages as the host sends them."""
        groups = [list(group) for _, group in groupby(messages, key=_role)]
        return [HostGroup(len(group), [_joined(group)]) for group in groups]

    def encode(self, written: Sequence[WrittenMessage[ChatMessage]]) -> list[ChatMessage]:
        """One message each; the host needs parts to join neighbours."""
        return [ChatMessage(MessageRole(one.message["role"]), parts_of(one.message)) for one in written]


class PlimsollModel(Model):
    """Any model, whose requests stay within its window. Takes the options of `HistoryCompactor`.

    `tools` are for the agent: `compact_context` and, with `recall`, a tool that reads back what was removed.
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
        """Ask the model with the view; after an overflow, with a smaller one."""
        view = self._view(messages, named)
        try:
            reply = self.model.generate(view.messages, *args, **named)
        except Exception as error:
            asked = self._asked(named)
            view = self.history.relieved(error, self._codec, messages, **asked)
            reply = self.model.generate(view.messages, *args, **named)
        if reply.token_usage is not None:
            self.history.observe(view, reply.token_usage.input_tokens)
        return reply

    def generate_stream(self, messages: list[ChatMessage], *args: Any, **named: Any) -> Iterator[Any]:
        """The same for a streamed reply."""
        view = self._view(messages, named)
        for delta in self.model.generate_stream(view.messages, *args, **named):
            yield delta
            if delta.token_usage is not None and delta.token_usage.input_tokens:
                self.history.observe(view, delta.token_usage.input_tokens)

    @property
    def tools(self) -> list[Tool]:
        """The tools for the agent."""
        return [_tool(one["function"], self.history) for one in self.history.tool_definitions]

    def _view(self, messages: list[ChatMessage], named: dict[str, Any]) -> HostView[ChatMessage]:
        return self.history.view(self._codec, messages, **self._asked(named))

    def _asked(self, named: dict[str, Any]) -> dict[str, Any]:
        tools = named.get("tools_to_call_from") or []
        return {"tools": [get_tool_json_schema(tool) for tool in tools], "model": self.model_id or ""}


def _role(message: ChatMessage) -> str:
    role = tool_role_conversions.get(message.role, message.role)
    return str(getattr(role, "value", role))


def _joined(group: Sequence[ChatMessage]) -> Message:
    (message,) = get_clean_message_list(
        list(group), role_conversions=tool_role_conversions, convert_images_to_image_urls=True
    )
    return {"role": _role(group[0]), "content": message["content"]}


def _tool(function: dict[str, Any], history: HistoryCompactor) -> Tool:
    properties = function["parameters"]["properties"]

    class ContextTool(Tool):
        name, description, output_type = function["name"], function["description"], "string"
        inputs: ClassVar[dict[str, Any]] = {
            key: {**value, "nullable": True} for key, value in properties.items()
        }
        skip_forward_signature_validation = True

        def forward(self, **arguments: Any) -> str:
            return history.answer(self.name, {key: value for key, value in arguments.items() if value})

    return ContextTool()
