"""The rows of the main table: every cut through Plimsoll at every budget, and through the plain windows.

cut ──► plimsoll at 8K … 32K, plimsoll at its own choice
    ──► the newest messages of the same sizes, first 3 + last 20
"""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from corpus import Cut
from ours import Recorded, SizeSettings, engine

from plimsoll.quality import (
    Measurement,
    MeasurementCase,
    fabrications,
    figures,
    first_and_last,
    measure,
    recency_window,
    terms_in,
)

OWN = "own"  # the engine's own choice: defaults
FIRST_LAST = "first 3 + last 20"
Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Job:
    """One cut and what to do with it."""

    cut: Cut
    prepared: MeasurementCase
    knobs: Mapping[str, SizeSettings]
    windows: bool = True


@dataclass(frozen=True, slots=True)
class Taken:
    """One compaction, measured and timed."""

    measured: Measurement
    seconds: float = 0.0
    from_model: int = 0  # identifiers that the summary brought along and the conversation never had


def run(jobs: Sequence[Job], pool: Executor, tick: Callable[[], None]) -> dict[str, dict[str, Any]]:
    """Figures by row."""
    found: dict[str, list[Taken]] = defaultdict(list)
    for rows in pool.map(measured_rows, jobs):
        for name, one in rows.items():
            found[name].append(one)
        tick()
    return {name: summed(every) for name, every in found.items()}


def measured_rows(job: Job) -> dict[str, Taken]:
    """All rows of one cut."""
    found: dict[str, Taken] = {}
    for label, knobs in job.knobs.items():
        found[f"plimsoll {label}"] = _compact(job, knobs)
    if not job.windows:
        return found
    history = job.cut.history
    for label in job.knobs:
        # The window of exactly the size that Plimsoll's result has here, so that nobody has more room.
        size = found[f"plimsoll {label}"].measured.tokens
        window = recency_window(history, size if label == OWN else int(label))
        found[f"recency {label}"] = Taken(measure(job.prepared, history, window))
    found[FIRST_LAST] = Taken(measure(job.prepared, history, first_and_last(history)))
    return found


def _compact(job: Job, knobs: SizeSettings) -> Taken:
    writer = Recorded(job.cut.summary) if job.cut.summary else None
    compressor = engine(knobs, writer)
    started = time.perf_counter()
    result = compressor.compress(job.cut.history)
    seconds = time.perf_counter() - started
    return taken(job.cut, job.prepared, result, seconds)


def taken(
    cut: Cut,
    prepared: MeasurementCase,
    result: list[Message],
    seconds: float,
    own: frozenset[str] = frozenset(),
) -> Taken:
    """A result measured; what a model's summary invented is counted apart from what the compactor did."""
    said = frozenset(terms_in(cut.summary or ""))
    found = measure(prepared, cut.history, result, said | own)
    invented = len(fabrications(cut.history, result, own)) if said else len(found.fabricated)
    return Taken(found, seconds, invented - len(found.fabricated))


def summed(every_taken: Sequence[Taken]) -> dict[str, Any]:
    """The figures of a row, ready for JSON."""
    every = [one.measured for one in every_taken]
    seconds = sorted(one.seconds for one in every_taken)
    row = rounded(asdict(figures(every)))
    row["from_model"] = sum(one.from_model for one in every_taken)
    row["seconds_median"] = round(median(seconds), 3)
    row["seconds_p95"] = round(seconds[int(0.95 * (len(seconds) - 1))], 3)
    row["examples"] = [term for one in every for term in one.fabricated][:5]
    row["violations"] = [str(v) for one in every for v in one.violations][:5]
    return row


def rounded(value: Any) -> Any:
    """Shares to four digits, larger numbers to one."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, float):
        return round(value, 4) if abs(value) < 10 else round(value, 1)
    return value
