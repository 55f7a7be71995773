"""Who is told of requests: the figures, the log, the traces, and the key whose limits they count for."""

from collections.abc import Callable, MutableMapping
from typing import Any, Protocol

from plimsoll.archive import CompactionEvent, UsageRecord
from plimsoll.archive.keys import KeyUsage
from plimsoll.gateway.watch.facts import Facts
from plimsoll.gateway.watch.figures import Figures

OTHER = "other"
Spend = Callable[[str, KeyUsage], None]


class Teller(Protocol):
    """Hears of every request at its end."""

    def ended(self, facts: Facts, path: str, now: float) -> None: ...


class Board:
    """Hands on what happens. `spend` counts what a key has used."""

    def __init__(
        self,
        figures: Figures | None = None,
        tellers: tuple[Teller, ...] = (),
        *,
        spend: Spend | None = None,
        has_contents: bool = False,
        has_traces: bool = False,
    ) -> None:
        self._figures, self._tellers, self._spend = figures, tellers, spend
        self.has_contents, self.has_traces = has_contents, has_traces

    def begun(self) -> None:
        """A request has come."""
        if self._figures is not None:
            self._figures.under_way.inc()

    def used(self, facts: Facts, usage: UsageRecord) -> None:
        """A model was asked for this request."""
        self.charge(facts.caller.owner, usage)

    def charge(self, key: str | None, usage: UsageRecord) -> None:
        """A model was asked on behalf of a key, or of nobody who has one."""
        if self._figures is not None:
            self._figures.used(usage)
        if self._spend is not None and key is not None:
            tokens = usage.input + usage.cache_read + usage.cache_write + usage.output
            self._spend(key, KeyUsage(tokens=tokens, money=usage.money or 0.0))

    def compacted(self, facts: Facts, event: CompactionEvent) -> None:
        """A conversation became lighter for this request, or was refused to."""
        if self._figures is not None:
            self._figures.compacted(event)

    def ended(self, facts: Facts, scope: MutableMapping[str, Any], now: float) -> None:
        """A request was answered, or given up."""
        path = template_of(scope)
        if self._figures is not None:
            self._figures.under_way.dec()
            self._figures.ended(facts, path, now)
        for teller in self._tellers:
            teller.ended(facts, path, now)


def template_of(scope: MutableMapping[str, Any]) -> str:
    """The path without the names in it, of which there are too many; one word for those that nobody serves."""
    if scope.get("endpoint") is None:
        return OTHER
    path = str(scope["path"])
    for name, value in scope.get("path_params", {}).items():
        path = path.replace(f"/{value}", f"/{{{name}}}", 1)
    return path
