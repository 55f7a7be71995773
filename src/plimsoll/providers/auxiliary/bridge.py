"""Blocking calls on top of the async client: one thread with an event loop, which keeps connections open.

    engine's thread ── start(work) ──► loop thread ── await ──► model
                    ◄── future ───────┘

Engines are synchronous and run in worker threads; several may wait at once.
"""

import asyncio
import contextlib
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")
_TIMEOUT = 5.0  # seconds that `close` waits for the thread


class LoopThread:
    """Started by the first call, ended by `close` or with its owner."""

    def __init__(
        self,
        last: Callable[[], Awaitable[None]],
        name: str = "plimsoll-auxiliary",
        closed: str = "the summary model was closed",
    ) -> None:
        """`last` runs on the loop before it ends; `closed` is the error message for later callers."""
        self._last, self._name, self._closed_text = last, name, closed
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._closed = False

    def start(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Start the work; the future gets its result."""
        try:
            loop = self._running()
        except RuntimeError:
            work.close()
            raise
        return asyncio.run_coroutine_threadsafe(work, loop)

    def close(self) -> None:
        """Cancel all work, close connections, end the thread. Harmless if it never started or has ended."""
        self._stop()
        if self._thread is not None:
            self._thread.join(_TIMEOUT)

    def end_with(self, owner: object) -> None:
        """End the thread, without waiting, when nothing refers to the owner any more. `last` must not refer to it."""
        weakref.finalize(owner, self._stop).atexit = False

    def _stop(self) -> None:
        with self._lock:
            self._closed = True
            loop, stopping = self._loop, self._stopping
        if loop is not None and stopping is not None:
            with contextlib.suppress(RuntimeError):  # the loop is already closed
                loop.call_soon_threadsafe(stopping.set)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._closed:
                raise RuntimeError(self._closed_text)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=lambda: asyncio.run(self._serve()), name=self._name, daemon=True
                )
                self._thread.start()
                self._ready.wait()
            assert self._loop is not None
            return self._loop

    async def _serve(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        self._ready.set()
        await self._stopping.wait()
        await self._last()
