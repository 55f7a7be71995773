"""Runs CPU-heavy work in worker processes, so that one conversation's compaction does not delay the others.

    thread ─► an idle worker, started when first needed ─► job ─► result
                 ├─ it died ──► another worker runs the job, once
                 └─ timeout ──► it is killed

A worker runs one long job at a time; while that job waits for a summary model, the worker takes the next one. Short
jobs (`run_short`) never wait. Only functions of Plimsoll run there. Objects with connections, such as the summary
writer, stay in the parent and are called from the worker. Call `Workers` from threads.
"""

import contextlib
import contextvars
import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from plimsoll.agent.worker import Channel, HostCall, HostReply, PartialResult, Ready, WorkerJob, WorkerResult

log = logging.getLogger(__name__)
ATTEMPTS = 2  # per job: a job whose worker dies runs once more
JOB_SECONDS = 240.0  # seconds per job, longer than any compaction's timeout; then its process is killed
ENGINES = "plimsoll.agent.isolation"  # imported by every worker: it runs the engines
_PROGRAM = "from plimsoll.agent.worker import main; main()"
_TIMEOUT = 5.0  # seconds for a worker to end when its input is closed, before it is killed


class WorkerDied(Exception):
    """A worker process ended in the middle of a job, and so did the next one."""


class CannotStart(Exception):
    """The system cannot start another process."""


class NotReady(Exception):
    """No worker can take a short job at once."""


@dataclass(slots=True)
class _Running:
    """A running job and the objects that it may call."""

    objects: Sequence[Any]
    context: contextvars.Context  # the summary model finds its watch there
    parts: list[Any] = field(default_factory=list)
    done: WorkerResult | None = None  # None at the end: the process has ended
    ended: threading.Event = field(default_factory=threading.Event)


class _Worker:
    """One process and the pipes to it. `changed` is notified when it becomes idle."""

    def __init__(self, modules: Sequence[str], changed: threading.Condition) -> None:
        # -P: a file in the current directory must not shadow a module.
        command = [sys.executable, "-P", "-c", _PROGRAM, *modules]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.channel = Channel(self.process.stdout, self.process.stdin)
        self.is_ready = False
        self.computing = 0  # long jobs that are computing
        self._changed = changed
        self._numbers = count(1)
        self._jobs: dict[int, _Running] = {}
        self._is_gone = False
        threading.Thread(target=self._listen, name="plimsoll-worker", daemon=True).start()

    @property
    def jobs(self) -> int:
        """The number of its jobs, including waiting ones."""
        return len(self._jobs)

    @property
    def is_alive(self) -> bool:
        return not self._is_gone and self.process.poll() is None

    def run(self, job: WorkerJob, objects: Sequence[Any] = ()) -> tuple[Any, list[Any]]:
        """The result of a job and what it yielded; raises `EOFError` or `OSError` if the process has ended."""
        running = _Running(objects, contextvars.copy_context())
        self._jobs[job.number] = running
        try:
            if self._is_gone:
                raise EOFError("the process has ended")
            self.channel.write(job)
            running.ended.wait()
        finally:
            del self._jobs[job.number]
        done = running.done
        if done is None:
            raise EOFError("the process has ended")
        if done.error is not None:
            raise done.error
        return done.result, running.parts

    def job(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], data: bytes | None, hosted: bool
    ) -> WorkerJob:
        """Create a job for this worker."""
        return WorkerJob(next(self._numbers), function, arguments, data, hosted)

    def kill(self) -> None:
        """Kill it and reap it; callers that wait for its jobs get `EOFError`."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """End it by closing its input; kill it if it does not end in time."""
        with contextlib.suppress(OSError):
            if self.process.stdin is not None:
                self.process.stdin.close()
        try:
            self.process.wait(_TIMEOUT)
        except subprocess.TimeoutExpired:
            self.kill()
        self.channel.close()

    def _listen(self) -> None:
        """Dispatch the process's messages until it ends."""
        try:
            while True:
                self._take(self.channel.read())
        except (EOFError, OSError, ValueError):
            pass  # it has ended
        except Exception:  # the job is unknown
            log.exception("a worker process sent unreadable output and was terminated")
        self.process.kill()
        self._is_gone = True
        for running in list(self._jobs.values()):
            running.ended.set()
        with self._changed:
            self._changed.notify_all()
        self.process.wait()  # reap a worker that was killed while idle

    def _take(self, value: Any) -> None:
        if isinstance(value, Ready):
            self.is_ready = True
            with self._changed:
                self._changed.notify_all()
            return
        running = self._jobs.get(value.job)
        if running is None:
            return
        if isinstance(value, PartialResult):
            running.parts.append(value.value)
        elif isinstance(value, WorkerResult):
            running.done = value
            running.ended.set()
        else:  # in a thread: a job may have several calls at the same time
            run = running.context.copy().run
            threading.Thread(target=run, args=(self._answer, value, running.objects), daemon=True).start()

    def _answer(self, ask: HostCall, objects: Sequence[Any]) -> None:
        if ask.waits:
            self.leave()
        try:
            found = getattr(objects[ask.object], ask.method)
            reply = HostReply(ask.number, found(*ask.arguments) if callable(found) else found)
        except Exception as error:
            reply = HostReply(ask.number, error=error)
        if ask.waits:
            self.enter()
        # If the worker has ended, the waiting caller notices.
        with contextlib.suppress(OSError, ValueError):
            try:
                self.channel.write(reply)
            except (TypeError, AttributeError) as error:  # not picklable
                self.channel.write(HostReply(ask.number, error=RuntimeError(str(reply.error or error))))

    def enter(self) -> None:
        """Wait until the worker computes nothing, and reserve it for a job."""
        with self._changed:
            self._changed.wait_for(lambda: self.computing < 1 or self._is_gone)
            self.computing += 1

    def leave(self) -> None:
        """Release the worker: the job has finished or waits."""
        with self._changed:
            self.computing -= 1
            self._changed.notify_all()


class Workers:
    """At most `count` processes, each with one long job at a time. Close it after use.

    `modules` are imported before a process takes its first job.
    """

    def __init__(self, count: int, job_seconds: float = JOB_SECONDS, modules: Sequence[str] = ()) -> None:
        self._count, self._job_seconds, self._modules = count, job_seconds, (ENGINES, *modules)
        self._all: list[_Worker] = []
        self._changed = threading.Condition()
        self._is_closed = False

    @property
    def processes(self) -> list[int]:
        """The ids of the processes that run."""
        with self._changed:
            return [worker.process.pid for worker in self._all]

    def run(self, function: Callable[..., Any], *arguments: Any, objects: Sequence[Any] = ()) -> Any:
        """Run a function of a module in an idle worker and return its result or raise its exception.

        With `objects`, which stay here, the function's first argument is a `Host` through which it calls them. Raises
        `WorkerDied` if the processes die or time out, `CannotStart` if none can start.
        """
        for _ in range(ATTEMPTS):
            worker = self._take()
            late = threading.Timer(self._job_seconds, worker.kill)
            late.daemon = True
            late.start()
            try:
                return worker.run(worker.job(function, arguments, None, bool(objects)), objects)[0]
            except (EOFError, OSError):
                self._drop(worker)
                if late.finished.is_set():
                    raise WorkerDied(f"{function.__name__} took more than {self._job_seconds:g} s.") from None
                log.warning("a worker process died (%s); its job runs again", worker.process.returncode)
            finally:
                late.cancel()
                worker.leave()
        raise WorkerDied(f"{ATTEMPTS} worker processes died in {function.__name__}.")

    def run_short(self, function: Callable[..., Any], *arguments: Any, data: bytes) -> list[Any]:
        """Run a generator function in any worker and return what it yields; `data` is its last argument.

        Raises `NotReady` if no process can take it at once, and starts one for the next time.
        """
        worker = self._ready()
        try:
            return worker.run(worker.job(function, arguments, data, False))[1]
        except (EOFError, OSError):
            self._drop(worker)
            raise NotReady("The worker process died.") from None

    def wait_until_ready(self, seconds: float) -> bool:
        """Start a process if there is none. Returns whether one accepts short jobs within the given seconds."""
        with contextlib.suppress(NotReady):
            self._ready()
        with self._changed:
            return self._changed.wait_for(lambda: any(worker.is_ready for worker in self._all), seconds)

    def close(self) -> None:
        """End all processes and abandon running jobs."""
        with self._changed:
            self._is_closed = True
            workers, self._all = self._all, []
            self._changed.notify_all()
        for worker in workers:
            if worker.jobs:
                worker.kill()
        for worker in workers:
            worker.close()

    def _take(self) -> _Worker:
        with self._changed:
            while True:
                self._prune()
                worker = next((item for item in self._all if item.computing < 1), None)
                if worker is None and len(self._all) < self._count:
                    worker = self._start()
                if worker is not None:
                    worker.computing += 1
                    return worker
                self._changed.wait()

    def _ready(self) -> _Worker:
        """The started process with the fewest jobs."""
        with self._changed:
            self._prune()
            if not self._all:
                with contextlib.suppress(CannotStart):
                    self._start()
            ready = [worker for worker in self._all if worker.is_ready]
        if not ready:
            raise NotReady("No worker process has started yet.")
        return min(ready, key=lambda item: item.jobs)

    def _start(self) -> _Worker:
        try:
            worker = _Worker(self._modules, self._changed)
        except OSError as error:
            raise CannotStart(f"No worker process can be started: {error}") from error
        self._all.append(worker)
        return worker

    def _prune(self) -> None:
        if self._is_closed:
            raise WorkerDied("The worker processes have ended.")
        for worker in [item for item in self._all if not item.is_alive]:
            self._all.remove(worker)
            if not worker.jobs:
                worker.channel.close()

    def _drop(self, worker: _Worker) -> None:
        worker.kill()
        worker.channel.close()
        with self._changed:
            if worker in self._all:
                self._all.remove(worker)
            self._changed.notify_all()
