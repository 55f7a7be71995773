"""The server's clock: the machine's time plus what a test added.

    server.clock.advance(301)       # five minutes and a second: a 5m cache entry is gone

No two readings are equal, even of a source that stands still: a request that
came before a response began is before it in every comparison.
"""

import threading
import time
from collections.abc import Callable

_TICK = 1e-6


class Clock:
    """Seconds; `advance` moves them on for everything that is billed."""

    def __init__(self, source: Callable[[], float] = time.monotonic) -> None:
        self._source = source
        self._ahead = 0.0
        self._last = float("-inf")
        self._lock = threading.Lock()

    def now(self) -> float:
        """The time; later than at any reading before."""
        with self._lock:
            self._last = max(self._source() + self._ahead, self._last + _TICK)
            return self._last

    def advance(self, seconds: float) -> None:
        """Let this much time pass at once."""
        if seconds < 0:
            raise ValueError(f"time only moves on, so seconds must not be negative: {seconds}")
        with self._lock:
            self._ahead += seconds
