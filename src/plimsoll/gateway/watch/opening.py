"""Everything that watches, from the settings to the end of the process."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from plimsoll.config.gateway import GatewaySection
from plimsoll.gateway.watch.board import Board, Spend, Teller
from plimsoll.gateway.watch.figures import Figures, shared_folder
from plimsoll.gateway.watch.lines import RequestLog
from plimsoll.gateway.watch.traces import Traces, open_traces


@dataclass(frozen=True, slots=True)
class Watching:
    """What was opened; close it at the end."""

    board: Board
    figures: Figures | None
    traces: Traces | None

    def close(self) -> None:
        """Send what is left."""
        if self.traces is not None:
            self.traces.close()


def open_watching(settings: GatewaySection, spend: Spend, models: Sequence[str] = ()) -> Watching:
    """What the settings ask for; `spend` counts what a key has used, `models` are configured ones."""
    figures = Figures(shared_folder(os.environ), models) if settings.metrics else None
    traces = open_traces(settings.traces) if settings.traces else None
    tellers: tuple[Teller, ...] = (RequestLog(),) if traces is None else (RequestLog(), traces)
    board = Board(
        figures,
        tellers,
        spend=spend,
        has_contents=settings.log_contents,
        has_traces=traces is not None,
    )
    return Watching(board, figures, traces)
