"""Orders the deltas of a reply so that its blocks do not overlap.

    call 0 · call 1 · text · call 0 · Finish   ->   call 0 · call 0 · call 1 · text · Finish

OpenAI's wire may interleave the deltas of parallel calls, and text with them. In every other wire format a block is
complete before the next one begins.
"""

from abc import ABC, abstractmethod
from itertools import chain

from plimsoll.dialects.reply import (
    BlockEnd,
    Delta,
    Failure,
    Finish,
    MessageDelta,
    Start,
    ToolCallDelta,
    UsageReport,
)
from plimsoll.dialects.sse import SseEvent
from plimsoll.dialects.usage import Usage


class BlockSequence:
    """Holds back what follows a call until the call is complete: at its `BlockEnd`, or at the end of the reply."""

    def __init__(self) -> None:
        self._call: int | None = None  # the incomplete call
        self._waiting: list[Delta] = []

    def next(self, delta: Delta) -> list[Delta]:
        """The deltas that may be sent now."""
        if isinstance(delta, Finish):
            return [*self.rest(), delta]
        if isinstance(delta, ToolCallDelta) and self._call in (None, delta.index):
            self._call = delta.index
            return [delta]
        if self._call is None or isinstance(delta, Start | UsageReport | MessageDelta | Failure):
            return [delta]
        if isinstance(delta, BlockEnd) and not self._waiting:
            self._call = None
            return [delta]
        self._waiting.append(delta)
        return []

    def rest(self) -> list[Delta]:
        """The deltas held back, with those of each call together."""
        blocks: dict[tuple[bool, int], list[Delta]] = {}
        for place, delta in enumerate(self._waiting):
            block = (True, delta.index) if isinstance(delta, ToolCallDelta) else (False, place)
            blocks.setdefault(block, []).append(delta)
        self._call, self._waiting = None, []
        return list(chain.from_iterable(blocks.values()))


class SequentialEncoder(ABC):
    """Base class of the encoders for wire formats with sequential blocks.

    Call `encode()` with each delta and `finish()` at the end.
    """

    def __init__(self) -> None:
        self._blocks = BlockSequence()
        self._id = self._model = ""
        self._finish: Finish | None = None
        self._usage: Usage | None = None

    def encode(self, delta: Delta) -> list[SseEvent]:
        """The events for one delta."""
        return [event for step in self._blocks.next(delta) for event in self._noted(step)]

    def finish(self) -> list[SseEvent]:
        """The events that end the stream."""
        return [event for step in self._blocks.rest() for event in self._noted(step)] + self._ending()

    def _noted(self, delta: Delta) -> list[SseEvent]:
        """The events for one delta, after what it says about the whole reply has been noted."""
        match delta:
            case Start(id, model):
                self._id, self._model = self._id or id, self._model or model
            case Finish():
                self._finish = delta
            case UsageReport(usage):
                self._usage = usage
        return self._encoded(delta)

    @abstractmethod
    def _encoded(self, delta: Delta) -> list[SseEvent]:
        """The events for one delta; the deltas of a block arrive together."""

    @abstractmethod
    def _ending(self) -> list[SseEvent]:
        """The events that end the stream after its last block."""
