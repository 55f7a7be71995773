"""Settings of this package: how long tools may take, how much they may say, and servers that bring more of them.

    tools:
      timeout: 120
    mcp_servers:
      docs:    {command: docs-server, args: [--fast], env: {TOKEN: "${DOCS_TOKEN}"}}
      search:  {url: "https://mcp.example.com/mcp", headers: {Authorization: "Bearer ${SEARCH_TOKEN}"}}

`${NAME}` stands for an environment variable and is read when a server is started, so that
no key has to be in the file.
"""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError


class _Section(BaseModel):
    """A group of settings: closed, frozen, strict."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class ToolSettings(_Section):
    """What holds for all tools."""

    timeout: float = Field(
        default=120.0, gt=0, le=3600, description="Seconds after which a command or a search is ended."
    )
    output_limit: int = Field(
        default=30_000,
        ge=1_000,
        description="Characters of one tool result that the model sees; longer ones keep beginning and end.",
    )


class McpServerSettings(_Section):
    """One MCP server: a command that is started, or an address that is called."""

    command: str | None = Field(
        default=None,
        min_length=1,
        description="Program that is the server, spoken to over its input and output.",
    )
    args: Sequence[str] = Field(
        default=[], description="Arguments of the program.", json_schema_extra={"allowed": "a list of texts"}
    )
    env: dict[str, str] = Field(
        default={},
        description="Environment variables of the program; ${NAME} stands for one of yours.",
        json_schema_extra={"allowed": "names and texts"},
    )
    url: str | None = Field(
        default=None,
        pattern=r"^https?://[^\s/]+",
        description="Address of a server over HTTP; ${NAME} stands for one of your environment variables.",
        json_schema_extra={"allowed": "an http:// or https:// address, or null"},
    )
    headers: dict[str, str] = Field(
        default={},
        description="Headers of every request; ${NAME} stands for one of your environment variables.",
        json_schema_extra={"allowed": "names and texts"},
    )
    timeout: float = Field(default=60.0, gt=0, description="Seconds that connecting and each call may take.")
    enabled: bool = Field(default=True, description="Whether the server is used.")

    @model_validator(mode="after")
    def _is_one_kind(self) -> "McpServerSettings":
        if (self.command is None) == (self.url is None):
            raise PydanticCustomError(
                "between_keys", "a server needs either command or url", {"key": "command"}
            )
        unused = "headers" if self.command and self.headers else ""
        unused = "args" if self.url and self.args else "env" if self.url and self.env else unused
        if unused:
            kind = "command" if self.command else "url"
            raise PydanticCustomError(
                "between_keys", "it has no meaning beside {kind}", {"key": unused, "kind": kind}
            )
        return self
