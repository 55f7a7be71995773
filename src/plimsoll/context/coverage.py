"""Which requests a compacted view may serve.

    view       0 · 1 · {summary of 2–5} │        6 7 8
    request    0   1   2  3  4  5                         its newest message is inside the summary: another view

A view serves a request only where everything that the request asks for is in it word for word, at its end: a client
that goes back to an earlier message would otherwise be answered about the summary.
"""

from collections.abc import Sequence
from typing import Protocol

from plimsoll.messages import Message


class Coverage(Protocol):
    """What a view says about the log that it was made for. Places and lengths do not count the system prompt."""

    @property
    def through(self) -> int:
        """Messages of the log that the view covers; those after them follow unchanged."""

    @property
    def whole(self) -> frozenset[int]:
        """Places of the log, of those covered, that are in the view unchanged."""

    @property
    def made_at(self) -> int:
        """Messages of the log when the view was made; 0 where its log went on differently."""

    @property
    def answered(self) -> int:
        """Messages of the log up to the newest reply at that time: what the summary takes into account."""


def serves(view: Coverage, log: Sequence[Message]) -> bool:
    """Whether a request with exactly these messages may be sent with the view."""
    if len(log) < view.through:
        return False
    asked = unanswered_from(log, len(log))
    if 0 < view.made_at <= len(log) and unanswered_from(log, view.made_at) == asked:
        return True  # made for these very messages; of those, only results that cannot fit are shortened
    request = next((n for n in range(len(log) - 1, -1, -1) if log[n].get("role") == "user"), None)
    is_whole = request is None or request >= view.through or request in view.whole
    return view.through <= asked and is_whole


def is_shared(view: Coverage, last: int) -> bool:
    """Whether the view is right for a log that shares only its first `last` messages.

    It is not where its summary takes later messages into account.
    """
    return last >= max(view.through, view.answered)


def unanswered_from(log: Sequence[Message], end: int) -> int:
    """The first of the messages, up to `end`, that wait for an answer; a reply that is to be continued is one."""
    first = end
    while first and log[first - 1].get("role") != "assistant":
        first -= 1
    return first if first < end else max(0, end - 1)
