"""LlamaIndex: a memory that keeps every message and returns the view to the agent.

    memory.get_all()  is complete          memory.get() ──► the model sees the view

An agent adds the tool calls of the current turn after its memory, so they are compacted from the next turn on.

A workflow's `Context` stores the memory with its messages. Objects among the options, such as a summarizer, and an
archive address with a password are not stored: pass them to `from_dict`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field, PrivateAttr, field_serializer

from plimsoll.integrations.context_tools import asked_a_turn_ago
from plimsoll.integrations.history import HistoryCompactor
from plimsoll.integrations.llama_index_messages import LlamaIndexCodec, canonical
from plimsoll.integrations.options import AdapterOptions
from plimsoll.integrations.requirement import host_package
from plimsoll.integrations.wording import COMPACT, RECALL, definition_of

with host_package("llama-index", "llama_index"):
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.memory.types import BaseMemory
    from llama_index.core.tools import FunctionTool


class PlimsollMemory(BaseMemory):
    """The memory of an agent. Takes the options of `HistoryCompactor`.

    Pass the `system_prompt` to the memory instead of the agent, so that it can get the compaction note, and the
    agent's `tools`, so that they are counted.
    """

    messages: list[ChatMessage] = Field(default_factory=list)
    system_prompt: str = ""
    tool_schemas: list[dict[str, Any]] = Field(default_factory=list)
    plain_options: dict[str, Any] = Field(default_factory=dict)  # options that can be stored

    _history: HistoryCompactor = PrivateAttr()

    def __init__(
        self,
        *,
        messages: Sequence[Any] = (),
        system_prompt: str = "",
        tools: Sequence[Any] = (),
        tool_schemas: Sequence[dict[str, Any]] = (),
        plain_options: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        known = [tool if hasattr(tool, "metadata") else FunctionTool.from_defaults(tool) for tool in tools]
        schemas = [item.metadata.to_openai_tool() for item in known] or list(tool_schemas)
        history = HistoryCompactor(**{**(plain_options or {}), **options})
        super().__init__(
            messages=list(messages),
            system_prompt=system_prompt,
            tool_schemas=schemas,
            plain_options=_plain(history.options),
        )
        self._history = history

    @classmethod
    def class_name(cls) -> str:
        """The name under which the memory is stored."""
        return "PlimsollMemory"

    @field_serializer("messages")
    def _stored(self, messages: list[ChatMessage]) -> list[Any]:
        return [message.model_dump(mode="json") for message in messages]

    @classmethod
    def from_defaults(cls, **kwargs: Any) -> "PlimsollMemory":
        """The memory with these options."""
        return cls(**kwargs)

    @property
    def history(self) -> HistoryCompactor:
        """The compactor that creates the views."""
        return self._history

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """The view for the model, including the system prompt."""
        prompt = [ChatMessage(role="system", content=self.system_prompt)] if self.system_prompt else []
        history = [*prompt, *self.messages]
        options = {
            "tools": self.tool_schemas,
            "compact": asked_a_turn_ago(list(map(canonical, self.messages))),
        }
        return self._history.view(LlamaIndexCodec(), history, **options).messages

    def get_all(self) -> list[ChatMessage]:
        """Every message."""
        return list(self.messages)

    def put(self, message: ChatMessage) -> None:
        """Add a message."""
        self.messages.append(message)

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace all messages."""
        self.messages = list(messages)

    def reset(self) -> None:
        """Remove all messages."""
        self.messages = []

    @property
    def tools(self) -> list[FunctionTool]:
        """Tools for the agent: `compact_context` and, with `recall`, one that reads back removed content."""

        def compact_context(focus: str = "") -> str:
            return self._history.answer(COMPACT, {"focus": focus})

        def recall(query: str = "", handle: str = "", offset: int = 0) -> str:
            log = list(map(canonical, self.messages))
            return self._history.answer(RECALL, {"query": query, "handle": handle, "offset": offset}, log)

        functions = [compact_context, recall] if self._history.options.recall else [compact_context]
        texts = {name: definition_of(name)["function"]["description"] for name in (COMPACT, RECALL)}
        return [
            FunctionTool.from_defaults(function, description=texts[function.__name__])
            for function in functions
        ]


def _plain(options: AdapterOptions) -> dict[str, Any]:
    """The options that can be stored: numbers and names, no secrets."""
    plain = (str, int, float, type(None))
    values = {field.name: getattr(options, field.name) for field in fields(options)}
    if urlsplit(options.archive or "").password:
        del values["archive"]
    return {name: value for name, value in values.items() if isinstance(value, plain)}
