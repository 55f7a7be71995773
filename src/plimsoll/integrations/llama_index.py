"""LlamaIndex: a memory that keeps every message and gives the agent the view.

    memory.get_all()  is complete          memory.get() ──► the model sees the view

An agent adds the tool calls of the running turn behind its memory, so they are compacted from the next turn on.
"""

from collections.abc import Sequence
from typing import Any

from plimsoll.integrations.history import HistoryCompactor
from plimsoll.integrations.llama_index_messages import LlamaIndexCodec, canonical
from plimsoll.integrations.requirement import host_package
from plimsoll.integrations.wording import COMPACT, RECALL, definition_of

with host_package("llama-index", "llama_index"):
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.memory.types import BaseMemory
    from llama_index.core.tools import FunctionTool


class PlimsollMemory(BaseMemory):
    """The memory of an agent. Takes the options of `HistoryCompactor`.

    Give it the `system_prompt` instead of the agent, so that it can carry the note of a compaction, and the agent's
    `tools`, so that they are weighed.
    """

    _history: HistoryCompactor = PrivateAttr()
    _messages: list[ChatMessage] = PrivateAttr(default_factory=list)
    _system: list[ChatMessage] = PrivateAttr(default_factory=list)
    _schemas: list[dict[str, Any]] = PrivateAttr(default_factory=list)

    def __init__(self, *, system_prompt: str = "", tools: Sequence[Any] = (), **options: Any) -> None:
        super().__init__()
        self._history = HistoryCompactor(**options)
        self._system = [ChatMessage(role="system", content=system_prompt)] if system_prompt else []
        known = [one if hasattr(one, "metadata") else FunctionTool.from_defaults(one) for one in tools]
        self._schemas = [one.metadata.to_openai_tool() for one in known]

    @classmethod
    def from_defaults(cls, **kwargs: Any) -> "PlimsollMemory":
        """The memory with these options."""
        return cls(**kwargs)

    @property
    def history(self) -> HistoryCompactor:
        """What makes the views."""
        return self._history

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """What the model should see, the system prompt included."""
        given = [*self._system, *self._messages]
        return self._history.view(LlamaIndexCodec(), given, tools=self._schemas).messages

    def get_all(self) -> list[ChatMessage]:
        """Every message."""
        return list(self._messages)

    def put(self, message: ChatMessage) -> None:
        """Add a message."""
        self._messages.append(message)

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace all messages."""
        self._messages = list(messages)

    def reset(self) -> None:
        """Remove all messages."""
        self._messages = []

    def tools(self) -> list[FunctionTool]:
        """Tools for the agent: `compact_context` and, with `recall`, one that reads back what was removed."""

        def compact_context(focus: str = "") -> str:
            return self._history.answer(COMPACT, {"focus": focus})

        def recall(query: str = "", handle: str = "", offset: int = 0) -> str:
            log = list(map(canonical, self._messages))
            return self._history.answer(RECALL, {"query": query, "handle": handle, "offset": offset}, log)

        functions = [compact_context, recall] if self._history.options.recall else [compact_context]
        texts = {name: definition_of(name)["function"]["description"] for name in (COMPACT, RECALL)}
        return [FunctionTool.from_defaults(one, description=texts[one.__name__]) for one in functions]
