"""Compacts many conversations, on all cores or in threads.

    few ─────────────────► in this process
    many ────────────────► worker, worker, …      in processes
    a model writes ──────► thread, thread, …      because we mostly wait for it

Outcomes are in the order of the conversations.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from plimsoll.bulk.compaction import BatchJob, BatchOutcome, BatchPlan, compact_one
from plimsoll.bulk.pool import cores, in_order
from plimsoll.transcripts import Transcript

# Starting a worker costs about as long as compacting this many conversations.
FEWEST_FOR_WORKERS = 8


def compact_all(
    plan: BatchPlan, transcripts: Sequence[Transcript], workers: int | None = None
) -> Iterator[BatchOutcome]:
    """Compact every conversation, in order; in worker processes or threads if there are many."""
    jobs = [BatchJob(plan, transcript) for transcript in transcripts]
    if plan.summarizer is not None:  # it may have a connection, which cannot be sent to another process
        yield from _in_threads(jobs, min(plan.at_once, len(jobs)))
        return
    count = min(workers or cores(), len(jobs)) if len(jobs) >= FEWEST_FOR_WORKERS else 1
    yield from in_order(compact_one, jobs, count)


def _in_threads(jobs: Sequence[BatchJob], count: int) -> Iterator[BatchOutcome]:
    if count < 2:
        yield from map(compact_one, jobs)
        return
    pool = ThreadPoolExecutor(count, thread_name_prefix="compact")
    try:
        yield from pool.map(compact_one, jobs)
    finally:
        # Work in progress ends when the caller closes the summarizer.
        pool.shutdown(wait=False, cancel_futures=True)
