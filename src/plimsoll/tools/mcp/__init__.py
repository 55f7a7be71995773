"""MCP servers as sources of tools, through the official `mcp` package (extra `mcp`)."""

from plimsoll.tools.mcp.servers import McpServers, McpTool

__all__ = ["McpServers", "McpTool"]
