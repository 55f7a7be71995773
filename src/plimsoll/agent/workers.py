"""Heavy pure work in processes of its own, so that nobody's request waits for somebody else's compaction.

    thread ─► a free worker, started when first needed ─► job ─► result
                 ├─ it died ──► the job is given to another one, once
                 └─ late ─────► it is killed

Only functions of Plimsoll run there. Objects with connections, such as the writer of summaries, stay here and are
called from there. `Workers` is used from threads; a call waits for a free worker.
"""

import contextlib
import contextvars
import logging
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from plimsoll.agent.worker import Ask, Channel, Done, Job, Reply

log = logging.getLogger(__name__)
ATTEMPTS = 2
LONGEST = 240.0  # seconds of a job, longer than any compaction is waited for; then its process is killed
_PROGRAM = "from plimsoll.agent.worker import main; main()"
_PATIENCE = 5.0  # seconds for a worker to end when its input is closed, before it is killed


class WorkerDied(Exception):
    """A worker process ended in the middle of a job, and so did the next one."""


class CannotStart(Exception):
    """The system starts no more processes."""


class _Worker:
    """One process, and the pipes to it."""

    def __init__(self) -> None:
        # -P: a file in the current directory must not stand in for a module.
        command = [sys.executable, "-P", "-c", _PROGRAM]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.channel = Channel(self.process.stdout, self.process.stdin)
        # One that is killed while it has nothing to do must not stay behind as a zombie.
        threading.Thread(target=self.process.wait, name="plimsoll-worker-wait", daemon=True).start()

    def run(self, job: Job, objects: Sequence[Any]) -> Any:
        """The result of a job; `EOFError` or `OSError` where the process is gone."""
        self.channel.write(job)
        while True:
            value = self.channel.read()
            if isinstance(value, Done):
                if value.error is not None:
                    raise value.error
                return value.result
            # In a thread: a job may ask for several things side by side.
            run = contextvars.copy_context().run  # the summary model finds there who watches it
            answering = threading.Thread(target=run, args=(self._answer, value, objects), daemon=True)
            answering.start()

    def _answer(self, ask: Ask, objects: Sequence[Any]) -> None:
        try:
            found = getattr(objects[ask.object], ask.method)
            reply = Reply(ask.number, found(*ask.arguments) if callable(found) else found)
        except Exception as error:
            reply = Reply(ask.number, error=error)
        with contextlib.suppress(
            OSError, ValueError
        ):  # the worker is gone; whoever waits for the job sees that
            try:
                self.channel.write(reply)
            except (TypeError, AttributeError) as error:  # it cannot be pickled
                self.channel.write(Reply(ask.number, error=RuntimeError(str(reply.error or error))))

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        """End it now and leave no zombie; whoever waits for its job gets `EOFError`."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """End it when its input ends, or else now."""
        with contextlib.suppress(OSError):
            if self.process.stdin is not None:
                self.process.stdin.close()
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
        self.channel.close()


class Workers:
    """At most `most` processes, each with one job at a time. Close it in the end."""

    def __init__(self, most: int, longest: float = LONGEST) -> None:
        self._most, self._longest = most, longest
        self._idle: deque[_Worker] = deque()
        self._all: set[_Worker] = set()
        self._free = threading.Condition()
        self._is_closed = False

    @property
    def processes(self) -> list[int]:
        """The ids of the processes that run."""
        with self._free:
            return [worker.process.pid for worker in self._all]

    def run(self, function: Callable[..., Any], *arguments: Any, objects: Sequence[Any] = ()) -> Any:
        """What a function of a module returns or raises in a worker. It may call `objects`, which stay here.

        `WorkerDied` where processes do not survive it or take too long, `CannotStart` where there are none.
        """
        for _ in range(ATTEMPTS):
            worker = self._take()
            late = threading.Timer(self._longest, worker.kill)
            late.daemon = True
            late.start()
            try:
                result = worker.run(Job(function, arguments), objects)
            except (EOFError, OSError):
                self._drop(worker)
                if late.finished.is_set():
                    raise WorkerDied(f"{function.__name__} took more than {self._longest:g} s.") from None
                log.warning("a worker process died (%s); its job is tried again", worker.process.returncode)
            except BaseException:
                self._give_back(worker)
                raise
            else:
                self._give_back(worker)
                return result
            finally:
                late.cancel()
        raise WorkerDied(f"{ATTEMPTS} worker processes died in {function.__name__}.")

    def close(self) -> None:
        """End all processes; what still runs is given up."""
        with self._free:
            self._is_closed = True
            workers, idle = set(self._all), set(self._idle)
            self._all.clear()
            self._idle.clear()
            self._free.notify_all()
        for worker in workers - idle:
            worker.kill()
        for worker in workers:
            worker.close()

    def _take(self) -> _Worker:
        with self._free:
            while True:
                if self._is_closed:
                    raise WorkerDied("The worker processes have ended.")
                while self._idle:
                    worker = self._idle.pop()
                    if worker.is_alive:
                        return worker
                    self._all.discard(worker)
                    worker.channel.close()
                if len(self._all) < self._most:
                    try:
                        worker = _Worker()
                    except OSError as error:
                        raise CannotStart(f"No worker process can be started: {error}") from error
                    self._all.add(worker)
                    return worker
                self._free.wait()

    def _give_back(self, worker: _Worker) -> None:
        with self._free:
            if worker in self._all:
                self._idle.append(worker)
            self._free.notify()

    def _drop(self, worker: _Worker) -> None:
        worker.kill()
        worker.channel.close()
        with self._free:
            self._all.discard(worker)
            self._free.notify()
