"""Compact conversations, one here or many in all cores, and say what became of each.

    Job(plan, transcript) ──► ContextCompressor ──► Outcome       in this process
                        └───► worker, worker, … ──► Outcome       where there are many

An outcome is plain data: it travels between processes and says the same in
both. Outcomes come in the order of the jobs.
"""

import os
import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from multiprocessing import get_context

from plimsoll.context import Cleared, ContextCompressor, Summarizer
from plimsoll.errors import UserError
from plimsoll.messages import Message, Wire, validate
from plimsoll.transcripts import Transcript

# Starting a worker costs about as long as compacting this many conversations.
FEWEST_FOR_WORKERS = 8
CHUNKS_PER_WORKER = 8


@dataclass(frozen=True, slots=True)
class Plan:
    """How every conversation of this run is compacted."""

    model: str
    window: int
    threshold: float
    target_ratio: float
    protect_last_n: int
    focus: str | None = None
    summarizer: Summarizer | None = None

    @property
    def threshold_tokens(self) -> int:
        """Where compaction is due."""
        return int(self.window * self.threshold)


@dataclass(frozen=True, slots=True)
class Job:
    """One conversation and what to do with it."""

    plan: Plan
    transcript: Transcript


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one conversation."""

    transcript: Transcript  # with the messages as they are now
    outcome: str
    reason: str
    messages_before: int
    messages_after: int
    tokens_before: int
    tokens_after: int
    pruned: tuple[Cleared, ...]
    summary: str
    summary_source: str
    steps: tuple[str, ...]
    violations: tuple[str, ...]
    seconds: float

    @property
    def valid(self) -> bool:
        """Whether the provider takes the result."""
        return not self.violations

    @property
    def messages(self) -> list[Message]:
        """The conversation as it is now."""
        return self.transcript.messages


def compact_one(job: Job) -> Outcome:
    """One conversation compacted; an error of the engine says in which."""
    plan, transcript = job.plan, job.transcript
    engine = ContextCompressor(
        model=plan.model,
        context_length=plan.window,
        threshold=plan.threshold,
        target_ratio=plan.target_ratio,
        protect_last_n=plan.protect_last_n,
        summarizer=plan.summarizer,
    )
    started = time.perf_counter()
    try:
        result = engine.compress(transcript.messages, focus_topic=plan.focus)
    except Exception as error:
        error.add_note(f"while compacting {transcript.place}")
        raise
    seconds = time.perf_counter() - started
    report = engine.last_report
    assert report is not None
    wire: Wire = "anthropic" if transcript.format == "anthropic" else "openai"
    return Outcome(
        transcript=replace(transcript, messages=result),
        outcome=report.outcome,
        reason=report.reason,
        messages_before=report.messages_before,
        messages_after=report.messages_after,
        tokens_before=report.tokens_before,
        tokens_after=report.tokens_after,
        pruned=report.pruned,
        summary=report.summary,
        summary_source=report.summary_source,
        steps=report.steps,
        violations=tuple(str(violation) for violation in validate(result, wire)),
        seconds=seconds,
    )


def compact_all(
    plan: Plan, transcripts: Sequence[Transcript], workers: int | None = None
) -> Iterator[Outcome]:
    """Every conversation in order, in worker processes where there are many of them."""
    jobs = [Job(plan, transcript) for transcript in transcripts]
    count = min(workers or os.cpu_count() or 1, len(jobs))
    # A summarizer may hold a connection, which does not travel between processes.
    if count < 2 or len(jobs) < FEWEST_FOR_WORKERS or plan.summarizer is not None:
        yield from map(compact_one, jobs)
        return
    pool = ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_leave_interrupts)
    try:
        yield from pool.map(compact_one, jobs, chunksize=max(1, len(jobs) // (count * CHUNKS_PER_WORKER)))
    except BrokenProcessPool as error:
        raise UserError(
            f"A worker process died while compacting {len(jobs)} conversations, most likely for want of memory. "
            "Give fewer files at a time."
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _leave_interrupts() -> None:
    """Ctrl-C goes to the whole group; only the parent acts on it, by giving out no more work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
