"""Records the usage of an agent's turn for the request that runs it.

sessions ── recording_usage(emit) ──► agent ── UsageReported · Compacted ──► the facts of the request, then `emit`
"""

from plimsoll.agent import Compacted, Emit, Event, UsageReported
from plimsoll.gateway.telemetry.request_facts import note_compaction, note_usage


def recording_usage(emit: Emit) -> Emit:
    """Wrap `emit` so that it also records usage and compactions for the request."""

    def noted(event: Event) -> None:
        if isinstance(event, UsageReported):
            note_usage(event.record)
        elif isinstance(event, Compacted):
            note_compaction(event.event, event.spent)
        emit(event)

    return noted
