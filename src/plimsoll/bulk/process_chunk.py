"""Processes one chunk and writes its results as a piece to the output folder.

The same function runs in this process, in worker processes, in threads and on Ray. It is idempotent: finished rows
are not processed again.
"""

import threading
from dataclasses import dataclass, replace
from pathlib import Path

from plimsoll.bulk.chunks import Chunk
from plimsoll.bulk.pieces import PieceWriter, rows_finished
from plimsoll.bulk.pool import parent_has_ended
from plimsoll.bulk.process_row import BulkPlan, process_row, rejected
from plimsoll.bulk.rows import rows_in

MAX_DEATHS = 2  # worker deaths at a row after which the row is rejected


@dataclass(frozen=True, slots=True)
class ChunkJob:
    """A chunk, what to do with its rows, and where the results go."""

    chunk: Chunk
    plan: BulkPlan
    folder: str
    deaths: tuple[int, ...] = ()  # rows of the chunk at which a worker died

    @property
    def piece(self) -> Path:
        """The file with the results."""
        return self.piece_in(Path(self.folder), self.chunk.number)

    @staticmethod
    def piece_in(folder: Path, number: int) -> Path:
        """The file with the results of the chunk with this number."""
        return folder / f"{number:08d}.piece"

    def after_death(self) -> "ChunkJob":
        """The job for the worker that replaces a dead one."""
        return replace(self, deaths=(*self.deaths, rows_finished(self.piece)))


class Stopped(Exception):
    """The run was stopped before the chunk was finished."""


def process_chunk(job: ChunkJob, stop: threading.Event | None = None) -> int:
    """Process the rest of a chunk. Returns its number; raises `Stopped` between rows if the run has been stopped."""
    with PieceWriter(job.piece) as piece:
        if piece.is_complete:
            return job.chunk.number
        finished = piece.rows
        for place, row in enumerate(rows_in(job.chunk)):
            if place < finished:
                continue
            if parent_has_ended():
                raise Stopped
            deaths = job.deaths.count(place)
            result = (
                process_row(row, job.plan)
                if deaths < MAX_DEATHS
                else rejected(
                    row, f"the worker process died {deaths} times at this row, probably out of memory"
                )
            )
            if stop is not None and stop.is_set():
                raise Stopped  # the closed model has not written this summary
            piece.append(result)
        piece.complete()
    return job.chunk.number
