"""`tools` and `mcp_servers`: time and output limits of tools, and MCP servers.

    tools:
      timeout: 120
    mcp_servers:
      docs:    {command: docs-server, args: [--fast], env: {TOKEN: "${DOCS_TOKEN}"}}
      search:  {url: "https://mcp.example.com/mcp", headers: {Authorization: "Bearer ${SEARCH_TOKEN}"}}

`${NAME}` refers to an environment variable and is read when a server starts, so no secret
needs to be in the file. The values of `env` and `headers` are never shown.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from plimsoll.settings.section import Section

_ADDRESS = re.compile(r"https?://[^\s/]+\S*", re.I)
_SECRET = re.compile(
    r"://[^/?#]*@|[?&](?:api[-_]?key|key|token|access_token|secret)=(?!\$\{|&|$)", re.I
)  # a user and password, or a parameter that does not come from the environment


def _address(url: str) -> str:
    if _SECRET.search(url):
        raise PydanticCustomError(
            "endpoint", "it contains a secret; replace it with ${NAME} and set that environment variable"
        )
    if not _ADDRESS.fullmatch(url):
        raise PydanticCustomError("endpoint", "it must be an http:// or https:// address")
    return url


class TerminalSettings(Section):
    """Which commands run without asking, and where."""

    allow: Sequence[str] = Field(
        default=[],
        description="Programs that run without asking, such as `pytest` or `git commit`; `*` allows every command.",
        json_schema_extra={
            "allowed": "a list of programs, optionally with a subcommand",
            "example": ["pytest"],
        },
    )
    sandbox: bool = Field(
        default=False,
        description="Run commands in bubblewrap, where they can change only the project's files.",
    )
    network: bool = Field(default=False, description="Allow network access in the sandbox.")


class ToolSettings(Section):
    """Limits for all tools."""

    terminal: TerminalSettings = Field(default_factory=TerminalSettings)

    edits: Literal["ask", "accept", "plan"] = Field(
        default="ask",
        description="How `plimsoll chat` handles changes to files of the project: `ask` shows a diff and asks, if "
        "someone can answer; `accept` makes them; `plan` changes nothing and runs only read-only commands.",
    )

    timeout: float = Field(
        default=120.0, gt=0, le=3600, description="Seconds after which a command or a search is terminated."
    )
    output_limit: int = Field(
        default=30_000,
        ge=1_000,
        description="Maximum characters of a tool result for the model; longer results keep their beginning and end.",
    )


class McpServerSettings(Section):
    """One MCP server: a program to start or an address to connect to."""

    command: str | None = Field(
        default=None,
        min_length=1,
        description="Program to start; it communicates over standard input and output.",
        json_schema_extra={"example": "docs-server"},
    )
    args: Sequence[str] = Field(
        default=[],
        description="Arguments for the program.",
        json_schema_extra={"allowed": "a list of strings; quote numbers"},
    )
    env: dict[str, str] = Field(
        default={},
        description="Environment variables for the program; ${NAME} inserts one of yours. Values are never shown.",
        json_schema_extra={
            "allowed": "names and strings; quote numbers",
            "private": True,
            "example": {"DOCS_TOKEN": "${DOCS_TOKEN}"},
        },
    )
    url: Annotated[str, AfterValidator(_address)] | None = Field(
        default=None,
        description="Address of an HTTP server; ${NAME} inserts an environment variable.",
        json_schema_extra={"allowed": "an http:// or https:// address, or null"},
    )
    headers: dict[str, str] = Field(
        default={},
        description="Headers for every request; ${NAME} inserts an environment variable. Values are never shown.",
        json_schema_extra={"allowed": "names and strings; quote numbers", "private": True},
    )
    timeout: float = Field(
        default=60.0, gt=0, description="Timeout in seconds for connecting and for each call."
    )
    enabled: bool = Field(default=True, description="Use this server.")

    @model_validator(mode="after")
    def _is_one_kind(self) -> "McpServerSettings":
        if self.command is None and self.url is None:
            raise PydanticCustomError("between_keys", "a server needs either command or url")
        kind, others = ("command", ("url", "headers")) if self.command else ("url", ("args", "env"))
        unused = next((name for name in others if getattr(self, name)), None)
        if unused:
            raise PydanticCustomError(
                "between_keys", "it has no effect with {kind}", {"key": unused, "kind": kind}
            )
        return self
