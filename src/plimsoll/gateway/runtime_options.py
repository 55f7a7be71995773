"""Options of the gateway besides its settings (`gateway` in config.yaml): a command flag and fixed capacities."""

from dataclasses import dataclass, field

from plimsoll.providers import Timeouts


@dataclass(frozen=True, slots=True)
class RuntimeOptions:
    """Options that are not settings."""

    demo: bool = False  # the embedded model may answer if no upstream is configured
    timeouts: Timeouts = field(default_factory=Timeouts)
    reply_bytes: int = 64_000_000  # of a reply that is not streamed
    conversations: int = 2_000  # whose state is kept in memory, per process
