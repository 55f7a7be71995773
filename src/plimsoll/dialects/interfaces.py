"""The types of the dialect methods: bodies, stream codecs, and requests in cache blocks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from plimsoll.caching import CacheMemory, CachingPolicy, Prompt
from plimsoll.dialects.reply import Delta, Failure, Reply
from plimsoll.dialects.sse import SseEvent
from plimsoll.dialects.usage import Usage
from plimsoll.messages import Message

Body = dict[str, Any]  # a request body, as JSON
WireMessage = dict[str, Any]  # a message in the body


class ReplyDecoder(Protocol):
    """Turns the events of one streamed reply into canonical deltas."""

    @property
    def complete(self) -> bool:
        """Whether the provider has completed the reply."""

    @property
    def failure(self) -> Failure | None:
        """The error that ended the stream."""

    def reply(self) -> Reply:
        """The reply so far."""

    def feed(self, event: str | None, data: Body | None) -> list[Delta]:
        """The deltas in one event."""

    def feed_whole(self, body: Any) -> list[Delta]:
        """The deltas of a reply that was not streamed."""


class ReplyEncoder(Protocol):
    """Turns canonical deltas into the events of one streamed reply."""

    def encode(self, delta: Delta) -> list[SseEvent]:
        """The events for one delta."""

    def finish(self) -> list[SseEvent]:
        """The events that end the stream."""


class CompactionReply(Protocol):
    """Writes the reply to a client that requests a summary of its conversation."""

    def body(self, text: str, reply_id: str, created: int, usage: Usage) -> Body:
        """The reply with this summary; `created` is the time in seconds."""

    def events(self, text: str, reply_id: str, created: int, usage: Usage) -> list[SseEvent]:
        """The same as a stream."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """A request in cache blocks.

    `owner` maps a canonical message to its wire message; negative values are the system prompt.
    """

    prompt: Prompt
    messages: Sequence[Message]
    owner: Callable[[int], int]


@dataclass(frozen=True, slots=True)
class CacheMarking:
    """How to mark one request for the provider's cache."""

    policy: CachingPolicy
    minimum: int
    memory: CacheMemory | None
    now: float


@dataclass(frozen=True, slots=True)
class MarkedBody:
    """A body with cache markers, and the state for the conversation's next request."""

    body: Body
    memory: CacheMemory | None = None
