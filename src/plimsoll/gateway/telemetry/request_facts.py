"""Collects facts about a request while it is answered.

    TelemetryMiddleware ── begins ──► RequestFacts ◄── note_usage · note_compaction · note_refusal · note_upstream
      └──── ends ──► metrics, a line of the log, a trace

The facts are in a context variable of the task that serves the request, so the tasks that it starts find them too.
Outside a request, the functions do nothing. The facts never include message contents.
"""

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

from plimsoll.archive import CompactionEvent, UsageRecord
from plimsoll.gateway.asgi import ANONYMOUS, Caller


class Listener(Protocol):
    """Called at once: metrics and limits do not wait for the end of a request."""

    def used(self, facts: "RequestFacts", usage: UsageRecord) -> None: ...

    def compacted(self, facts: "RequestFacts", event: CompactionEvent) -> None: ...


@dataclass(slots=True)
class RequestFacts:
    """One request."""

    id: str
    method: str
    path: str
    began: float  # seconds since 1970
    start: float  # monotonic, like all times below
    listener: Listener
    caller: Caller = ANONYMOUS
    status: int = 0
    first_byte: float | None = None
    sent: float | None = None  # when the first upstream request was sent
    provider: str = ""
    address: str = ""
    model: str = ""
    dialect: str = ""
    refusal: str = ""  # label of the reason why the gateway itself refused
    error: str = ""
    sent_bytes: int = 0
    usage: list[UsageRecord] = field(default_factory=list)
    compactions: list[CompactionEvent] = field(default_factory=list)
    traceparent: str = ""  # the client's trace, if it sends one
    bodies: tuple[bytearray, bytearray] | None = None  # contents, only if they are logged

    @property
    def tokens(self) -> tuple[int, int, int, int]:
        """Uncached input, cache read, cache write, output."""
        plain = read = written = output = 0
        for record in self.usage:
            plain += record.input
            read += record.cache_read
            written += record.cache_write
            output += record.output
        return plain, read, written, output

    @property
    def money(self) -> float | None:
        """USD; None if no price is known."""
        known = [record.money for record in self.usage if record.money is not None]
        return sum(known) if known else None


CURRENT: ContextVar[RequestFacts | None] = ContextVar("plimsoll_request", default=None)


def current() -> RequestFacts | None:
    """The request that this task serves."""
    return CURRENT.get()


def current_key() -> str | None:
    """The id of the key of the current request; None without one."""
    facts = CURRENT.get()
    return facts.caller.owner if facts is not None else None


def note_usage(usage: UsageRecord) -> None:
    """Record a model request's usage; it counts towards the caller's limits."""
    facts = CURRENT.get()
    if facts is not None:
        facts.usage.append(usage)
        facts.listener.used(facts, usage)


def note_compaction(event: CompactionEvent, spent: Sequence[UsageRecord] = ()) -> None:
    """Record a compaction or a failed attempt; the `spent` usage of its summaries is charged already."""
    facts = CURRENT.get()
    if facts is not None:
        facts.usage += spent
        facts.compactions.append(event)
        facts.listener.compacted(facts, event)


def is_degraded(event: CompactionEvent) -> bool:
    """Whether code wrote the summary because the summary model failed or stopped sending tokens."""
    return bool(event.ledger.get("degraded"))


def note_refusal(word: str) -> None:
    """Record that the gateway itself refuses this request."""
    facts = CURRENT.get()
    if facts is not None:
        facts.refusal = word


def note_upstream(now: float, provider: str, model: str, address: str = "", dialect: str = "") -> None:
    """Record that a request is being sent upstream."""
    facts = CURRENT.get()
    if facts is not None:
        facts.sent = now if facts.sent is None else facts.sent
        facts.provider, facts.model, facts.address, facts.dialect = provider, model, address, dialect
