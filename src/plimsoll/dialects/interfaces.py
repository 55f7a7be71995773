"""What a dialect works with: bodies, stream codecs, and requests in cache blocks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from plimsoll.caching import CacheMemory, CachingPolicy, Prompt
from plimsoll.dialects.reply import Delta, Failure, Reply
from plimsoll.dialects.sse import SseEvent
from plimsoll.messages import Message

Body = dict[str, Any]  # of a request, as JSON
WireMessage = dict[str, Any]  # as it is in the body


class ReplyDecoder(Protocol):
    """Turns the events of one streamed reply into canonical steps."""

    @property
    def complete(self) -> bool:
        """Whether the provider has said that the reply is whole."""

    @property
    def failure(self) -> Failure | None:
        """The error that ended the stream."""

    def reply(self) -> Reply:
        """The reply so far."""

    def feed(self, event: str | None, data: Body | None) -> list[Delta]:
        """The steps in one event."""

    def feed_whole(self, body: Any) -> list[Delta]:
        """The steps of a reply that came in one piece."""


class ReplyEncoder(Protocol):
    """Turns canonical steps into the events of one streamed reply."""

    def encode(self, delta: Delta) -> list[SseEvent]:
        """The events for one step."""

    def finish(self) -> list[SseEvent]:
        """The events that end the stream."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A request in cache blocks.

    `owner` gives the wire message of a canonical one; it is below 0 for the system prompt.
    """

    prompt: Prompt
    messages: Sequence[Message]
    owner: Callable[[int], int]


@dataclass(frozen=True, slots=True)
class CacheMarking:
    """How one request is to be marked for the provider's cache."""

    policy: CachingPolicy
    minimum: int
    memory: CacheMemory | None
    now: float


@dataclass(frozen=True, slots=True)
class MarkedBody:
    """A body with cache markers, and what the next request of the conversation needs to know."""

    body: Body
    memory: CacheMemory | None = None
