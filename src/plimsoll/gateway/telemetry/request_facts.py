"""What becomes known of a request while it is answered, noted from wherever it becomes known.

    TelemetryMiddleware ── begins ──► RequestFacts ◄── note_usage · note_compaction · note_refusal · note_upstream
      └──── ends ──► metrics, a line of the log, a trace

The facts of a request are found by the task that serves it and by all tasks that this one starts, so nobody
has to hand them on. Outside of a request this does nothing. There is no place in them for what was said.
"""

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

from plimsoll.archive import CompactionEvent, UsageRecord
from plimsoll.gateway.asgi import NOBODY, Caller


class Listener(Protocol):
    """Who is told at once: metrics and limits do not wait for the end of a request."""

    def used(self, facts: "RequestFacts", usage: UsageRecord) -> None: ...

    def compacted(self, facts: "RequestFacts", event: CompactionEvent) -> None: ...


@dataclass(slots=True)
class RequestFacts:
    """One request."""

    id: str
    method: str
    path: str
    began: float  # seconds since 1970
    start: float  # by the clock that never goes back, as are all below
    listener: Listener
    caller: Caller = NOBODY
    status: int = 0
    first_byte: float | None = None
    sent: float | None = None  # when the upstream was first asked
    provider: str = ""
    address: str = ""
    model: str = ""
    dialect: str = ""
    refusal: str = ""  # why the gateway itself refused, in a word
    error: str = ""
    sent_bytes: int = 0
    usage: list[UsageRecord] = field(default_factory=list)
    compactions: list[CompactionEvent] = field(default_factory=list)
    traceparent: str = ""  # the trace that the client keeps, where it keeps one
    said: tuple[bytearray, bytearray] | None = None  # contents, only where the log is told to have them

    @property
    def tokens(self) -> tuple[int, int, int, int]:
        """Plain input, cache read, cache written, output."""
        plain = read = written = output = 0
        for one in self.usage:
            plain += one.input
            read += one.cache_read
            written += one.cache_write
            output += one.output
        return plain, read, written, output

    @property
    def money(self) -> float | None:
        """USD; None where nobody knows a price."""
        known = [one.money for one in self.usage if one.money is not None]
        return sum(known) if known else None


CURRENT: ContextVar[RequestFacts | None] = ContextVar("plimsoll_request", default=None)


def current() -> RequestFacts | None:
    """The request that is being served here."""
    return CURRENT.get()


def current_key() -> str | None:
    """The id of the key with which the request that is served here was sent; None without one."""
    facts = CURRENT.get()
    return facts.caller.owner if facts is not None else None


def note_usage(usage: UsageRecord) -> None:
    """A model was asked, and this is what it used: it counts for the caller's limits."""
    facts = CURRENT.get()
    if facts is not None:
        facts.usage.append(usage)
        facts.listener.used(facts, usage)


def note_compaction(event: CompactionEvent, spent: Sequence[UsageRecord] = ()) -> None:
    """A conversation became lighter, or was refused to; its summaries used `spent`, which is charged already."""
    facts = CURRENT.get()
    if facts is not None:
        facts.usage += spent
        facts.compactions.append(event)
        facts.listener.compacted(facts, event)


def note_refusal(word: str) -> None:
    """The gateway itself refuses this request."""
    facts = CURRENT.get()
    if facts is not None:
        facts.refusal = word


def note_upstream(now: float, provider: str, model: str, address: str = "", dialect: str = "") -> None:
    """An upstream is asked now."""
    facts = CURRENT.get()
    if facts is not None:
        facts.sent = now if facts.sent is None else facts.sent
        facts.provider, facts.model, facts.address, facts.dialect = provider, model, address, dialect
