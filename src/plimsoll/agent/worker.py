"""A worker process: runs jobs from its standard input until that is closed.

    parent ── WorkerJob ─────────────────────► worker ── HostCall ──► parent    a job may call an object of the parent
    parent ◄─ PartialResult … WorkerResult ─── worker ◄─ HostReply ── parent

Jobs run in threads, so that a short one does not wait for a long one; the parent decides how many run at once. Only
Plimsoll's functions run here. The process ends with its parent, because its input is closed then.
"""

import importlib
import os
import pickle
import signal
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import IO, Any

NICENESS = 10  # requests take precedence over compactions
# Seconds after which a computing thread yields to another. An event loop needs that many times per request: next to a
# thread that computes all the time, a small request to the gateway took 10 ms in the median with Python's default of
# 0.005, and 4 ms with 0.001; less gained nothing.
SWITCH_SECONDS = 0.001
_BUFFER = 1_048_576  # bytes that a job collects before it sends them, because each send waits for its turn
_HEADER = struct.Struct("!QQ")


@dataclass(frozen=True, slots=True)
class Ready:
    """The process has imported what its jobs need."""


@dataclass(frozen=True, slots=True)
class WorkerJob:
    """A function of a module and its arguments. `data` follows them and is sent without a copy."""

    number: int
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    data: bytes | None = None
    is_hosted: bool = False  # the function's first argument is a `Host`


@dataclass(frozen=True, slots=True)
class PartialResult:
    """One of the values that a job yields."""

    job: int
    value: Any


@dataclass(frozen=True, slots=True)
class WorkerResult:
    """The end of a job."""

    job: int
    result: Any = None
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class HostCall:
    """A call of an object in the parent. `waits`: it may take long, and the job only waits meanwhile."""

    job: int
    number: int
    object: int
    method: str
    arguments: tuple[Any, ...] = ()
    waits: bool = False


@dataclass(frozen=True, slots=True)
class HostReply:
    """The answer to a `HostCall`."""

    number: int
    result: Any = None
    error: BaseException | None = None


class Channel:
    """Values over a pair of pipes; any thread may write."""

    def __init__(self, source: IO[bytes], sink: IO[bytes]) -> None:
        self._source, self._sink = source, sink
        self._writing = threading.Lock()

    def write(self, value: Any, *, later: bool = False) -> None:
        """Send a value; with `later`, together with the next one if both fit."""
        data: bytes = b""
        if isinstance(value, WorkerJob) and value.data is not None:
            value, data = replace(value, data=b""), value.data
        pickled = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        with self._writing:
            self._sink.write(_HEADER.pack(len(pickled), len(data)))
            self._sink.write(pickled)
            self._sink.write(data)
            if not later:
                self._sink.flush()

    def read(self) -> Any:
        """The next value; raises `EOFError` if the other side has ended."""
        length, more = _HEADER.unpack(self._exactly(_HEADER.size))
        value = pickle.loads(self._exactly(length))
        return replace(value, data=self._exactly(more)) if more else value

    def close(self) -> None:
        """Close both pipes."""
        for pipe in (self._sink, self._source):
            try:
                pipe.close()
            except OSError:  # the reader has gone
                continue

    def _exactly(self, length: int) -> bytes:
        data = self._source.read(length)
        if len(data) < length:
            raise EOFError("the pipe was closed")
        return data


@dataclass(slots=True)
class _PendingHostCall:
    """A pending call to the parent, from any thread of a job."""

    event: threading.Event = field(default_factory=threading.Event)
    reply: HostReply | None = None


class PendingHostCalls:
    """The pending calls of jobs to the parent."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._numbers = count(1)
        self._asked: dict[int, _PendingHostCall] = {}

    def ask(self, job: int, object: int, method: str, arguments: tuple[Any, ...], waits: bool) -> Any:
        """The result or exception of a method of the parent's object."""
        pending, number = _PendingHostCall(), next(self._numbers)
        self._asked[number] = pending
        self._channel.write(HostCall(job, number, object, method, arguments, waits))
        pending.event.wait()
        del self._asked[number]
        reply = pending.reply
        assert reply is not None
        if reply.error is not None:
            raise reply.error
        return reply.result

    def settle(self, reply: HostReply) -> None:
        """Pass a reply to its caller."""
        pending = self._asked.get(reply.number)
        if pending is not None:
            pending.reply = reply
            pending.event.set()


@dataclass(frozen=True, slots=True)
class Host:
    """The parent, as one job sees it: calls the parent's objects."""

    questions: PendingHostCalls
    job: int

    def call(self, object: int, method: str, *arguments: Any) -> Any:
        """The result or exception of a method of the parent's object, or the value of an attribute."""
        return self.questions.ask(self.job, object, method, arguments, waits=False)

    def wait_for(self, object: int, method: str, *arguments: Any) -> Any:
        """The same for calls that may take seconds: another job may run here meanwhile."""
        return self.questions.ask(self.job, object, method, arguments, waits=True)


def _run(job: WorkerJob, channel: Channel, questions: PendingHostCalls) -> None:
    host = (Host(questions, job.number),) if job.is_hosted else ()
    data = () if job.data is None else (job.data,)
    try:
        result = job.function(*host, *job.arguments, *data)
        if isinstance(result, Iterator):
            for value in result:
                channel.write(PartialResult(job.number, value), later=True)
            result = None
        done = WorkerResult(job.number, result)
    except Exception as error:
        done = WorkerResult(job.number, error=_sendable(error))
    try:
        channel.write(done)
    except (OSError, ValueError):
        os._exit(0)  # the job no longer waits
    except Exception as error:  # the result cannot be pickled
        channel.write(WorkerResult(job.number, error=_sendable(error)))


def _sendable(error: Exception) -> BaseException:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def main() -> None:
    """Run jobs until the input ends; the arguments are modules to import first."""
    # Ctrl-C is for the parent, which shuts this process down.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    sys.setswitchinterval(SWITCH_SECONDS)
    channel = Channel(os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb", _BUFFER))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # printed text must not mix with the values
    for module in sys.argv[1:]:
        importlib.import_module(module)
    try:
        channel.write(Ready())
    except BrokenPipeError:
        os._exit(0)  # the parent was killed meanwhile
    questions = PendingHostCalls(channel)
    while True:
        try:
            value = channel.read()
        except (EOFError, OSError):
            os._exit(0)  # the parent has gone, so running jobs are pointless
        if isinstance(value, WorkerJob):
            threading.Thread(target=_run, args=(value, channel, questions), name="job", daemon=True).start()
        elif isinstance(value, HostReply):
            questions.settle(value)
