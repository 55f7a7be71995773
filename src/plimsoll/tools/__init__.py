"""What the agent can do: a shell, files, search, and the tools of MCP servers; calls run to the end in any case."""

from plimsoll.tools.running import CANCELLED, Finished, OnFinished, Outcome
from plimsoll.tools.standard import standard_tools
from plimsoll.tools.terminal import require_bubblewrap
from plimsoll.tools.tool import (
    Approval,
    Approve,
    Arguments,
    Decision,
    Definition,
    FunctionTool,
    Interrupted,
    Question,
    Tool,
    ToolContext,
    ToolResult,
    failed,
)
from plimsoll.tools.toolbox import ToolBox
from plimsoll.tools.workplace import Workplace

__all__ = [
    "CANCELLED",
    "Approval",
    "Approve",
    "Arguments",
    "Decision",
    "Definition",
    "Finished",
    "FunctionTool",
    "Interrupted",
    "OnFinished",
    "Outcome",
    "Question",
    "Tool",
    "ToolBox",
    "ToolContext",
    "ToolResult",
    "Workplace",
    "failed",
    "require_bubblewrap",
    "standard_tools",
]
