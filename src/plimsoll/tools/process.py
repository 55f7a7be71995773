"""Runs a program in its own process session and ends it with all its descendants.

    start ──► bytes ──► take(chunk) ──┬── it exits            exit code
                                      ├── time is up          the whole group is terminated, None
                                      ├── take() says enough  the same
                                      └── cancelled           the same, then the cancellation continues

A background child that keeps the output open delays nothing: only the started program
counts. Its input is closed and it has no terminal, so it cannot wait for input.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

_CHUNK = 65_536
_DRAIN = 1_048_576  # maximum pipe capacity: what the program can have written before it exited
_GRACE_SECONDS = 0.5  # seconds between SIGTERM and SIGKILL


class Pid(NamedTuple):
    """A process id that cannot be confused with a later process of the same number."""

    number: int
    started: str


async def run_process(
    argv: Sequence[str],
    *,
    directory: Path,
    environment: Mapping[str, str],
    seconds: float,
    take: Callable[[bytes], bool],
    errors: IO[bytes] | None = None,
    keep_open: Sequence[int] = (),
) -> int | None:
    """The exit code; None if the program was terminated at the timeout or because `take` returned true.

    stdout goes to `take` as it arrives, stderr to `errors`, or into stdout in order.
    """
    reading, writing = os.pipe()
    try:
        os.set_blocking(reading, False)
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                cwd=directory,
                env=dict(environment),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=writing,
                stderr=errors if errors is not None else writing,
                start_new_session=True,
                pass_fds=tuple(keep_open),
            )
        finally:
            os.close(writing)
        return await _Watch(process, reading, take).to_the_end(seconds)
    finally:
        os.close(reading)


class _Watch:
    """A running program and the end of its pipe."""

    def __init__(
        self, process: asyncio.subprocess.Process, reading: int, take: Callable[[bytes], bool]
    ) -> None:
        self._process, self._reading, self._take = process, reading, take
        self._enough = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    async def to_the_end(self, seconds: float) -> int | None:
        self._loop.add_reader(self._reading, self._read)
        exited = asyncio.ensure_future(self._process.wait())
        enough = asyncio.ensure_future(self._enough.wait())
        try:
            await asyncio.wait({exited, enough}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            return exited.result() if exited.done() and not self._enough.is_set() else None
        finally:
            if not exited.done():
                await shielded(end_group(self._process))
            enough.cancel()
            self._loop.remove_reader(self._reading)
            self._drain()

    def _read(self) -> int:
        """Read what is available. Returns the number of bytes; 0 for nothing or the end."""
        try:
            chunk = os.read(self._reading, _CHUNK)
        except BlockingIOError:
            return 0
        if not chunk:
            self._loop.remove_reader(self._reading)
        elif not self._enough.is_set() and self._take(chunk):
            self._enough.set()
            self._loop.remove_reader(self._reading)
        return len(chunk)

    def _drain(self) -> None:
        """Read what the program wrote before it exited, without waiting for children that still write."""
        drained = 0
        while drained < _DRAIN and (size := self._read()):
            drained += size


async def end_group(process: asyncio.subprocess.Process) -> None:
    """End a program, its process group, and children that left the group: SIGTERM, then SIGKILL."""
    children = descendants(process.pid)
    _signal(process.pid, children, signal.SIGTERM)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.shield(process.wait()), _GRACE_SECONDS)
    _signal(process.pid, {*children, *descendants(process.pid)}, signal.SIGKILL)
    await process.wait()


async def shielded(work: Coroutine[Any, Any, None]) -> None:
    """Wait for work that must finish, even if this task is cancelled (again) meanwhile."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled


def descendants(parent: int) -> set[Pid]:
    """All descendants of a process (Linux only)."""
    below: dict[int, list[Pid]] = {}
    for number in _numbers():
        fields = _stat(number)
        if fields is not None:
            below.setdefault(int(fields[1]), []).append(Pid(number, fields[19]))
    found: set[Pid] = set()
    waiting = [parent]
    while waiting:
        for child in below.get(waiting.pop(), ()):
            if child not in found:
                found.add(child)
                waiting.append(child.number)
    return found


def is_running(number: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    fields = _stat(number)
    return fields is None or fields[0] != "Z"


def _numbers() -> list[int]:
    try:
        return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
    except OSError:
        return []


def _stat(number: int) -> list[str] | None:
    """The fields of /proc/N/stat after the name: state, parent, …, start time at 19."""
    try:
        text = Path(f"/proc/{number}/stat").read_text("utf-8", "replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def _signal(group: int, others: Iterable[Pid], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
    for pid in others:
        fields = _stat(pid.number)
        if fields is not None and fields[19] == pid.started:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid.number, number)
