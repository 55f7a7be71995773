"""MCP servers as sources of tools, through the official `mcp` package (extra `mcp`)."""

from plimsoll.tools.mcp.servers import NEEDS_PACKAGE, McpServers, McpTool

__all__ = ["NEEDS_PACKAGE", "McpServers", "McpTool"]
