"""An event loop whose time jumps to the next timer as soon as nothing is left to do: waits are exact and free.

    ready work, a thread that computes ─► as on any loop; no time passes
    only timers left                   ─► the time of the first one is now

A thread waits in the same time with `VirtualLoop.nap`; while all threads nap, time may jump.
"""

import asyncio
import selectors
import threading
from concurrent.futures.thread import _threads_queues as pooled  # every thread of every pool

_LOOK = 0.002  # seconds between two looks at threads that compute


class _Jumping(selectors.DefaultSelector):
    """Where an ordinary selector would wait for a timer, it moves the loop's time on."""

    loop: "VirtualLoop"

    def select(self, timeout=None):
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        if self.loop.working > self.loop.napping:
            return super().select(_LOOK)
        self.loop.now += timeout
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """Use it with `asyncio.Runner(loop_factory=VirtualLoop)`. Knows of no sockets but its own."""

    def __init__(self):
        selector = _Jumping()
        super().__init__(selector)
        selector.loop = self
        self.now = 0.0
        self.napping = 0  # threads that wait for this loop's time
        self._in_pools = 0
        self._before = set(threading.enumerate())

    def time(self):
        return self.now

    @property
    def working(self):
        """Functions in threads that have not returned: those in pools, and threads of their own."""
        own = [one for one in threading.enumerate() if one not in pooled and one not in self._before]
        return self._in_pools + len(own)

    def run_in_executor(self, executor, func, *args):
        self._in_pools += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._returned)
        return future

    async def shutdown_default_executor(self, timeout=None):
        """Without a timer, which would go off at once."""
        if self._default_executor is not None:
            self._default_executor.shutdown(wait=True)

    def nap(self, seconds):
        """Wait, from a thread."""
        asyncio.run_coroutine_threadsafe(self._nap(seconds), self).result()

    async def _nap(self, seconds):
        self.napping += 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self.napping -= 1

    def _returned(self, _future):
        self._in_pools -= 1
