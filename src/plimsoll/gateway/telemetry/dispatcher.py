"""Dispatches the events of requests to the metrics, the log, the traces and the key limits."""

from collections.abc import Callable, MutableMapping
from typing import Any, Protocol

from plimsoll.archive import CompactionEvent, UsageRecord
from plimsoll.archive.keys import KeyUsage
from plimsoll.gateway.telemetry.metrics import Metrics
from plimsoll.gateway.telemetry.request_facts import RequestFacts

OTHER = "other"
Spend = Callable[[str, KeyUsage], None]


class RequestListener(Protocol):
    """Called at the end of every request."""

    def ended(self, facts: RequestFacts, path: str, now: float) -> None: ...


class TelemetryDispatcher:
    """Dispatches events. `spend` records what a key has used."""

    def __init__(
        self,
        metrics: Metrics | None = None,
        listeners: tuple[RequestListener, ...] = (),
        *,
        spend: Spend | None = None,
        has_contents: bool = False,
        has_traces: bool = False,
    ) -> None:
        self._metrics, self._listeners, self._spend = metrics, listeners, spend
        self.has_contents, self.has_traces = has_contents, has_traces

    def begun(self) -> None:
        """A request has arrived."""
        if self._metrics is not None:
            self._metrics.under_way.inc()

    def used(self, facts: RequestFacts, usage: UsageRecord) -> None:
        """A model request of this request has finished."""
        self.charge(facts.caller.owner, usage)

    def charge(self, key: str | None, usage: UsageRecord) -> None:
        """Charge a model request to a key, if there is one."""
        if self._metrics is not None:
            self._metrics.used(usage)
        if self._spend is not None and key is not None:
            tokens = usage.input + usage.cache_read + usage.cache_write + usage.output
            self._spend(key, KeyUsage(tokens=tokens, money=usage.money or 0.0))

    def compacted(self, facts: RequestFacts, event: CompactionEvent) -> None:
        """A conversation was compacted for this request, or the attempt failed."""
        if self._metrics is not None:
            self._metrics.compacted(event)

    def ended(self, facts: RequestFacts, scope: MutableMapping[str, Any], now: float) -> None:
        """A request was answered or cancelled."""
        path = template_of(scope)
        if self._metrics is not None:
            self._metrics.under_way.dec()
            self._metrics.ended(facts, path, now)
        for listener in self._listeners:
            listener.ended(facts, path, now)


def template_of(scope: MutableMapping[str, Any]) -> str:
    """The path with placeholders instead of ids, of which there are too many; one label for unknown paths."""
    if scope.get("endpoint") is None:
        return OTHER
    path = str(scope["path"])
    for name, value in scope.get("path_params", {}).items():
        path = path.replace(f"/{value}", f"/{{{name}}}", 1)
    return path
