"""All configured MCP servers, and their tools.

    async with McpServers(settings.mcp_servers, os.environ) as servers:
        box = box.with_tools(await servers.tools())        # connects here, all at once
        servers.problems                                   # {"docs": "the MCP server 'docs' does not start …"}

An unreachable server only costs its own tools.
"""

import asyncio
import importlib.util
import json
from collections.abc import Mapping
from typing import Any

from plimsoll.errors import SettingError
from plimsoll.settings.tools import McpServerSettings
from plimsoll.tools.mcp.connection import McpConnection, ServerDisconnected, ServerUnreachable
from plimsoll.tools.mcp.naming import tool_names
from plimsoll.tools.mcp.results import result_of
from plimsoll.tools.tool import Approval, Arguments, Definition, Tool, ToolContext, ToolResult, failed

NEEDS_PACKAGE = "MCP servers need another package"


class McpTool(Tool):
    """A tool of a server."""

    def __init__(self, name: str, offered: Any, connection: McpConnection) -> None:
        schema = {"type": "object", "properties": {}, **json.loads(json.dumps(offered.input_schema))}
        super().__init__(
            Definition(name, (offered.description or offered.title or offered.name).strip(), schema)
        )
        self._offered, self._connection = offered, connection
        hints = offered.annotations
        self._is_destructive = bool(hints and hints.destructive_hint and not hints.read_only_hint)
        self._may_repeat = bool(hints and (hints.read_only_hint or hints.idempotent_hint))
        self.is_safe_in_parallel = bool(hints and hints.read_only_hint)

    async def needs_approval(self, arguments: Arguments, context: ToolContext) -> Approval | None:
        server = self._connection.name
        if self._is_destructive:
            return Approval(f"is marked as destructive by the MCP server {server!r}")
        if context.edits.mode == "plan":  # calls of tools without the hint have been refused already
            return Approval(f"is read-only only according to the MCP server {server!r}")
        return None

    async def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        try:
            answer = await self._connection.call(self._offered.name, arguments, self._may_repeat)
        except ServerDisconnected as error:
            return failed(f"{error}. The effect of the call is unknown; the next call restarts the server.")
        except (ServerUnreachable, SettingError) as error:
            return failed(str(error))
        return result_of(answer)


class McpServers:
    """The servers, sorted by name; they connect when their tools are first listed."""

    def __init__(self, settings: Mapping[str, McpServerSettings], environ: Mapping[str, str]) -> None:
        used = {name: server for name, server in sorted(settings.items()) if server.enabled}
        self._connections = [McpConnection(name, server, environ) for name, server in used.items()]
        self._tools: tuple[McpTool, ...] | None = None
        self.problems: dict[str, str] = {}

    async def tools(self) -> tuple[McpTool, ...]:
        """The tools of all reachable servers; listed once, then cached."""
        if self._tools is None:
            if self._connections and importlib.util.find_spec("mcp") is None:
                names = [connection.name for connection in self._connections]
                self.problems = dict.fromkeys(names, NEEDS_PACKAGE)
                self._connections = []
            offered = await asyncio.gather(*(self._offered(connection) for connection in self._connections))
            self._tools = self._named(dict(zip(self._connections, offered, strict=True)))
        return self._tools

    async def close(self) -> None:
        """Disconnect from all servers."""
        await asyncio.gather(*(connection.close() for connection in self._connections))

    async def __aenter__(self) -> "McpServers":
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def _offered(self, connection: McpConnection) -> list[Any]:
        try:
            return await connection.list_tools()
        except (ServerUnreachable, SettingError) as error:
            self.problems[connection.name] = str(error)
        except Exception as error:  # a server that violates the protocol
            self.problems[connection.name] = (
                f"the MCP server {connection.name!r} failed: {type(error).__name__}"
            )
        await connection.close()
        return []

    def _named(self, offered: Mapping[McpConnection, list[Any]]) -> tuple[McpTool, ...]:
        found = {
            (connection.name, tool.name): (tool, connection)
            for connection, tools in offered.items()
            for tool in sorted(tools, key=lambda tool: str(tool.name))
        }
        names = tool_names(found)
        return tuple(McpTool(names[key], tool, connection) for key, (tool, connection) in found.items())
