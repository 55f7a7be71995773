"""Runs a whole dataset: chunks to workers, pieces to the output folder, in order.

    chunks ──► processes · threads · Ray ──► pieces ──► data.jsonl, report.jsonl, rejects.jsonl ──► statistics.md

Stopping at any moment loses at most the current row of each worker. The output is byte-identical for any number of
workers.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields
from threading import Event
from typing import Any

from plimsoll import __version__
from plimsoll.bulk.chunks import BYTES, ROWS, chunks_of
from plimsoll.bulk.inputs import InputFile
from plimsoll.bulk.output import REJECTS, REPORT, STATISTICS, OutputFolder
from plimsoll.bulk.pool import AHEAD, in_order
from plimsoll.bulk.process_chunk import ChunkJob, process_chunk
from plimsoll.bulk.process_row import BulkPlan
from plimsoll.bulk.statistics import statistics_page
from plimsoll.transcripts import write_file

# Takes jobs and returns the numbers of finished chunks, in any order.
Runner = Callable[[Iterator[ChunkJob]], Iterable[int]]


@dataclass(frozen=True, slots=True)
class BulkRun:
    """The input, what to do with it, and where the result goes."""

    files: Sequence[InputFile]
    plan: BulkPlan
    chunk_rows: int = ROWS
    chunk_bytes: int = BYTES

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that the output depends on, for the manifest: a run continues only if it is the same."""
        files = hashlib.sha256()
        for file in self.files:
            files.update(
                repr((file.path, file.kind, file.size, file.changed)).encode("utf-8", "surrogateescape")
            )
        compaction = self.plan.compaction
        named = {
            field.name: _noted(getattr(compaction, field.name))
            for field in fields(compaction)
            if field.name not in ("summarizer", "at_once")
        }
        return {
            "version": __version__,
            "input": f"{len(self.files)} files, sha256 {files.hexdigest()[:16]}",
            **named,
            "summaries": "code" if compaction.summarizer is None else "model",
            "split": self.plan.split,
            "chunk": [self.chunk_rows, self.chunk_bytes],
        }

    @property
    def size(self) -> int:
        """Bytes of input, for the progress bar."""
        return sum(file.size for file in self.files)


def _noted(value: Any) -> Any:
    """A value for the manifest: JSON values unchanged, anything else as a checksum."""
    if value is None or isinstance(value, str | int | float):
        return value
    return f"sha256 {hashlib.sha256(repr(value).encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"


def in_processes(jobs: Iterator[ChunkJob], workers: int) -> Iterator[int]:
    """Run on the cores of this machine. A row at which workers die twice is rejected."""
    yield from in_order(process_chunk, jobs, workers, retried=ChunkJob.after_death)


def in_threads(jobs: Iterator[ChunkJob], at_once: int) -> Iterator[int]:
    """Run in threads of this process, which share one summary model and its limits."""
    stop = Event()
    pool = ThreadPoolExecutor(at_once, thread_name_prefix="bulk")
    waiting: list[Future[int]] = []
    try:
        for job in jobs:
            waiting.append(pool.submit(process_chunk, job, stop))
            if len(waiting) >= AHEAD * at_once:
                yield waiting.pop(0).result()
        while waiting:
            yield waiting.pop(0).result()
    finally:
        stop.set()
        # Work in progress ends when the caller closes its summary model.
        pool.shutdown(wait=False, cancel_futures=True)


def run_bulk(
    run: BulkRun, output: OutputFolder, runner: Runner, on_commit: Callable[[], None] = lambda: None
) -> None:
    """Process the rest and write the statistics; `on_commit` is called before every chunk is committed."""
    if output.is_finished:
        return
    sizes: dict[int, int] = {}
    finished: set[int] = set()
    for number in runner(_jobs(run, output, sizes)):
        finished.add(number)
        while output.chunks in finished:
            finished.remove(output.chunks)
            place = output.chunks
            on_commit()
            output.commit(ChunkJob.piece_in(output.work, place), sizes.pop(place))
    page = statistics_page(output.path / REPORT, output.path / REJECTS)
    write_file(output.path / STATISTICS, [page.encode("utf-8", "backslashreplace")])
    output.finish()


def _jobs(run: BulkRun, output: OutputFolder, sizes: dict[int, int]) -> Iterator[ChunkJob]:
    """The chunks that are not in the files yet."""
    done = output.chunks
    for chunk in chunks_of(run.files, run.chunk_rows, run.chunk_bytes):
        if chunk.number >= done:
            sizes[chunk.number] = chunk.size
            yield ChunkJob(chunk, run.plan, str(output.work))
