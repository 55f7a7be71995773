"""Which requests a compacted view may serve.

    view       0 · 1 · {summary of 2–5} │        6 7 8
    request    0   1   2  3  4  5                         its newest message is inside the summary: another view

A view serves a request only if the end of the view contains the unanswered messages verbatim. Otherwise, a client
that goes back to an earlier message would get an answer about the summary.
"""

from collections.abc import Sequence
from typing import Protocol

from plimsoll.messages import Message


class Coverage(Protocol):
    """Which messages of the log a view covers. Positions and lengths exclude the system prompt."""

    @property
    def through(self) -> int:
        """The number of messages that the view covers; later messages follow unchanged."""

    @property
    def whole(self) -> frozenset[int]:
        """The covered positions of the log that are unchanged in the view."""

    @property
    def made_at(self) -> int:
        """The length of the log when the view was made; 0 if its log has diverged since."""

    @property
    def answered(self) -> int:
        """The number of messages up to the newest reply at that time, which the summary takes into account."""


def serves(view: Coverage, log: Sequence[Message]) -> bool:
    """Whether a request with exactly these messages may be sent with the view."""
    if len(log) < view.through:
        return False
    waiting_from = unanswered_from(log, len(log))
    if 0 < view.made_at <= len(log) and unanswered_from(log, view.made_at) == waiting_from:
        return True  # made for exactly these messages; only results that do not fit are shortened
    request = next((n for n in range(len(log) - 1, -1, -1) if log[n].get("role") == "user"), None)
    is_whole = request is None or request >= view.through or request in view.whole
    return view.through <= waiting_from and is_whole


def is_shared(view: Coverage, last: int) -> bool:
    """Whether the view is valid for a log that shares only its first `last` messages.

    It is not if its summary takes later messages into account.
    """
    return last >= max(view.through, view.answered)


def unanswered_from(log: Sequence[Message], end: int) -> int:
    """The position of the first unanswered message before `end`; a reply to continue counts as unanswered."""
    first = end
    while first and log[first - 1].get("role") != "assistant":
        first -= 1
    return first if first < end else max(0, end - 1)
