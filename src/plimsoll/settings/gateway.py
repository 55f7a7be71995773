"""Settings of the gateway: address, access, limits, telemetry.

gateway:
  host: 127.0.0.1        other addresses need keys
  keys: auto             plimsoll gateway keys add NAME
  log: auto
  sessions:
    tools: [read_file]   no tool that accesses this machine unless it is listed
"""

from collections.abc import Sequence
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from plimsoll.settings.messaging import MessagingSections
from plimsoll.settings.section import Section

KeyRule = Literal["auto", "required", "off"]
LogForm = Literal["auto", "json", "text", "off"]
OnDisconnect = Literal["cancel", "finish"]
SessionTool = Literal["terminal", "read_file", "write_file", "patch", "search_files", "mcp", "plugins"]


def _origin(value: str) -> str:
    parts = urlsplit(value)
    if value != "*" and (not parts.scheme or not parts.netloc or value != f"{parts.scheme}://{parts.netloc}"):
        raise PydanticCustomError("origin", "it must be https://host, https://host:port or *", {})
    return value


def _collector(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.username is not None:
        raise PydanticCustomError("endpoint", "it must be http://host:port, without a password", {})
    return value


class GatewaySessions(Section):
    """Sessions that the gateway hosts: over HTTP, on Matrix, on Telegram."""

    tools: Sequence[SessionTool] = Field(
        default=["mcp", "plugins"],
        description=(
            "Tools of sessions. terminal and the file tools give every caller access to this machine. "
            "mcp and plugins mean all tools of the MCP servers and plugins."
        ),
        json_schema_extra={
            "allowed": "a list of terminal, read_file, write_file, patch, search_files, mcp, plugins"
        },
    )
    waiting: int = Field(
        default=16,
        ge=0,
        le=10_000,
        description="Maximum number of waiting messages per session and process; further ones get 429.",
    )
    open: int = Field(
        default=200,
        ge=0,
        le=100_000,
        description="Maximum number of idle sessions kept open per process.",
    )
    patience_seconds: float = Field(
        default=600.0,
        gt=0,
        description="Seconds that a message waits while another process uses its session.",
    )
    lease_seconds: float = Field(
        default=60.0,
        ge=5,
        le=3600,
        description="Seconds that a session stays locked after its process was killed.",
    )
    hygiene_seconds: float = Field(
        default=90.0, ge=1, description="Maximum seconds that a message waits while its session is compacted."
    )


class _GatewayOptions(Section):
    """The gateway without its messaging platforms."""

    host: Annotated[str, StringConstraints(min_length=1)] = Field(
        default="127.0.0.1",
        description="The address to listen on. Any address except loopback needs keys.",
        json_schema_extra={"allowed": "an address of this machine; 0.0.0.0 for all addresses"},
    )
    port: int = Field(default=8787, ge=1, le=65_535, description="The port to listen on.")
    workers: int = Field(default=1, ge=1, le=64, description="Number of processes that share the port.")
    compaction_workers: int = Field(
        default=1,
        ge=0,
        le=64,
        description=(
            "Worker processes per gateway process that compact conversations and parse large request bodies, "
            "so that other requests do not wait. They start when first needed. 0 uses threads instead. Plugin "
            "engines always run in threads."
        ),
    )
    keys: KeyRule = Field(
        default="auto",
        description=(
            "Whether callers need a key. auto: on any address except loopback, and on loopback as soon as a key "
            "exists. required: always. off: never; allowed only on loopback."
        ),
    )
    limit_wait_seconds: float = Field(
        default=300.0,
        ge=0,
        description=(
            "Seconds that a request waits while running requests reserve the rest of its key's daily limit. "
            "After that it gets 429."
        ),
    )
    on_disconnect: OnDisconnect = Field(
        default="cancel",
        description=(
            "What happens to a drop-in request when its client disconnects. cancel: cancel it upstream and "
            "estimate its usage if the provider has not reported it. finish: read the reply to its end, so the key "
            "is charged exactly what the provider bills."
        ),
    )
    allowed_origins: Sequence[Annotated[str, AfterValidator(_origin)]] = Field(
        default=[],
        description=(
            "Origins of web pages that may use the gateway (CORS). All other pages get 403, even with a key. "
            "* needs keys."
        ),
        json_schema_extra={"allowed": "a list of origins such as https://chat.example.org"},
    )
    body_limit: int = Field(default=64_000_000, ge=1_000, description="Maximum bytes of a request body.")
    depth_limit: int = Field(
        default=96,
        ge=4,
        le=500,
        description="Maximum nesting depth of a request's JSON.",
    )
    conversation_memory: int = Field(
        default=256_000_000,
        ge=1_000_000,
        description=(
            "Approximate bytes of conversations that each gateway process keeps in memory for the drop-in endpoints. "
            "The least recently used ones are dropped first; a later request reads them from the archive again."
        ),
    )
    store_conversations: bool = Field(
        default=False,
        description=(
            "Store drop-in conversations from their first request on, so that the inspector and `plimsoll sessions` "
            "show them. Otherwise a conversation is stored when it is first compacted."
        ),
    )
    recall: bool = Field(
        default=False,
        description=(
            "Add the tool plimsoll_recall to the requests of drop-in clients, so that their models can search and "
            "read back what a compaction removed. The gateway answers its calls; clients do not see them. A "
            "conversation keeps the value that it started with."
        ),
    )
    recall_rounds: int = Field(
        default=4,
        ge=1,
        le=32,
        description="Maximum upstream requests that plimsoll_recall calls add to one answer.",
    )
    recall_tokens: int = Field(
        default=8_000,
        ge=100,
        description="Approximate maximum tokens of content that plimsoll_recall returns in one answer.",
    )
    element_limit: int = Field(
        default=100_000,
        ge=100,
        description="Maximum number of lists, objects and commas in a request's JSON.",
    )
    header_limit: int = Field(
        default=64_000,
        ge=1_000,
        le=1_000_000,
        description="Maximum bytes of the request line and headers.",
    )
    receive_seconds: float = Field(
        default=60.0, gt=0, description="Seconds within which a client must send its whole request."
    )
    send_seconds: float = Field(
        default=120.0,
        gt=0,
        description="Seconds within which a client must accept the next piece of a response.",
    )
    connections: int = Field(
        default=2_000, ge=1, description="Maximum connections per process; further ones get 503."
    )
    shutdown_seconds: float = Field(
        default=30.0, ge=1, description="Seconds that running requests get to finish at shutdown."
    )
    metrics: bool = Field(default=True, description="Serve Prometheus metrics at /metrics.")
    log: LogForm = Field(
        default="auto",
        description="Request log on standard error: `json` writes one object per line, `text` short lines, "
        "`off` nothing. `auto` writes text to a terminal and JSON elsewhere.",
    )
    log_contents: bool = Field(
        default=False,
        description="Also log requests and replies, with secrets removed.",
    )
    traces: Annotated[str, AfterValidator(_collector)] | None = Field(
        default=None,
        description="OpenTelemetry collector that receives a trace of each request (extra `otel`).",
        json_schema_extra={"allowed": "http://host:4318, or null"},
    )
    sessions: GatewaySessions = Field(default_factory=GatewaySessions)


class GatewaySection(MessagingSections, _GatewayOptions):
    """The gateway. Its keys are not settings: manage them with `plimsoll gateway keys`."""
