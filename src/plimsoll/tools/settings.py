"""Settings of this package: time and output limits of tools, and MCP servers.

    tools:
      timeout: 120
    mcp_servers:
      docs:    {command: docs-server, args: [--fast], env: {TOKEN: "${DOCS_TOKEN}"}}
      search:  {url: "https://mcp.example.com/mcp", headers: {Authorization: "Bearer ${SEARCH_TOKEN}"}}

`${NAME}` stands for an environment variable and is read when a server is started, so that
no key has to be in the file. The values of `env` and `headers` are never shown.
"""

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from plimsoll.sections import Section

_ADDRESS = re.compile(r"https?://[^\s/]+\S*", re.I)
_SECRET = re.compile(
    r"://[^/?#]*@|[?&](?:api[-_]?key|key|token|access_token|secret)=(?!\$\{|&|$)", re.I
)  # a user and a password, or a parameter that is not taken from the environment


def _address(url: str) -> str:
    if _SECRET.search(url):
        raise PydanticCustomError(
            "endpoint", "it carries a secret; write ${NAME} in its place and set that environment variable"
        )
    if not _ADDRESS.fullmatch(url):
        raise PydanticCustomError("endpoint", "it must be an http:// or https:// address")
    return url


class TerminalSettings(Section):
    """What the terminal may do without asking, and where."""

    allow: Sequence[str] = Field(
        default=[],
        description="Programs that run without asking, such as `pytest` or `git commit`; `*` is every command.",
        json_schema_extra={
            "allowed": "a list of programs, with a subcommand where you like",
            "example": ["pytest"],
        },
    )
    sandbox: bool = Field(
        default=False,
        description="Whether commands run in bubblewrap, where they can change only the project's files.",
    )
    network: bool = Field(default=False, description="Whether commands in the sandbox reach the network.")


class ToolSettings(Section):
    """What holds for all tools."""

    terminal: TerminalSettings = Field(default_factory=TerminalSettings)

    timeout: float = Field(
        default=120.0, gt=0, le=3600, description="Seconds after which a command or a search is ended."
    )
    output_limit: int = Field(
        default=30_000,
        ge=1_000,
        description="Characters of one tool result that the model sees; longer ones keep beginning and end.",
    )


class McpServerSettings(Section):
    """One MCP server: a command that is started, or an address that is called."""

    command: str | None = Field(
        default=None,
        min_length=1,
        description="Program that is the server, spoken to over its input and output.",
        json_schema_extra={"example": "docs-server"},
    )
    args: Sequence[str] = Field(
        default=[],
        description="Arguments of the program.",
        json_schema_extra={"allowed": "a list of texts, numbers in quotes"},
    )
    env: dict[str, str] = Field(
        default={},
        description="Variables of the program; ${NAME} is one of yours. Values are never shown.",
        json_schema_extra={
            "allowed": "names with texts, numbers in quotes",
            "private": True,
            "example": {"DOCS_TOKEN": "${DOCS_TOKEN}"},
        },
    )
    url: Annotated[str, AfterValidator(_address)] | None = Field(
        default=None,
        description="Address of a server over HTTP; ${NAME} is a variable of yours.",
        json_schema_extra={"allowed": "an http:// or https:// address, or null"},
    )
    headers: dict[str, str] = Field(
        default={},
        description="Headers of every request; ${NAME} is a variable of yours. Values are never shown.",
        json_schema_extra={"allowed": "names with texts, numbers in quotes", "private": True},
    )
    timeout: float = Field(default=60.0, gt=0, description="Seconds that connecting and each call may take.")
    enabled: bool = Field(default=True, description="Whether the server is used.")

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
