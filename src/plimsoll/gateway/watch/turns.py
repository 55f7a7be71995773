"""A turn of the agent, noted while it happens: what it used counts for whoever asked.

desk ── noting(emit, model) ──► agent ── Used · Compacted ──► the facts of the request, then `emit`
"""

from plimsoll.agent import Compacted, Emit, Event, UsageReported
from plimsoll.archive import UsageRecord
from plimsoll.gateway.watch.facts import note_compaction, note_usage


def noting(emit: Emit, model: str) -> Emit:
    """What `emit` is, and what happens is noted besides."""

    def noted(event: Event) -> None:
        if isinstance(event, UsageReported):
            usage = event.usage
            read, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
            note_usage(
                UsageRecord(
                    model=model,
                    input=max(0, usage.prompt_tokens - read - written),
                    cache_read=read,
                    cache_write=written,
                    output=usage.completion_tokens,
                    money=event.money,
                )
            )
        elif isinstance(event, Compacted):
            note_compaction(event.event, event.spent)
        emit(event)

    return noted
