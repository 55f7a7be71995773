"""Settings of the gateway: address, access, limits, telemetry.

    gateway:
      host: 127.0.0.1        anything else needs keys
      keys: auto             plimsoll gateway keys add NAME
      log: json
      sessions:
        tools: [read_file]   none of this machine's own unless they stand here

They stand here because the gateway is built on top of the configuration.
"""

from collections.abc import Sequence
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from plimsoll.config.messaging import MatrixSection, TelegramSection
from plimsoll.sections import Section

KeyRule = Literal["auto", "required", "off"]
LogForm = Literal["json", "text", "off"]
OnDisconnect = Literal["cancel", "finish"]
SessionTool = Literal["terminal", "read_file", "write_file", "patch", "search_files", "mcp", "plugins"]


def _origin(value: str) -> str:
    parts = urlsplit(value)
    if value != "*" and (not parts.scheme or not parts.netloc or value != f"{parts.scheme}://{parts.netloc}"):
        raise PydanticCustomError(
            "origin", "it must be written as https://host or https://host:port, or be *", {}
        )
    return value


def _collector(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.username is not None:
        raise PydanticCustomError(
            "endpoint", "it must be written as http://host:port, without a password", {}
        )
    return value


class GatewaySessions(Section):
    """Conversations that the gateway itself answers in: over HTTP, on Matrix, on Telegram."""

    tools: Sequence[SessionTool] = Field(
        default=["mcp", "plugins"],
        description=(
            "Tools that sessions have. Those of this machine (terminal, files) work for everybody who is let in: "
            "none of them unless you add it. mcp and plugins: all that these bring."
        ),
        json_schema_extra={
            "allowed": "a list of terminal, read_file, write_file, patch, search_files, mcp, plugins"
        },
    )
    waiting: int = Field(
        default=16,
        ge=0,
        le=10_000,
        description="Messages that wait in one session, per process; more get 429.",
    )
    open: int = Field(
        default=200,
        ge=0,
        le=100_000,
        description="Idle sessions that stay open, per process.",
    )
    patience_seconds: float = Field(
        default=600.0, gt=0, description="Seconds to wait while another process answers in a session."
    )
    lease_seconds: float = Field(
        default=60.0,
        ge=5,
        le=3600,
        description="Seconds for which a session stays locked after its process was killed.",
    )
    hygiene_seconds: float = Field(
        default=90.0, ge=1, description="Seconds that a message may wait while its session is compacted."
    )


class GatewaySection(Section):
    """The gateway. Its keys are no settings: `plimsoll gateway keys` makes and ends them."""

    host: Annotated[str, StringConstraints(min_length=1)] = Field(
        default="127.0.0.1",
        description="The address to listen on. Any but this machine's own needs keys.",
        json_schema_extra={"allowed": "an address of this machine; 0.0.0.0 for all of them"},
    )
    port: int = Field(default=8787, ge=1, le=65_535, description="The port to listen on.")
    workers: int = Field(default=1, ge=1, le=64, description="Processes that share the port.")
    compaction_workers: int = Field(
        default=1,
        ge=0,
        le=64,
        description=(
            "Processes in which each process of the gateway compacts conversations and reads large request bodies, "
            "so that other requests do not wait; started when first needed. 0 uses threads instead. Engines of "
            "plugins always run in threads."
        ),
    )
    keys: KeyRule = Field(
        default="auto",
        description=(
            "Whether callers need a key. auto: on any address but this machine's own, and as soon as there is one. "
            "off is refused on any other address."
        ),
    )
    limit_wait_seconds: float = Field(
        default=300.0,
        ge=0,
        description=(
            "Seconds that a request waits while requests under way may use the rest of its key's daily limit, before "
            "it is refused with 429."
        ),
    )
    on_disconnect: OnDisconnect = Field(
        default="cancel",
        description=(
            "What happens to a request to a drop-in endpoint whose client disconnects. cancel stops it at the "
            "provider; its usage is estimated where the provider had not reported it. finish reads the reply to its "
            "end, so its key is charged exactly what the provider bills, for the whole reply."
        ),
    )
    allowed_origins: Sequence[Annotated[str, AfterValidator(_origin)]] = Field(
        default=[],
        description=(
            "Origins of the web pages that may use the gateway from a browser (CORS); pages of all others get 403, "
            "with keys too. * needs keys."
        ),
        json_schema_extra={"allowed": "a list of origins such as https://chat.example.org"},
    )
    body_limit: int = Field(default=64_000_000, ge=1_000, description="Bytes that a request may have.")
    depth_limit: int = Field(
        default=96,
        ge=4,
        le=500,
        description="Objects and lists inside of each other that a request may have.",
    )
    element_limit: int = Field(
        default=100_000,
        ge=100,
        description="Lists, objects and commas that the JSON of a request may have.",
    )
    header_limit: int = Field(
        default=64_000,
        ge=1_000,
        le=1_000_000,
        description="Bytes that the request line and the headers of a request may have.",
    )
    receive_seconds: float = Field(
        default=60.0, gt=0, description="Seconds for a client to send its whole request."
    )
    send_seconds: float = Field(
        default=120.0,
        gt=0,
        description="Seconds for a client to take a piece of its answer, before it is cut off.",
    )
    connections: int = Field(
        default=2_000, ge=1, description="Connections per process; further ones are asked to retry later."
    )
    shutdown_seconds: float = Field(
        default=30.0, ge=1, description="Seconds for requests under way to finish when the gateway is ended."
    )
    metrics: bool = Field(default=True, description="Whether /metrics shows figures for Prometheus.")
    log: LogForm = Field(
        default="json",
        description="How requests are logged on standard error: one JSON object per line, a sentence, or not at all.",
    )
    log_contents: bool = Field(
        default=False,
        description="Whether the log has requests and replies too, without what looks like a secret.",
    )
    traces: Annotated[str, AfterValidator(_collector)] | None = Field(
        default=None,
        description="An OpenTelemetry collector that gets a trace of each request (extra `otel`).",
        json_schema_extra={"allowed": "http://host:4318, or null"},
    )
    sessions: GatewaySessions = Field(default_factory=GatewaySessions)
    matrix: MatrixSection = Field(default_factory=MatrixSection)
    telegram: TelegramSection = Field(default_factory=TelegramSection)
