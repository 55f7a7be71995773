"""Opens telemetry from the settings."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from plimsoll.gateway.telemetry.dispatcher import RequestListener, Spend, TelemetryDispatcher
from plimsoll.gateway.telemetry.metrics import Metrics, shared_folder
from plimsoll.gateway.telemetry.request_log import RequestLog
from plimsoll.gateway.telemetry.traces import Traces, open_traces
from plimsoll.settings.gateway import GatewaySection


@dataclass(frozen=True, slots=True)
class Telemetry:
    """The open telemetry; close it at the end."""

    dispatcher: TelemetryDispatcher
    metrics: Metrics | None
    traces: Traces | None

    def close(self) -> None:
        """Flush what is left."""
        if self.traces is not None:
            self.traces.close()


def start_telemetry(settings: GatewaySection, spend: Spend, models: Sequence[str] = ()) -> Telemetry:
    """Start what the settings ask for; `spend` records what a key has used, `models` are the configured ones."""
    metrics = Metrics(shared_folder(os.environ), models) if settings.metrics else None
    traces = open_traces(settings.traces) if settings.traces else None
    listeners: tuple[RequestListener, ...] = (RequestLog(),) if traces is None else (RequestLog(), traces)
    dispatcher = TelemetryDispatcher(
        metrics,
        listeners,
        spend=spend,
        has_contents=settings.log_contents,
        has_traces=traces is not None,
    )
    return Telemetry(dispatcher, metrics, traces)
