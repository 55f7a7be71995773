"""Measures what compactions keep of recorded conversations, in this process or on all cores.

    rows ──► cut after user turns ──► compact the history ──► is what the agent needed next still there?

A worker returns only the measurements.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from plimsoll.bulk.chunks import Chunk, chunks_of
from plimsoll.bulk.inputs import InputFile
from plimsoll.bulk.pool import cores, in_order
from plimsoll.bulk.rows import rows_in
from plimsoll.context import ContextCompressor
from plimsoll.errors import TranscriptError
from plimsoll.messages import Message
from plimsoll.quality import (
    CONTINUATION,
    Measurement,
    SizeSettings,
    measure,
    prepare,
    recency_window,
    spread,
    tokens,
    turns_of,
)
from plimsoll.quality.handoff import section, taken_up
from plimsoll.transcripts import Transcript

MAX_CUTS = 4  # per conversation
# Fewer conversations are measured faster in this process than workers can start.
FEWEST_FOR_WORKERS = 8


@dataclass(frozen=True, slots=True)
class MeasurementPlan:
    """How every conversation is cut and compacted."""

    window: int
    threshold: float
    size_settings: SizeSettings
    sizes_only: bool = False  # measure only the size of the result

    @property
    def due(self) -> int:
        """The size from which a conversation is cut."""
        return int(self.window * self.threshold)


@dataclass(frozen=True, slots=True)
class PairedResult:
    """One compacted cut, and the newest messages of the same size."""

    at: int
    compacted: Measurement
    recency: Measurement
    is_taken_up: bool  # the agent did next what the summary's first next step says


@dataclass(frozen=True, slots=True)
class MeasuredConversation:
    """A conversation without its messages."""

    place: str
    source: str
    line: int | None
    id: str | None
    tokens: int
    pairs: tuple[PairedResult, ...] = ()
    sizes: tuple[int, ...] = ()  # of the compacted histories
    notices: tuple[str, ...] = ()
    failure: str = ""  # why it could not be read


def measured_files(files: Sequence[InputFile], plan: MeasurementPlan) -> Iterator[MeasuredConversation]:
    """Every conversation of these files, in order."""
    jobs = [_MeasurementJob(chunk, plan) for chunk in chunks_of(files, rows=1)]
    workers = min(cores(), len(jobs)) if len(jobs) >= FEWEST_FOR_WORKERS else 1
    for found in in_order(_measured_chunk, jobs, workers):
        yield from found


def measured(transcript: Transcript, plan: MeasurementPlan) -> MeasuredConversation:
    """Measure one conversation; it has no cuts if it is too short."""
    cuts = list(spread(turns_of(transcript.messages, plan.due), MAX_CUTS))
    histories = [transcript.messages[:at] for at in cuts]
    return MeasuredConversation(
        transcript.place,
        transcript.source,
        transcript.line,
        transcript.id,
        tokens(transcript.messages),
        () if plan.sizes_only else tuple(_pair(transcript.messages, at, plan) for at in cuts),
        tuple(tokens(_engine(plan).compress(history)) for history in histories) if plan.sizes_only else (),
        transcript.notices,
    )


@dataclass(frozen=True, slots=True)
class _MeasurementJob:
    chunk: Chunk
    plan: MeasurementPlan


def _measured_chunk(job: _MeasurementJob) -> list[MeasuredConversation]:
    found = []
    for row in rows_in(job.chunk):
        try:
            found.append(measured(row.read(), job.plan))
        except TranscriptError as error:
            found.append(
                MeasuredConversation(row.source, row.source, row.number, None, 0, failure=str(error))
            )
    return found


def _engine(plan: MeasurementPlan) -> ContextCompressor:
    return ContextCompressor(
        context_length=plan.window,
        threshold=plan.threshold,
        target_ratio=plan.size_settings.target_ratio,
        protect_last_n=plan.size_settings.protect_last_n,
        target_tokens=plan.size_settings.target_tokens,
    )


def _pair(messages: Sequence[Message], at: int, plan: MeasurementPlan) -> PairedResult:
    history, continuation = list(messages[:at]), messages[at : at + CONTINUATION]
    looked_for = prepare(history, continuation)
    engine = _engine(plan)
    result = engine.compress(history)
    newest = recency_window(history, tokens(result))
    steps = section(engine.last_report.summary if engine.last_report else "", "Next Steps")
    return PairedResult(
        at,
        measure(looked_for, history, result),
        measure(looked_for, history, newest),
        bool(steps) and taken_up(steps[0], continuation),
    )
