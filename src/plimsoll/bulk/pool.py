"""Runs one function over many jobs in worker processes and returns the results in order.

    jobs ──► worker, worker, … ──► results, in the order of the jobs
               └─ it died ──► `retried` returns the job to run instead, or the run fails

Only a few jobs are read ahead, so memory use does not depend on their number. A worker runs one job at a time, so a
process that dies (for example, out of memory) identifies its job. When the caller stops, also on Ctrl-C, the workers
are killed at once: jobs that write must survive that.
"""

import multiprocessing
import os
import pickle
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, Generic, TypeVar

from plimsoll.errors import UserError

Job = TypeVar("Job")
Result = TypeVar("Result")
# Jobs per worker that may run or wait for an earlier one. One slow job must not stop the others.
AHEAD = 4
_READY = "ready"


def cores() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_order(
    function: Callable[[Job], Result],
    jobs: Iterable[Job],
    workers: int,
    retried: Callable[[Job], Job] | None = None,
) -> Iterator[Result]:
    """The result of every job, in order. With one worker, everything runs in this process."""
    if workers < 2:
        yield from map(function, jobs)
        return
    pool = _Pool(function, retried)
    try:
        yield from pool.results(jobs, workers)
    finally:
        pool.kill()


@dataclass(slots=True, eq=False)
class _PoolWorker(Generic[Job]):
    """A process, its pipe, and its current job."""

    process: SpawnProcess
    pipe: "Connection[Any, Any]"
    is_ready: bool = False
    doing: tuple[int, Job] | None = None


class _Pool(Generic[Job, Result]):
    def __init__(self, function: Callable[[Job], Result], retried: Callable[[Job], Job] | None) -> None:
        self._function, self._retried = function, retried
        self._workers: list[_PoolWorker[Job]] = []
        self._results: dict[int, Result] = {}

    def results(self, jobs: Iterable[Job], workers: int) -> Iterator[Result]:
        numbered = enumerate(jobs)
        next_result, is_exhausted = 0, False
        newest = -1  # the last job given to a worker
        while True:
            # First, because every yielded result admits another job, and a worker must be busy before we wait.
            while next_result in self._results:
                yield self._results.pop(next_result)
                next_result += 1
            while not is_exhausted and newest - next_result < AHEAD * workers:
                worker = self._free(workers)
                if worker is None:
                    break
                job = next(numbered, None)
                if job is None:
                    is_exhausted = True
                    break
                newest = job[0]
                self._give(worker, job)
            if is_exhausted and next_result > newest:
                return
            self._listen()

    def kill(self) -> None:
        """Kill every worker."""
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.process.join()
            worker.pipe.close()
        self._workers.clear()

    def _free(self, limit: int) -> _PoolWorker[Job] | None:
        found = next((worker for worker in self._workers if worker.doing is None), None)
        return found or (self._start() if len(self._workers) < limit else None)

    def _start(self) -> _PoolWorker[Job]:
        context = multiprocessing.get_context("spawn")  # a fork would copy threads' locks
        own_end, worker_end = context.Pipe()
        process = context.Process(target=_serve, args=(worker_end, self._function), daemon=True)
        process.start()
        worker_end.close()
        worker: _PoolWorker[Job] = _PoolWorker(process, own_end)
        self._workers.append(worker)
        return worker

    def _give(self, worker: _PoolWorker[Job], job: tuple[int, Job]) -> None:
        worker.doing = job
        with suppress(OSError):  # it has died; `_listen` notices
            worker.pipe.send(job[1])

    def _listen(self) -> None:
        """Wait for at least one worker's message, and process it."""
        busy = {worker.pipe: worker for worker in self._workers}
        for pipe in wait(list(busy)):
            worker = busy[pipe]  # type: ignore[index]  # a pipe, because only pipes are waited for
            try:
                message = worker.pipe.recv()
            except (EOFError, OSError):
                self._replace(worker)
                continue
            if message == _READY:
                worker.is_ready = True
                continue
            is_error, value = message
            if is_error:
                raise value
            assert worker.doing is not None
            self._results[worker.doing[0]] = value
            worker.doing = None

    def _replace(self, worker: _PoolWorker[Job]) -> None:
        """Give the job of a dead worker to a new one."""
        worker.process.join()
        worker.pipe.close()
        self._workers.remove(worker)
        code, job = worker.process.exitcode or 0, worker.doing
        how = f"signal {-code} ({signal.Signals(-code).name})" if code < 0 else f"exit code {code}"
        if not worker.is_ready:
            raise UserError(
                f"A worker process ended with {how} before it could start. Run with --workers 1 to see why."
            )
        if job is None:
            return
        if self._retried is None:
            raise UserError(
                f"A worker process ended with {how}, probably because memory ran out. "
                "Pass fewer files at a time, or use fewer workers."
            )
        self._give(self._start(), (job[0], self._retried(job[1])))


def _serve(pipe: "Connection[Any, Any]", function: Callable[[Any], Any]) -> None:
    """The worker's main loop: run jobs until the parent closes the pipe or ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; only the parent handles it
    pipe.send(_READY)
    while True:
        try:
            job = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            message: tuple[bool, Any] = (False, function(job))
        except Exception as error:
            message = (True, _portable(error))
        with suppress(BrokenPipeError):
            pipe.send(message)


def _portable(error: Exception) -> Exception:
    """The error in a form that can be sent to the parent."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # pickling an exception may fail in any way
        return RuntimeError(f"a worker failed:\n{traceback.format_exc()}")
    return error


def parent_has_ended() -> bool:
    """Whether this is a worker whose parent was killed; another run then owns its unfinished job."""
    parent = multiprocessing.parent_process()
    return parent is not None and not parent.is_alive()
