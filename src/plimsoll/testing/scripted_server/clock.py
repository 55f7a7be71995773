"""The server's clock: the machine's time plus the time that a test added.

    server.clock.advance(301)       # five minutes and a second: a 5m cache entry is gone

Readings are strictly increasing, even if the source stands still, so that the
order of requests and responses is unambiguous.
"""

import threading
import time
from collections.abc import Callable

_TICK = 1e-6


class Clock:
    """A clock in seconds; `advance` moves it forward for billing."""

    def __init__(self, source: Callable[[], float] = time.monotonic) -> None:
        self._source = source
        self._ahead = 0.0
        self._last = float("-inf")
        self._lock = threading.Lock()

    def now(self) -> float:
        """The time; later than every earlier reading."""
        with self._lock:
            self._last = max(self._source() + self._ahead, self._last + _TICK)
            return self._last

    def advance(self, seconds: float) -> None:
        """Move the clock forward."""
        if seconds < 0:
            raise ValueError(f"seconds must not be negative: {seconds}")
        with self._lock:
            self._ahead += seconds
