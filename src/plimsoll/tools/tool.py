"""The interface of a tool, and its result.

    Definition   name, description, JSON schema: what the model sees
    Tool         a runnable definition that may ask for approval
    ToolResult   text, images, and the full text if it was shortened

A result never states how full the model's window is. Tools are asynchronous; blocking code
runs in a thread or a process.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from plimsoll.messages import Message, Part
from plimsoll.tools.workspace import Workspace

Arguments: TypeAlias = dict[str, Any]
EditMode: TypeAlias = Literal["ask", "accept", "plan"]
EDIT_MODES: tuple[EditMode, ...] = get_args(EditMode)


@dataclass(frozen=True, slots=True)
class Definition:
    """A tool as the model sees it; `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call."""

    text: str
    is_error: bool = False
    parts: tuple[Part, ...] = ()  # images and other parts after the text
    full: str | None = None  # the whole text, if `text` is only its start and end

    @property
    def content(self) -> str | list[Part]:
        """The content of the tool message."""
        return [{"type": "text", "text": self.text}, *self.parts] if self.parts else self.text

    def message(self, call_id: str, name: str) -> Message:
        """The tool message that answers a call."""
        message: Message = {"role": "tool", "tool_call_id": call_id, "name": name, "content": self.content}
        return {**message, "is_error": True} if self.is_error else message


def failed(text: str) -> ToolResult:
    """An error result."""
    return ToolResult(f"Error: {text}", is_error=True)


@dataclass(slots=True)
class EditPermission:
    """How changes to the project's files are handled; the host may change it during the conversation.

    ask      every change is shown and needs approval
    accept   changes inside the project are made at once
    plan     nothing is changed at all, and only read-only commands run
    """

    mode: EditMode = "accept"


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool knows about its conversation."""

    workplace: Workspace
    output_limit: int = 30_000  # characters of one result that the model sees
    edits: EditPermission = field(default_factory=EditPermission)
    on_output: Callable[[str], None] | None = None  # called with the last line that a running command printed


class Interrupted(asyncio.CancelledError):
    """A cancellation with the tool's partial result."""

    def __init__(self, so_far: ToolResult) -> None:
        super().__init__()
        self.so_far = so_far


class Tool(ABC):
    """An ability of the agent."""

    is_safe_in_parallel: bool = False  # calls can safely run at the same time
    is_read_only: bool = False  # no call changes anything
    permission_setting: str = ""  # the setting that allows calls if no one can approve them

    def __init__(self, definition: Definition) -> None:
        self.definition = definition

    @property
    def name(self) -> str:
        return self.definition.name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    async def needs_approval(self, arguments: Arguments, context: ToolContext) -> "Approval | None":
        """What the user must approve before this call; None if nothing."""
        return None

    async def changes_something(self, arguments: Arguments, context: ToolContext) -> bool:
        """Whether this call may change anything, so that it must not run in plan mode."""
        return not (self.is_read_only or self.is_safe_in_parallel)

    def grant(self, names: Sequence[str], context: ToolContext) -> None:
        """Store the user's permanent approval."""

    @abstractmethod
    async def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        """Run the call. `arguments` match the schema; any exception becomes an error result."""


@dataclass(frozen=True, slots=True)
class Approval:
    """Why a call needs approval, and what the user can allow permanently."""

    reason: str
    always: tuple[str, ...] = ()
    preview: str = ""  # what the call would change, as a unified diff


@dataclass(frozen=True, slots=True)
class ApprovalQuestion:
    """The approval question for a call."""

    call_id: str
    tool: str
    arguments: Arguments = field(repr=False)
    reason: str
    always: tuple[str, ...] = ()  # what can be allowed permanently; empty if that is not offered
    preview: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalAnswer:
    """The user's answer; the model gets the remark with a refusal, `always` allows the call permanently."""

    allowed: bool
    remark: str = ""
    always: bool = False


Approve: TypeAlias = Callable[[ApprovalQuestion], Awaitable[ApprovalAnswer]]


class FunctionTool(Tool):
    """A tool made from a function, for abilities of the host."""

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
