"""The agent's tools: shell, files, search and MCP servers. Every call gets a result."""

from plimsoll.tools.standard import standard_tools
from plimsoll.tools.terminal import require_bubblewrap
from plimsoll.tools.tool import (
    EDIT_MODES,
    Approval,
    ApprovalAnswer,
    ApprovalQuestion,
    Approve,
    Arguments,
    Definition,
    EditMode,
    EditPermission,
    FunctionTool,
    Interrupted,
    Tool,
    ToolContext,
    ToolResult,
    failed,
)
from plimsoll.tools.tool_run import CANCELLED, CallOutcome, FinishedCalls, OnFinished
from plimsoll.tools.toolbox import ToolBox
from plimsoll.tools.workspace import Workspace

__all__ = [
    "CANCELLED",
    "EDIT_MODES",
    "Approval",
    "ApprovalAnswer",
    "ApprovalQuestion",
    "Approve",
    "Arguments",
    "CallOutcome",
    "Definition",
    "EditMode",
    "EditPermission",
    "FinishedCalls",
    "FunctionTool",
    "Interrupted",
    "OnFinished",
    "Tool",
    "ToolBox",
    "ToolContext",
    "ToolResult",
    "Workspace",
    "failed",
    "require_bubblewrap",
    "standard_tools",
]
