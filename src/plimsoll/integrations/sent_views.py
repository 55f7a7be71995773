"""The views of requests in progress, by the host's id of the request: the provider's token count comes later."""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from plimsoll.integrations.history import HistoryCompactor
from plimsoll.integrations.host_view import HostView

_MOST = 1_024  # a request that was cancelled never gets its count


class SentViews:
    """Forgets the oldest requests first."""

    def __init__(self, history: HistoryCompactor) -> None:
        self._history = history
        self._views: OrderedDict[Hashable, HostView[Any]] = OrderedDict()

    def add(self, request: Hashable, view: HostView[Any]) -> None:
        """A request is sent with this view."""
        self._views.pop(request, None)
        # Only what `observe` needs: the messages may be large.
        self._views[request] = replace(view, messages=[], canonical=[], report=None, log_view=None)
        while len(self._views) > _MOST:
            self._views.popitem(last=False)

    def observe(self, request: Hashable, prompt_tokens: int | None) -> None:
        """Record the provider's token count for a request, if it reported one."""
        view = self._views.get(request)
        if view is not None and prompt_tokens:
            del self._views[request]
            self._history.observe(view, prompt_tokens)
