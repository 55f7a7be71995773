"""The interface of a tool, and its result.

    Definition   name, description, JSON schema: what the model sees
    Tool         a definition that can be run, and that may want to ask a person first
    ToolResult   text, images beside it, and the whole text where it was shortened

A result speaks about the work and nothing else: it never tells the model how full
its window is. Tools are asynchronous; what blocks goes to a thread or a process.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from plimsoll.messages import Message, Part
from plimsoll.tools.workspace import Workspace

Arguments: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool as the model sees it; `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call gave."""

    text: str
    is_error: bool = False
    parts: tuple[Part, ...] = ()  # images and the like, behind the text
    full: str | None = None  # the whole text, where `text` is only its beginning and end

    @property
    def content(self) -> str | list[Part]:
        """The content of the tool message."""
        return [{"type": "text", "text": self.text}, *self.parts] if self.parts else self.text

    def message(self, call_id: str, name: str) -> Message:
        """The tool message that answers a call."""
        message: Message = {"role": "tool", "tool_call_id": call_id, "name": name, "content": self.content}
        return {**message, "is_error": True} if self.is_error else message


def failed(text: str) -> ToolResult:
    """A result that says what went wrong."""
    return ToolResult(f"Error: {text}", is_error=True)


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool may know about the conversation that it works for."""

    workplace: Workspace
    output_limit: int = 30_000  # characters of one result that the model sees


class Interrupted(asyncio.CancelledError):
    """A cancellation that brings along what the tool had so far."""

    def __init__(self, so_far: ToolResult) -> None:
        super().__init__()
        self.so_far = so_far


class Tool(ABC):
    """Something that the agent can do."""

    is_safe_in_parallel: bool = False  # true where two calls at once cannot get into each other's way
    permission_setting: str = ""  # the setting that allows calls where nobody can be asked

    def __init__(self, definition: Definition) -> None:
        self.definition = definition

    @property
    def name(self) -> str:
        return self.definition.name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    async def needs_approval(self, arguments: Arguments, context: ToolContext) -> "Approval | None":
        """What a person should approve before this call; None where nobody has to be asked."""
        return None

    def grant(self, names: Sequence[str], context: ToolContext) -> None:
        """Remember that a person allowed these for good."""

    @abstractmethod
    async def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        """Do it. `arguments` fit the schema; whatever is raised becomes a result that says so."""


@dataclass(frozen=True, slots=True)
class Approval:
    """Why a person should be asked before a call, and what they can allow for good."""

    reason: str
    always: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ApprovalQuestion:
    """What a person is asked before a call is run."""

    call_id: str
    tool: str
    arguments: Arguments = field(repr=False)
    reason: str
    always: tuple[str, ...] = ()  # what can be allowed for good; nothing where that is not offered


@dataclass(frozen=True, slots=True)
class ApprovalAnswer:
    """A person's answer; the remark goes to the model with a refusal, `always` allows it for good."""

    allowed: bool
    remark: str = ""
    always: bool = False


Approve: TypeAlias = Callable[[ApprovalQuestion], Awaitable[ApprovalAnswer]]


class FunctionTool(Tool):
    """A tool made of a function: how a host lends the model its own abilities."""

    def __init__(
        self,
        definition: Definition,
        function: Callable[[Arguments, ToolContext], Awaitable[ToolResult | str]],
        is_safe_in_parallel: bool = False,
    ) -> None:
        super().__init__(definition)
        self._function = function
        self.is_safe_in_parallel = is_safe_in_parallel

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        result = await self._function(arguments, context)
        return ToolResult(result) if isinstance(result, str) else result
