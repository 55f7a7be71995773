"""What the gateway is told when it starts: where it listens, and how much it takes.

    plimsoll gateway --host 127.0.0.1 --port 8787 --workers 2

What a person may choose stands in `config.yaml` under `gateway`; the flags of the command outrank it.
"""

from dataclasses import dataclass, field

from plimsoll.config.gateway import GatewaySection
from plimsoll.providers import Timeouts

HOST = "127.0.0.1"
PORT = 8787


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one client, and all of them together, may ask of the gateway."""

    body_bytes: int = 64_000_000
    body_seconds: float = 60.0  # for a client to send its whole request
    depth: int = 96  # of objects and lists inside of each other
    elements: int = (
        100_000  # lists, objects and commas of a body; a conversation of 5,000 messages has about 75,000
    )
    head_bytes: int = 64_000  # request line and headers; clients send less than 4,000
    name_characters: int = 256  # of a model; the longest known name has 71
    reply_bytes: int = 64_000_000  # of a reply that is not streamed
    connections: int = 2_000  # at once, per process; more are told to come back later
    conversations: int = 2_000  # whose state is kept in memory, per process
    conversation_bytes: int = 256_000_000  # of all of them together


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """How sessions are shared by those who speak in them, and by the processes that answer."""

    waiting: int = 16  # messages that wait in one session, per process; more are told to come back later
    open: int = 200  # sessions that stay open while nobody speaks in them, per process
    patience: float = 600.0  # seconds to wait while another process answers in a session
    lease: float = 60.0  # seconds for which a session is held after the process that answered was killed
    hygiene_seconds: float = 90.0  # that a message may wait while its session is made lighter


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """Where the gateway listens and what it takes."""

    host: str = HOST
    port: int = PORT
    workers: int = 1
    limits: Limits = field(default_factory=Limits)
    sessions: SessionLimits = field(default_factory=SessionLimits)
    timeouts: Timeouts = field(default_factory=Timeouts)
    shutdown_seconds: float = 30.0  # for requests that are under way when it ends
    demo: bool = False  # whether the embedded model may answer where no upstream is configured
    finishes_abandoned: bool = False  # whether a request goes on after its client has disconnected


def gateway_settings(
    section: GatewaySection,
    *,
    host: str | None = None,
    port: int | None = None,
    workers: int | None = None,
    demo: bool = False,
) -> GatewaySettings:
    """What `config.yaml` says of the gateway, and what the command says instead."""
    return GatewaySettings(
        host=host or section.host,
        port=port or section.port,
        workers=workers or section.workers,
        limits=Limits(
            body_bytes=section.body_limit,
            body_seconds=section.receive_seconds,
            depth=section.depth_limit,
            elements=section.element_limit,
            head_bytes=section.header_limit,
            connections=section.connections,
        ),
        sessions=SessionLimits(
            waiting=section.sessions.waiting,
            open=section.sessions.open,
            patience=section.sessions.patience_seconds,
            lease=section.sessions.lease_seconds,
            hygiene_seconds=section.sessions.hygiene_seconds,
        ),
        shutdown_seconds=section.shutdown_seconds,
        demo=demo,
        finishes_abandoned=section.on_disconnect == "finish",
    )
