"""Watches a summary while it is being written: its progress, whether a turn waits for it, when to stop waiting.

    summary model ── arrived(text) ──►  SummaryWatch  ──► progress(characters) ──► host
    engine's thread ── result(…) ────►      ▲ │
                                            │ └──► SummaryLate: silent for too long, or skipped
    host ── wait(progress), skip() ─────────┘

In the background, a model may be silent for as long as its deadline allows. Once a turn waits for it, silence counts
as hanging. Either way its request continues, and text that arrives late is not lost. The watch reaches the engine's
thread in a context variable, because plugin engines accept no such argument.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import ContextVar
from typing import TypeVar

from plimsoll.errors import SummaryFailed, SummaryLate

T = TypeVar("T")
CURRENT: "ContextVar[SummaryWatch | None]" = ContextVar("plimsoll_summary_watch", default=None)


class SummaryWatch:
    """One compaction's summary. Every method may be called from any thread."""

    def __init__(self, *, is_waited_for: bool = False) -> None:
        self._changed = threading.Condition()
        self._is_waited_for = is_waited_for
        self._is_asking = False
        self._is_hanging = False
        self._over = ""  # why no model is asked again
        self._progress: Callable[[int], None] | None = None
        self._characters = 0
        self._arrivals = 0

    def wait(self, progress: Callable[[int], None] | None = None) -> None:
        """A turn waits from now on; `progress` gets the number of characters so far."""
        with self._changed:
            self._is_waited_for, self._progress = True, progress
            self._changed.notify_all()
            is_asking = self._is_asking
        if is_asking:
            self._report()

    def skip(self, reason: str = "the user continued without the summary model") -> None:
        """Stop waiting; no model is asked again for this compaction."""
        with self._changed:
            self._over = self._over or reason
            self._changed.notify_all()

    @property
    def is_hanging(self) -> bool:
        """Whether the model was abandoned because it stopped sending tokens."""
        return self._is_hanging

    def arrived(self, characters: int) -> None:
        """Record that the model has written more."""
        with self._changed:
            self._characters += characters
            self._arrivals += 1
            self._changed.notify_all()
        self._report()

    def check(self) -> None:
        """Raise if no model may be asked again."""
        if self._over:
            raise SummaryFailed(self._over)

    def result(self, answer: "Future[T]", idle: float, clock: Callable[[], float]) -> T:
        """The answer; raises `SummaryLate` if a turn waits and no token arrives for `idle` seconds, or it is skipped.

        The answer is not cancelled then and may still arrive.
        """
        answer.add_done_callback(lambda _: self._wake())
        with self._changed:
            self._is_asking, self._characters = True, 0
        self._report()
        last, seen = clock(), self._arrivals
        with self._changed:
            while not answer.done():
                if self._arrivals != seen:
                    last, seen = clock(), self._arrivals
                left = last + idle - clock() if self._is_waited_for else None
                if left is not None and left <= 0 and not self._over:
                    self._over, self._is_hanging = f"the summary model sent no new token for {idle:g} s", True
                if self._over:
                    raise SummaryLate(self._over, answer)
                self._changed.wait(left)
            self._is_asking = False
        return answer.result()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _report(self) -> None:
        progress = self._progress
        if progress is not None and not self._over:
            progress(self._characters)
