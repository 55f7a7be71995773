"""A worker process: takes one job after the other from its standard input until that is closed.

    parent ── Job ──► worker ── Ask ──► parent       a job may use an object that stays with the parent
    parent ◄─ Done ── worker ◄─ Reply ─ parent

It runs only functions of Plimsoll itself. It ends when the parent does: its input is closed then.
"""

import os
import pickle
import signal
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import IO, Any

NICENESS = 5  # requests come before compactions where both want the processor
_HEADER = struct.Struct("!Q")


@dataclass(frozen=True, slots=True)
class Job:
    """A function of a module and its arguments."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """What a job came to."""

    result: Any = None
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """A call of an object that stays with the parent."""

    number: int
    object: int
    method: str
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to an `Ask`."""

    number: int
    result: Any = None
    error: BaseException | None = None


class Channel:
    """Values over a pair of pipes; any thread may write."""

    def __init__(self, source: IO[bytes], sink: IO[bytes]) -> None:
        self._source, self._sink = source, sink
        self._writing = threading.Lock()

    def write(self, value: Any) -> None:
        """Send a value whole."""
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        with self._writing:
            self._sink.write(_HEADER.pack(len(data)))
            self._sink.write(data)
            self._sink.flush()

    def read(self) -> Any:
        """The next value; `EOFError` where the other side is gone."""
        (length,) = _HEADER.unpack(self._exactly(_HEADER.size))
        return pickle.loads(self._exactly(length))

    def close(self) -> None:
        """Let go of both pipes."""
        for pipe in (self._sink, self._source):
            try:
                pipe.close()
            except OSError:  # what could not be flushed has nobody to read it
                continue

    def _exactly(self, length: int) -> bytes:
        data = self._source.read(length)
        if len(data) < length:
            raise EOFError("the pipe was closed")
        return data


@dataclass(slots=True)
class _Asked:
    """A question to the parent, from any thread of a job."""

    event: threading.Event = field(default_factory=threading.Event)
    reply: Reply | None = None


class Parent:
    """The other side, as jobs see it: objects that stay there can be called from here."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._numbers = count(1)
        self._asked: dict[int, _Asked] = {}

    def call(self, object: int, method: str, arguments: tuple[Any, ...] = ()) -> Any:
        """What a method of the parent's object returns or raises."""
        asked = _Asked()
        number = next(self._numbers)
        self._asked[number] = asked
        self._channel.write(Ask(number, object, method, arguments))
        asked.event.wait()
        del self._asked[number]
        reply = asked.reply
        if reply is None:
            raise EOFError("the parent is gone")
        if reply.error is not None:
            raise reply.error
        return reply.result

    def settle(self, reply: Reply) -> None:
        """An answer has come."""
        asked = self._asked.get(reply.number)
        if asked is not None:
            asked.reply = reply
            asked.event.set()


PARENT: Parent | None = None


def parent() -> Parent:
    """The parent of this worker."""
    assert PARENT is not None, "this is not a worker"
    return PARENT


def _run(job: Job, channel: Channel) -> None:
    try:
        done = Done(job.function(*job.arguments))
    except Exception as error:
        done = Done(error=_sendable(error))
    try:
        channel.write(done)
    except (OSError, ValueError):
        os._exit(0)  # nobody waits any more
    except Exception as error:  # what a job came to cannot be pickled
        channel.write(Done(error=_sendable(error)))


def _sendable(error: Exception) -> BaseException:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def main() -> None:
    """Work until the input ends."""
    global PARENT
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C is for the parent, which ends this one in good order
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    channel = Channel(os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb"))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what anybody prints must not get between the values
    PARENT = Parent(channel)
    while True:
        try:
            value = channel.read()
        except (EOFError, OSError):
            os._exit(0)  # a job that still runs has nobody to work for
        if isinstance(value, Job):
            threading.Thread(target=_run, args=(value, channel), name="job", daemon=True).start()
        elif isinstance(value, Reply):
            PARENT.settle(value)
