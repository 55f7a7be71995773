"""The queue of scripted answers.

    [say("Hello."), fault("hang", times=2), say("Back again.")]      for four requests, in this order
    lambda request: say(f"I see {len(request.tools)} tools.")        for all requests

A script is a list that is consumed in order, or a function of the request. An item
of a list may also be such a function. A fault consumes one request each time it
occurs; then the script continues.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import count
from typing import TypeAlias

from plimsoll.dialects import ChatRequest, Reply
from plimsoll.messages import excerpt, text_of
from plimsoll.testing.scripted_server.answers import ScriptedAnswer, say
from plimsoll.testing.scripted_server.faults import Fault

_ECHOED = 400  # characters of the newest message that the default script repeats


Item: TypeAlias = ScriptedAnswer | Reply | Fault | str
Computed: TypeAlias = Callable[[ChatRequest], Item]
ScriptLike: TypeAlias = Sequence[Item | Computed] | Computed | None


def checked(item: object) -> Item:
    """The item. Raises `TypeError` if it is not a script item."""
    if not isinstance(item, ScriptedAnswer | Reply | Fault | str):
        raise TypeError(
            f"{item!r} is not an answer; use say(...), call(...), fault(...), a string or a Reply"
        )
    return item


def echo(request: ChatRequest) -> ScriptedAnswer:
    """The default script: repeats the beginning of the newest message."""
    newest = request.messages[-1]
    text = excerpt(text_of(newest), _ECHOED)
    return say(f"The tool returned: {text}" if newest.get("role") == "tool" else f"You said: {text}")


class ScriptExhausted(Exception):
    """The script has no answer left for a request."""


class Script:
    """Returns one item per request. Safe to extend from any thread."""

    def __init__(self, script: ScriptLike = None) -> None:
        self._computed: Computed | None = echo if script is None else script if callable(script) else None
        self._items: deque[Item | Computed] = deque()
        self._given = count(1)
        self._lock = threading.Lock()
        if script is not None and not callable(script):
            self.extend(script)

    def extend(self, items: Iterable[Item | Computed]) -> None:
        """Append items; a function stays last."""
        more = _checked_all(items)
        with self._lock:
            self._items.extend(more)

    def inject(self, items: Iterable[Item | Computed]) -> None:
        """Insert items before all remaining ones."""
        more = _checked_all(items)
        with self._lock:
            self._items.extendleft(reversed(more))

    def next(self) -> Item | Computed:
        """The item for the next request, or a function that computes it from the request."""
        with self._lock:
            number = next(self._given)
            if not self._items:
                if self._computed is None:
                    raise ScriptExhausted(
                        f"The script is used up: this is request {number}, and {number - 1} were answered. "
                        f"Add answers with server.extend(...)."
                    )
                return self._computed
            item = self._items.popleft()
            if isinstance(item, Fault) and (item.times is None or item.times > 1):
                left = None if item.times is None else item.times - 1
                self._items.appendleft(replace(item, times=left))
            return item


def _checked_all(items: Iterable[Item | Computed]) -> list[Item | Computed]:
    return [item if callable(item) else checked(item) for item in items]
