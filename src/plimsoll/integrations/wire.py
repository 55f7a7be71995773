"""For hosts that use a provider's API format: a whole request in, the same request with the view out."""

from collections.abc import Mapping, Sequence
from typing import Any

from plimsoll.dialects import Dialect
from plimsoll.integrations.codec import HostGroup, WrittenMessage
from plimsoll.integrations.history import HistoryCompactor
from plimsoll.integrations.host_view import HostView


class WireCodec:
    """The messages of one dialect, in its wire format."""

    def __init__(self, dialect: Dialect, model: str) -> None:
        self._dialect, self._model = dialect, model

    def decode(self, messages: Sequence[dict[str, Any]]) -> list[HostGroup]:
        """One group for each wire message."""
        return [HostGroup(1, self._dialect.canonical(messages, n)) for n in range(len(messages))]

    def encode(self, written: Sequence[WrittenMessage[dict[str, Any]]]) -> list[dict[str, Any]]:
        """The messages in wire format."""
        return self._dialect.written([message.message for message in written], self._model)


class HostRequest:
    """A request in a dialect. `tools` are canonical ones that are not in its body."""

    def __init__(
        self,
        dialect: Dialect,
        body: Mapping[str, Any],
        *,
        tools: Sequence[dict[str, Any]] = (),
        model: str = "",
        conversation: str = "",
    ) -> None:
        self._dialect, self._body = dialect, dict(body)
        name = model or dialect.model_of(self._body, "")
        self._codec, self._said = WireCodec(dialect, name), dialect.messages(self._body)
        self._asked: dict[str, Any] = {
            "system": dialect.lead(self._body),
            "tools": [*dialect.canonical_tools(dialect.tools(self._body)), *tools],
            "model": name,
            "conversation": conversation,
        }

    async def view(self, history: HistoryCompactor) -> HostView[dict[str, Any]]:
        """The view of the request for the model."""
        return await history.view_async(self._codec, self._said, **self._asked)

    def with_view(self, view: HostView[dict[str, Any]]) -> dict[str, Any]:
        """The request with the view; unchanged fields stay the same."""
        if not view.changed:
            return self._body
        settled = self._dialect.settled(view.messages, len(view.messages))
        return self._dialect.with_messages(self._body, settled, has_note=view.has_note)
