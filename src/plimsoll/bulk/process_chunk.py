"""Processes one chunk and leaves its results as a piece in the output folder.

The same function runs in this process, in worker processes, in threads and on Ray. It can be called again at any
time: rows that are finished are not processed again.
"""

import threading
from dataclasses import dataclass, replace
from pathlib import Path

from plimsoll.bulk.chunks import Chunk
from plimsoll.bulk.pieces import PieceWriter, rows_finished
from plimsoll.bulk.pool import parent_is_gone
from plimsoll.bulk.process_row import BulkPlan, process_row, rejected
from plimsoll.bulk.rows import rows_in

DEADLY = 2  # how often a worker may die at a row before the row is set aside


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
        """The file with the results of the chunk of this number."""
        return folder / f"{number:08d}.piece"

    def after_death(self) -> "ChunkJob":
        """The job for the worker that takes over from one that died."""
        return replace(self, deaths=(*self.deaths, rows_finished(self.piece)))


class Stopped(Exception):
    """The run was stopped; what is under way is not finished."""


def process_chunk(job: ChunkJob, stop: threading.Event | None = None) -> int:
    """Process what is left of a chunk; its number. Raises `Stopped` between rows when nobody waits any more."""
    with PieceWriter(job.piece) as piece:
        if piece.is_complete:
            return job.chunk.number
        finished = piece.rows
        for place, row in enumerate(rows_in(job.chunk)):
            if place < finished:
                continue
            if parent_is_gone():
                raise Stopped
            deaths = job.deaths.count(place)
            result = (
                process_row(row, job.plan)
                if deaths < DEADLY
                else rejected(
                    row, f"the worker process died {deaths} times at this row, probably out of memory"
                )
            )
            if stop is not None and stop.is_set():
                raise Stopped  # a model that was closed has not written this summary
            piece.append(result)
        piece.complete()
    return job.chunk.number
