"""A real MCP server for the tests: over its input and output, or over HTTP on the port that it is given."""

import asyncio
import base64
import os
import sys
from pathlib import Path

from mcp.server.mcpserver import Image, MCPServer
from mcp.types import (
    CallToolResult,
    EmbeddedResource,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)

server = MCPServer("demo")
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def pid() -> int:
    """The number of this process."""
    return os.getpid()


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def wipe() -> str:
    """Destroy everything."""
    return "wiped"


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def die_once(marker: str) -> str:
    """Die at the first call, answer at the second."""
    path = Path(marker)
    if not path.exists():
        path.touch()
        os._exit(3)
    return "alive"


@server.tool()
def die() -> str:
    """Die."""
    print("goodbye with secret-value-123", file=sys.stderr, flush=True)
    os._exit(3)


@server.tool()
async def slow() -> str:
    """Never answer."""
    await asyncio.Event().wait()
    return ""


@server.tool()
def fail() -> CallToolResult:
    """Give an error."""
    return CallToolResult(content=[TextContent(text="no such thing")], is_error=True)


@server.tool()
def picture() -> Image:
    """A picture."""
    return Image(data=PNG, format="png")


@server.tool()
def mixed() -> CallToolResult:
    """All kinds of content."""
    return CallToolResult(
        content=[
            TextContent(text="one"),
            EmbeddedResource(resource=TextResourceContents(uri="file:///a.txt", text="two")),
            ResourceLink(name="three", uri="file:///b.txt"),
        ]
    )


@server.tool()
def structured() -> CallToolResult:
    """Only structured content."""
    return CallToolResult(content=[], structured_content={"b": 1, "a": [2]})


@server.tool(name="odd.name with spaces")
def odd(token: str = "SOME_TOKEN") -> str:
    """The value of an environment variable."""
    return os.environ.get(token, "unset")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run()
