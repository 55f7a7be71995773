"""Compacts conversations, one in this process or many on all cores, and reports each result.

    Job(plan, transcript) ──► ContextCompressor ──► Outcome       in this process
                        ├───► worker, worker, … ──► Outcome       where there are many
                        └───► thread, thread, … ──► Outcome       where a model writes and we mostly wait

An outcome is plain data: it travels between processes and says the same in
both. Outcomes come in the order of the jobs.
"""

import multiprocessing
import os
import re
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from multiprocessing.synchronize import Event
from typing import Any

from plimsoll.context import ClearedResult, ContextCompressor, SummaryWriter
from plimsoll.context.ledger import SummaryLine, as_json
from plimsoll.context.report import ShortenedMessage
from plimsoll.errors import UserError
from plimsoll.messages import STUB_RESULT, Message, is_whole, text_of, validate
from plimsoll.models import estimate_messages_tokens_rough
from plimsoll.models.media_limits import MediaLimits
from plimsoll.transcripts import Transcript, counted

# Starting a worker costs about as long as compacting this many conversations.
FEWEST_FOR_WORKERS = 8
CHUNKS_PER_WORKER = 8
MOST_PER_CHUNK = 4  # more, and the progress bar stands still for long
LONGEST_SMALL_WORD = 3
FITS = "everything fits the first exchange and the protected tail"


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """How every conversation of this run is compacted."""

    model: str
    window: int
    threshold: float
    target_ratio: float
    protect_last_n: int
    target_tokens: int | None = None
    evidence: bool = True
    focus: str | None = None
    summarizer: SummaryWriter | None = None
    at_once: int = 1  # summaries that the summarizer writes side by side
    media: MediaLimits | None = None  # of the model
    # Where nobody named a model: the plans of the models that the files name.
    recorded: Mapping[str, "BatchPlan"] = field(default_factory=dict)

    def for_transcript(self, transcript: Transcript) -> "BatchPlan":
        """The plan of the model that this conversation was held with, where nobody named another."""
        return self.recorded.get(transcript.model or "", self)


@dataclass(frozen=True, slots=True)
class BatchJob:
    """One conversation and what to do with it."""

    plan: BatchPlan
    transcript: Transcript


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """What became of one conversation."""

    transcript: Transcript  # with the messages as they are now
    outcome: str
    reason: str
    messages_before: int
    messages_after: int
    tokens_before: int
    tokens_after: int
    pruned: tuple[ClearedResult, ...]
    summary: str
    evidence: str
    summary_source: str
    shortened: tuple[ShortenedMessage, ...]
    steps: tuple[str, ...]
    violations: tuple[str, ...]
    seconds: float
    window: int
    due_at: int  # tokens where compaction is due
    lines: tuple[SummaryLine, ...] = ()  # of the summary, each with the messages that it comes from
    model_failures: tuple[str, ...] = ()
    focus_found: bool = True  # whether any word of the focus topic occurs

    @property
    def whole_summary(self) -> str:
        """The summary with the evidence after it."""
        return "\n".join(part for part in (self.summary, self.evidence) if part)

    @property
    def valid(self) -> bool:
        """Whether the provider takes the result."""
        return not self.violations

    @property
    def messages(self) -> list[Message]:
        """The conversation as it is now."""
        return self.transcript.messages


def compact_one(job: BatchJob) -> BatchOutcome:
    """One conversation compacted; an error of the engine says in which."""
    transcript = job.transcript
    plan, original = job.plan.for_transcript(transcript), transcript.messages
    window = plan.window
    engine = ContextCompressor(
        model=plan.model or transcript.model or "",
        context_length=window,
        threshold=plan.threshold,
        target_ratio=plan.target_ratio,
        protect_last_n=plan.protect_last_n,
        summarizer=plan.summarizer,
        target_tokens=plan.target_tokens,
        evidence=plan.evidence,
        media=plan.media,
    )
    started = time.perf_counter()
    try:
        result = engine.compress(original, focus_topic=plan.focus)
    except Exception as error:
        error.add_note(f"while compacting {transcript.place}")
        raise
    seconds = time.perf_counter() - started
    report = engine.last_report
    assert report is not None
    outcome, reason = str(report.outcome), report.reason
    if outcome == "unchanged" and result != original:
        outcome, reason = "repaired", _repairs(original, result)
    elif outcome == "unchanged" and not engine.has_content_to_compress(original):
        reason = FITS
    wire = transcript.dialect.validation
    return BatchOutcome(
        transcript=replace(transcript, messages=result),
        outcome=outcome,
        reason=reason,
        messages_before=len(original),
        messages_after=len(result),
        # What came in is counted as it came in; the engine counts from the repaired list on.
        tokens_before=report.tokens_before
        if is_whole(original)
        else estimate_messages_tokens_rough(original),
        tokens_after=report.tokens_after,
        pruned=report.pruned,
        summary=report.summary,
        evidence=report.evidence,
        shortened=report.shortened,
        summary_source=report.summary_source,
        steps=report.steps,
        lines=report.lines,
        model_failures=report.model_failures,
        violations=tuple(str(violation) for violation in validate(result, wire)),
        seconds=seconds,
        window=window,
        due_at=engine.threshold_tokens,
        focus_found=plan.focus is None or _speaks_of(original, plan.focus),
    )


def facts_of(outcome: BatchOutcome) -> dict[str, Any]:
    """One line of --json."""
    transcript = outcome.transcript
    return {
        "source": transcript.source,
        "line": transcript.line,
        "id": transcript.id,
        "outcome": outcome.outcome,
        "reason": outcome.reason,
        "messages_before": outcome.messages_before,
        "messages_after": outcome.messages_after,
        "tokens_before": outcome.tokens_before,
        "tokens_after": outcome.tokens_after,
        "valid": outcome.valid,
        "summary_source": outcome.summary_source,
        "seconds": round(outcome.seconds, 4),
        "sources": as_json(outcome.lines),
        "cleared": [
            {"handle": one.handle, "tool": one.tool, "status": one.status, "characters": one.characters}
            for one in outcome.pruned
        ],
        "shortened": [
            {
                "handle": one.handle,
                "tool": one.tool,
                "characters_before": one.characters_before,
                "characters_after": one.characters_after,
            }
            for one in outcome.shortened
        ],
    }


def _repairs(before: Sequence[Message], after: Sequence[Message]) -> str:
    """What was removed, added and changed to make a conversation whole, in words."""
    stubs = sum(m.get("content") == STUB_RESULT for m in after) - sum(
        m.get("content") == STUB_RESULT for m in before
    )
    results = [sum(m.get("role") == "tool" for m in messages) for messages in (before, after)]
    removed = results[0] - (results[1] - stubs)
    places = {id(message): place for place, message in enumerate(before)}
    kept = [places[id(message)] for message in after if id(message) in places]
    mended = len(after) - len(kept) - stubs
    said = []
    if removed:
        said.append(f"{counted(removed, 'tool result', 'tool results')} without a call removed")
    if stubs:
        said.append(f"{counted(stubs, 'missing tool result', 'missing tool results')} marked as such")
    if kept != sorted(kept):
        said.append("tool results moved to their calls")
    if mended:
        said.append(f"{counted(mended, 'message', 'messages')} given content that providers accept")
    return ", ".join(said)


def _speaks_of(messages: Sequence[Message], topic: str) -> bool:
    """Whether any word of the topic occurs, small words like `the` left aside where there are others."""
    words = set(re.findall(r"\w+", topic.casefold()))
    words = {word for word in words if len(word) > LONGEST_SMALL_WORD or not word.isascii()} or words
    texts = (f"{text_of(message)} {message.get('tool_calls', '')}".casefold() for message in messages)
    return any(word in text for text in texts for word in words)


def compact_all(
    plan: BatchPlan, transcripts: Sequence[Transcript], workers: int | None = None
) -> Iterator[BatchOutcome]:
    """Every conversation in order, in worker processes or threads where there are many of them."""
    jobs = [BatchJob(plan, transcript) for transcript in transcripts]
    if plan.summarizer is not None:  # it may hold a connection, which does not travel between processes
        yield from _in_threads(jobs, min(plan.at_once, len(jobs)))
        return
    count = min(workers or os.cpu_count() or 1, len(jobs))
    if count < 2 or len(jobs) < FEWEST_FOR_WORKERS:
        yield from map(compact_one, jobs)
        return
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_start_worker, initargs=(stop,))
    chunk = min(MOST_PER_CHUNK, max(1, len(jobs) // (count * CHUNKS_PER_WORKER)))
    try:
        yield from filter(None, pool.map(_unless_stopped, jobs, chunksize=chunk))
    except (KeyboardInterrupt, GeneratorExit):
        # Nobody waits for the rest. A worker that were killed here could leave the pool waiting for it for ever.
        stop.set()
        raise
    except BrokenProcessPool as error:
        raise UserError(
            f"A worker process died while compacting {len(jobs)} conversations, probably because memory ran out. "
            "Pass fewer files at a time."
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _in_threads(jobs: Sequence[BatchJob], count: int) -> Iterator[BatchOutcome]:
    if count < 2:
        yield from map(compact_one, jobs)
        return
    pool = ThreadPoolExecutor(count, thread_name_prefix="compact")
    try:
        yield from pool.map(compact_one, jobs)
    finally:
        # What is under way ends when its summarizer is closed, which is the caller's to do.
        pool.shutdown(wait=False, cancel_futures=True)


_STOPS: list[Event] = []  # of a worker process: whether it may leave its work undone


def _start_worker(stop: Event) -> None:
    """Ctrl-C goes to the whole group; only the parent acts on it, by telling the workers to stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _STOPS.append(stop)


def _unless_stopped(job: BatchJob) -> BatchOutcome | None:
    return None if any(stop.is_set() for stop in _STOPS) else compact_one(job)
