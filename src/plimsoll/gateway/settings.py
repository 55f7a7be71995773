"""What the gateway is told when it starts: where it listens, and how much it takes.

    plimsoll gateway --host 127.0.0.1 --port 8787 --workers 2

Everything about models, thresholds and caching stands in `config.yaml`, as for every other command.
"""

from dataclasses import dataclass, field

from plimsoll.providers import Timeouts

HOST = "127.0.0.1"
PORT = 8787


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one client, and all of them together, may ask of the gateway."""

    body_bytes: int = 64_000_000
    body_seconds: float = 60.0  # for a client to send its whole request
    depth: int = 96  # of objects and lists inside of each other
    reply_bytes: int = 64_000_000  # of a reply that is not streamed
    connections: int = 2_000  # at once, per process; more are told to come back later
    conversations: int = 2_000  # whose state is kept in memory, per process
    conversation_bytes: int = 256_000_000  # of all of them together


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """Where the gateway listens and what it takes."""

    host: str = HOST
    port: int = PORT
    workers: int = 1
    limits: Limits = field(default_factory=Limits)
    timeouts: Timeouts = field(default_factory=Timeouts)
    shutdown_seconds: float = 30.0  # for requests that are under way when it ends
