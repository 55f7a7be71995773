"""Metrics for Prometheus: requests, tokens, cache, compactions, refusals, waiting.

    one process          the metrics are in memory
    several processes    each keeps its own in a file of a shared folder; any of them reports the sum

Model names come from clients, so a label is the name of a card that ships with Plimsoll, or of the configured
model; all others are "other". No metric is per caller.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from plimsoll.archive import CompactionEvent, UsageRecord
from plimsoll.gateway.telemetry.request_facts import RequestFacts, is_degraded
from plimsoll.models import card_for

FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"  # prometheus_client reads it on import
OTHER = "other"
_WAITS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
_KINDS = ("input", "cache_read", "cache_write", "output")


Labelled = TypeVar("Labelled", Counter, Histogram)


class Metrics:
    """The metrics of one process; several processes share `folder`, and `models` are the configured ones."""

    def __init__(self, folder: Path | None = None, models: Sequence[str] = ()) -> None:
        self._folder, self._configured = folder, frozenset(models)
        own = self._registry = CollectorRegistry()
        self._labelled: dict[tuple[object, tuple[str, ...]], object] = {}
        self.under_way = Gauge(
            "plimsoll_requests_under_way",
            "Requests in progress.",
            registry=own,
            multiprocess_mode="livesum",
        )
        self._requests = Counter(
            "plimsoll_requests", "Requests by path and status.", ["path", "status"], registry=own
        )
        self._refusals = Counter(
            "plimsoll_refusals",
            "Requests that the gateway rejected, by reason.",
            ["reason"],
            registry=own,
        )
        self._seconds = Histogram(
            "plimsoll_request_seconds",
            "Time from a request to the end of its response.",
            ["path"],
            registry=own,
            buckets=_WAITS,
        )
        self._wait = Histogram(
            "plimsoll_first_byte_seconds",
            "Time from a request to the first byte of its response.",
            ["path"],
            registry=own,
            buckets=_WAITS,
        )
        self._own_wait = Histogram(
            "plimsoll_gateway_seconds",
            "Time that the gateway adds before the upstream request, including compactions.",
            registry=own,
            buckets=(0.0005, 0.001, 0.0025, *_WAITS),
        )
        self._tokens = Counter(
            "plimsoll_tokens", "Tokens by model and kind.", ["model", "kind"], registry=own
        )
        self._money = Counter(
            "plimsoll_cost_usd", "USD by model, where prices are known.", ["model"], registry=own
        )
        self._compactions = Counter(
            "plimsoll_compactions", "Compactions by trigger and outcome.", ["trigger", "outcome"],
            registry=own,
        )  # fmt: skip
        self._summary_failures = Counter(
            "plimsoll_summary_failures", "Summaries that code wrote because the summary model failed.",
            registry=own,
        )  # fmt: skip
        self._compaction_wait = Histogram(
            "plimsoll_compaction_wait_seconds",
            "Time that requests waited for a compaction.",
            registry=own,
            buckets=_WAITS,
        )
        self._removed = Counter("plimsoll_compacted_tokens", "Tokens removed by compactions.", registry=own)

    def ended(self, facts: RequestFacts, path: str, now: float) -> None:
        """Count an answered request."""
        status = str(facts.status) if facts.status else "none"
        self._with(self._requests, path, status).inc()
        self._with(self._seconds, path).observe(now - facts.start)
        if facts.first_byte is not None:
            self._with(self._wait, path).observe(facts.first_byte - facts.start)
        if facts.sent is not None:
            self._own_wait.observe(facts.sent - facts.start)
        if facts.refusal:
            self._with(self._refusals, facts.refusal).inc()

    def used(self, usage: UsageRecord) -> None:
        """Count a model request."""
        model = self._model(usage.model)
        amounts = (usage.input, usage.cache_read, usage.cache_write, usage.output)
        for kind, amount in zip(_KINDS, amounts, strict=True):
            if amount:
                self._with(self._tokens, model, kind).inc(amount)
        if usage.money:
            self._with(self._money, model).inc(usage.money)

    def compacted(self, event: CompactionEvent) -> None:
        """Count a compaction or a failed attempt."""
        self._with(self._compactions, event.trigger, event.outcome).inc()
        if is_degraded(event):
            self._summary_failures.inc()
        self._compaction_wait.observe(event.waited)
        self._removed.inc(
            max(0, event.tokens_before - event.tokens_after) if event.outcome == "compacted" else 0
        )

    def text(self) -> bytes:
        """The metrics of all processes in Prometheus's text format."""
        if self._folder is None:
            return generate_latest(self._registry)
        for file in self._folder.glob("gauge_live*_*.db"):
            pid = int(file.stem.rpartition("_")[2])
            if not _is_alive(pid):
                mark_process_dead(pid, str(self._folder))  # type: ignore[no-untyped-call]
        all_processes = CollectorRegistry()
        MultiProcessCollector(all_processes, path=str(self._folder))  # type: ignore[no-untyped-call]
        return generate_latest(all_processes)

    def _with(self, figure: Labelled, *labels: str) -> Labelled:
        """A metric with its labels, cached because the library locks and validates them each time."""
        found = self._labelled.get((figure, labels))
        if found is None:
            found = self._labelled[figure, labels] = figure.labels(*labels)
        return found  # type: ignore[return-value]  # the labels of a counter are a counter

    def _model(self, name: str) -> str:
        if name in self._configured:
            return name
        card = card_for(name)
        return card.name if card.known else OTHER


def shared_folder(environ: "os._Environ[str] | dict[str, str]") -> Path | None:
    """The shared metrics folder of this gateway's processes; None if there is only one process."""
    named = environ.get(FOLDER_VARIABLE)
    return Path(named) if named else None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
